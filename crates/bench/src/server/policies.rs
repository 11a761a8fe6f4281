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
    let pod = |objects: &Objects, number: usize| Request::post(dry_run(objects, "pods"), objects.pod(number));
    let none = short(targets, arguments, pod).await?;
    let result = async {
        add_others(targets).await?;
        let others = short(targets, arguments, pod).await?;
        add_matching(targets).await?;
        anyhow::Ok((others, short(targets, arguments, pod).await?))
    }
    .await;
    for target in targets.iter().filter(|target| target.objects.is_some()) {
        remove(target).await?;
    }
    let (others, matching) = result?;
    Ok(vec![
        Row::new("dry-run create Pod, CPU", "ms").of(none.cpu(1e3)),
        Row::new("with 1,000 policies that do not match", "ms").of(others.cpu(1e3)),
        Row::new("and one that matches: a parameter, three validations", "ms").of(matching.cpu(1e3)),
    ])
}

/// Adds policies of secrets, and waits until the last one refuses one. Servers take turns, so that no connection idles.
async fn add_others(targets: &[Target]) -> anyhow::Result<()> {
    for number in 0..OTHERS {
        let name = format!("{NAME}-{number}");
        let validations =
            format!(r#""validations":[{{"expression":"object.metadata.name != 's{number}'"}}]"#);
        for target in targets.iter().filter(|target| target.objects.is_some()) {
            bind(target.connection(), &name, "secrets", &validations, "").await?;
        }
    }
    let secret = format!(r#"{{"metadata":{{"name":"s{}"}}}}"#, OTHERS - 1);
    answered(targets, false, |objects| Request::post(dry_run(objects, "secrets"), secret.clone())).await
}

/// Adds the policy that matches, and waits until it refuses a pod of another registry and accepts others.
async fn add_matching(targets: &[Target]) -> anyhow::Result<()> {
    for target in targets {
        let Some(objects) = &target.objects else { continue };
        let connection = target.connection();
        let param =
            r#"{"metadata":{"name":"params"},"data":{"registry":"registry.example.com/","label":"app"}}"#;
        connection.expect(Request::post(objects.path("configmaps"), param)).await?;
        let reference = r#","paramRef":{"name":"params","parameterNotFoundAction":"Deny"}"#;
        bind(connection, NAME, "pods", VALIDATIONS, reference).await?;
    }
    answered(targets, false, |objects| {
        let pod = objects.pod(0).replace("registry.example.com/", "elsewhere.example.com/");
        Request::post(dry_run(objects, "pods"), pod)
    })
    .await?;
    // Without its parameter the policy refuses every pod.
    answered(targets, true, |objects| Request::post(dry_run(objects, "pods"), objects.pod(0))).await
}

fn dry_run(objects: &Objects, resource: &str) -> String {
    format!("{}?dryRun=All", objects.path(resource))
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

/// Waits until all servers accept an object, or refuse it.
async fn answered(
    targets: &[Target],
    accepted: bool,
    request: impl Fn(&Objects) -> Request,
) -> anyhow::Result<()> {
    let start = Instant::now();
    loop {
        let mut pending = 0;
        for target in targets {
            let Some(objects) = &target.objects else { continue };
            let answer = target.connection().ask(request(objects)).await?;
            pending += usize::from(answer.status.is_success() != accepted);
        }
        if pending == 0 {
            return Ok(());
        }
        ensure!(start.elapsed() < PATIENCE, "a policy is not in effect after {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
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
