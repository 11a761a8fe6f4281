//! Cost of admission policies in whole servers: pods that are created without being kept, with no policy, with 1,000 policies of
//! another resource, and with one that matches.

use std::time::{Duration, Instant};

use anyhow::ensure;

use super::client::{Connection, Request};
use super::objects::Objects;
use super::operations::short;
use super::table::Row;
use super::target::Target;
use crate::arguments::Arguments;

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const POLICIES: &str = "validatingadmissionpolicies";
const BINDINGS: &str = "validatingadmissionpolicybindings";
const NAME: &str = "pintle-bench";
const OTHERS: usize = 1000;
/// How long a server may take until a policy is in effect.
const PATIENCE: Duration = Duration::from_secs(120);

/// A parameter and three validations that the pods of this program pass.
const VALIDATIONS: &str = r#""paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"object.spec.containers.all(c, c.image.startsWith(params.data.registry))","message":"a registry"},{"expression":"params.data.label in object.metadata.labels"},{"expression":"!object.spec.?hostNetwork.orValue(false) && object.spec.containers.all(c, has(c.resources.limits))"}]"#;

pub(crate) async fn measure(targets: &[Target], arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let dry_run = |objects: &Objects, number: usize| {
        Request::post(format!("{}?dryRun=All", objects.path("pods")), objects.pod(number))
    };
    let none = short(targets, arguments, dry_run).await?;
    let result = async {
        for target in targets {
            add_others(target).await?;
        }
        let others = short(targets, arguments, dry_run).await?;
        for target in targets {
            add_matching(target).await?;
        }
        anyhow::Ok((others, short(targets, arguments, dry_run).await?))
    }
    .await;
    for target in targets {
        remove(target).await?;
    }
    let (others, matching) = result?;
    Ok(vec![
        Row::new("dry-run create Pod, CPU", "ms").of(none.cpu(1e3)),
        Row::new("with 1,000 policies that do not match", "ms").of(others.cpu(1e3)),
        Row::new("and one that matches: a parameter, three validations", "ms").of(matching.cpu(1e3)),
    ])
}

/// Adds policies of secrets, and waits until the last one refuses one.
async fn add_others(target: &Target) -> anyhow::Result<()> {
    let Some(objects) = &target.objects else { return Ok(()) };
    let connection = target.connection();
    for number in 0..OTHERS {
        let name = format!("{NAME}-{number}");
        let validations =
            format!(r#""validations":[{{"expression":"object.metadata.name != 's{number}'"}}]"#);
        bind(connection, &name, "secrets", &validations, "").await?;
    }
    let secret = format!(r#"{{"metadata":{{"name":"s{}"}}}}"#, OTHERS - 1);
    answered(connection, &format!("{}?dryRun=All", objects.path("secrets")), &secret, false).await
}

/// Adds the policy that matches, and waits until it refuses a pod of another registry.
async fn add_matching(target: &Target) -> anyhow::Result<()> {
    let Some(objects) = &target.objects else { return Ok(()) };
    let connection = target.connection();
    let param = r#"{"metadata":{"name":"params"},"data":{"registry":"registry.example.com/","label":"app"}}"#;
    connection.expect(Request::post(objects.path("configmaps"), param)).await?;
    let reference = r#","paramRef":{"name":"params","parameterNotFoundAction":"Deny"}"#;
    bind(connection, NAME, "pods", VALIDATIONS, reference).await?;
    let (path, pod) = (format!("{}?dryRun=All", objects.path("pods")), objects.pod(0));
    answered(connection, &path, &pod.replace("registry.example.com/", "elsewhere.example.com/"), false)
        .await?;
    // Without its parameter the policy refuses every pod.
    answered(connection, &path, &pod, true).await
}

async fn bind(
    connection: &Connection,
    name: &str,
    resource: &str,
    spec: &str,
    binding: &str,
) -> anyhow::Result<()> {
    let rule = format!(
        r#"{{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["{resource}"]}}"#
    );
    let metadata = format!(r#""metadata":{{"name":"{name}","labels":{{"{NAME}":""}}}}"#);
    let policy =
        format!(r#"{{{metadata},"spec":{{"matchConstraints":{{"resourceRules":[{rule}]}},{spec}}}}}"#);
    connection.expect(Request::post(format!("{GROUP}/{POLICIES}"), policy)).await?;
    let spec = format!(r#"{{"policyName":"{name}","validationActions":["Deny"]{binding}}}"#);
    let binding = format!(r#"{{{metadata},"spec":{spec}}}"#);
    connection.expect(Request::post(format!("{GROUP}/{BINDINGS}"), binding)).await.map(drop)
}

/// Waits until a server accepts an object, or refuses it.
async fn answered(connection: &Connection, path: &str, object: &str, accepted: bool) -> anyhow::Result<()> {
    let start = Instant::now();
    while connection.ask(Request::post(path, object.to_owned())).await?.status.is_success() != accepted {
        ensure!(start.elapsed() < PATIENCE, "a policy is not in effect after {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

async fn remove(target: &Target) -> anyhow::Result<()> {
    for resource in [BINDINGS, POLICIES] {
        target
            .connection()
            .drain(Request::delete(format!("{GROUP}/{resource}?labelSelector={NAME}")))
            .await?;
    }
    Ok(())
}
