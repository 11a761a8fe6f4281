use std::collections::HashMap;
use std::sync::Mutex;

use super::*;
use crate::testing::{Outcome, create, text, update};

/// The accounts of namespace `n`, by name.
#[derive(Default)]
struct Accounts {
    known: HashMap<&'static str, Value>,
    asked: Mutex<usize>,
}

#[async_trait]
impl ObjectLister for Accounts {
    async fn object(&self, resource: Resource, namespace: &str, name: &str) -> Result<Option<Value>> {
        assert_eq!((resource, namespace), (Resource::ServiceAccount, "n"));
        *self.asked.lock().unwrap() += 1;
        Ok(self.known.get(name).cloned())
    }

    async fn list(&self, resource: Resource, _: &str) -> Result<Vec<Value>> {
        panic!("the plugin does not list {resource:?}")
    }
}

fn account(name: &'static str, rest: &str) -> (&'static str, Value) {
    let text = format!(r#"{{"metadata":{{"name":"{name}","namespace":"n"{rest}}}"#);
    (name, typed("core/v1.ServiceAccount", &text).unwrap())
}

fn with(accounts: impl IntoIterator<Item = (&'static str, Value)>) -> (ServiceAccount, Arc<Accounts>) {
    let accounts = Arc::new(Accounts { known: accounts.into_iter().collect(), ..Accounts::default() });
    (ServiceAccount { objects: accounts.clone(), clock: Clock::system(), random: Random::system() }, accounts)
}

async fn admit(plugin: &ServiceAccount, pod: &str) -> std::result::Result<Value, String> {
    match create("pods").in_namespace("n").json(pod).run(plugin).await {
        Outcome::Rejected(status) => Err(status.message),
        admitted => Ok(admitted.object()),
    }
}

fn json_or_nothing(value: Option<&Value>) -> String {
    text(value.unwrap_or(&Value::NULL))
}

const POD: &str =
    r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}],"initContainers":[{"name":"i"}]}}"#;

#[tokio::test]
async fn a_pod_gets_the_default_account_and_its_token() {
    let (plugin, _) = with([account("default", r#"},"imagePullSecrets":[{"name":"pull"}]"#)]);
    let pod = admit(&plugin, POD).await.unwrap();
    assert_eq!(pod.text_at(&["spec", "serviceAccountName"]), "default");
    assert_eq!(pod.text_at(&["spec", "serviceAccount"]), "default");
    assert_eq!(json_or_nothing(pod.at(&["spec", "imagePullSecrets"])), r#"[{"name":"pull"}]"#);
    let volume = &pod.items_at(&["spec", "volumes"])[0];
    let name = volume.text_at(&["name"]);
    assert!(name.starts_with("kube-api-access-") && name.len() == 21, "{name}");
    assert_eq!(
        json_or_nothing(volume.get("projected")),
        r#"{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}"#
    );
    for containers in ["containers", "initContainers"] {
        let mounts = json_or_nothing(pod.items_at(&["spec", containers])[0].at(&["volumeMounts"]));
        assert_eq!(
            mounts,
            format!(
                r#"[{{"name":"{name}","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}]"#
            )
        );
    }
}

#[tokio::test]
async fn a_pod_or_account_can_opt_out_of_the_token() {
    let (plugin, _) =
        with([account("default", r#"},"automountServiceAccountToken":false"#), account("a", "}")]);
    assert!(admit(&plugin, POD).await.unwrap().items_at(&["spec", "volumes"]).is_empty());
    let own = r#"{"spec":{"serviceAccountName":"a","automountServiceAccountToken":false,"containers":[{"name":"c"}]}}"#;
    assert!(admit(&plugin, own).await.unwrap().items_at(&["spec", "volumes"]).is_empty());
    let wanted = r#"{"spec":{"automountServiceAccountToken":true,"containers":[{"name":"c"}]}}"#;
    assert_eq!(admit(&plugin, wanted).await.unwrap().items_at(&["spec", "volumes"]).len(), 1);
    let there = r#"{"spec":{"serviceAccountName":"a","containers":[{"name":"c","volumeMounts":[{"name":"x",
                   "mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]}]}}"#;
    assert!(admit(&plugin, there).await.unwrap().items_at(&["spec", "volumes"]).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_missing_account_is_forbidden_and_the_default_account_is_waited_for() {
    let (plugin, accounts) = with([]);
    let why = admit(&plugin, POD).await.unwrap_err();
    assert_eq!(
        why,
        "pods \"p\" is forbidden: error looking up service account n/default: serviceaccount \"default\" not found"
    );
    assert_eq!(*accounts.asked.lock().unwrap(), ATTEMPTS);
    let why =
        admit(&plugin, r#"{"metadata":{"name":"p"},"spec":{"serviceAccountName":"a"}}"#).await.unwrap_err();
    assert!(why.ends_with("error looking up service account n/a: serviceaccount \"a\" not found"), "{why}");
    assert_eq!(*accounts.asked.lock().unwrap(), ATTEMPTS + 1);
}

#[tokio::test]
async fn an_account_can_enforce_mountable_secrets() {
    let rest =
        r#","annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}},"secrets":[{"name":"s"}]"#;
    let (plugin, _) = with([account("default", rest)]);
    for (spec, expect) in [
        (r#""volumes":[{"name":"v","secret":{"secretName":"s"}}]"#, None),
        (
            r#""volumes":[{"name":"v","secret":{"secretName":"x"}}]"#,
            Some(
                "volume with secret.secretName=\"x\" is not allowed because service account default does not reference that secret",
            ),
        ),
        (
            r#""containers":[{"name":"c","env":[{"name":"E","valueFrom":{"secretKeyRef":{"name":"x","key":"k"}}}]}]"#,
            Some(
                "container c with envVar E referencing secret.secretName=\"x\" is not allowed because service account default does not reference that secret",
            ),
        ),
        (
            r#""initContainers":[{"name":"c","envFrom":[{"secretRef":{"name":"x"}}]}]"#,
            Some(
                "init container c with envFrom referencing secret.secretName=\"x\" is not allowed because service account default does not reference that secret",
            ),
        ),
        (
            r#""volumes":[{"name":"v","secret":{}}]"#,
            Some(
                "volume with secret.secretName=\"\" is not allowed because service account default does not reference that secret",
            ),
        ),
        (
            r#""containers":[{"name":"c","envFrom":[{"secretRef":{"name":"s"}},{"secretRef":{"name":"x"}}]}]"#,
            Some(
                "container c with envFrom referencing secret.secretName=\"x\" is not allowed because service account default does not reference that secret",
            ),
        ),
        (
            r#""imagePullSecrets":[{"name":"x"}]"#,
            Some(
                "imagePullSecrets[0].name=\"x\" is not allowed because service account default does not reference that imagePullSecret",
            ),
        ),
    ] {
        let result = admit(&plugin, &format!(r#"{{"metadata":{{"name":"p"}},"spec":{{{spec}}}}}"#)).await;
        let expect = expect.map(|why| format!("pods \"p\" is forbidden: {why}"));
        assert_eq!(result.err(), expect, "{spec}");
    }
}

/// CVE-2023-2728 and CVE-2024-3177.
#[tokio::test]
async fn ephemeral_containers_use_no_other_secrets() {
    let enforcing =
        r#","annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}},"secrets":[{"name":"s"}]"#;
    let (plugin, _) = with([account("strict", enforcing), account("lax", r#"},"secrets":[{"name":"s"}]"#)]);
    let of_env = |secret: &str| {
        format!(
            r#"{{"name":"e","env":[{{"name":"E","valueFrom":{{"secretKeyRef":{{"name":"{secret}","key":"k"}}}}}}]}}"#
        )
    };
    let of_source =
        |secret: &str| format!(r#"{{"name":"e","envFrom":[{{"secretRef":{{"name":"{secret}"}}}}]}}"#);
    let refused = |how: &str| {
        format!(
            "500 ephemeral container e with {how} referencing secret.secretName=\"x\" is not allowed because service account \
             strict does not reference that secret"
        )
    };
    for (account, container, expect) in [
        ("strict", of_env("s"), None),
        ("strict", of_source("s"), None),
        ("strict", of_env("x"), Some(refused("envVar E"))),
        ("strict", of_source("x"), Some(refused("envFrom"))),
        ("lax", of_env("x"), None),
        ("", of_env("s"), Some("403 pods \"p\" is forbidden: no service account specified for pod n/p".into())),
        (
            "none",
            of_env("s"),
            Some(
                "403 pods \"p\" is forbidden: error looking up service account n/none: serviceaccount \"none\" not found"
                    .into(),
            ),
        ),
    ] {
        let pod = format!(
            r#"{{"metadata":{{"name":"p"}},"spec":{{"serviceAccountName":"{account}","ephemeralContainers":[{container}]}}}}"#
        );
        let request = update("pods/ephemeralcontainers").in_namespace("n").named("p").json(&pod);
        let refused = match request.run(&plugin).await {
            Outcome::Rejected(status) => Some(format!("{} {}", status.code, status.message)),
            _ => None,
        };
        assert_eq!(refused, expect, "{account} {container}");
    }
    let request = update("pods").in_namespace("n").named("p").json(POD);
    assert!(!request.run(&plugin).await.is_handled(), "other updates cannot change what is used");
}

#[tokio::test]
async fn names_that_are_not_validated_yet_do_no_harm() {
    let (plugin, accounts) = with([account("default", "}")]);
    let pod = r#"{"metadata":{"name":"p"},"spec":{"serviceAccountName":"a/b","containers":[]}}"#;
    assert_eq!(
        admit(&plugin, pod).await.unwrap_err(),
        "pods \"p\" is forbidden: error looking up service account n/a/b: invalid resource name \"a/b\": [may not contain '/']"
    );
    assert_eq!(*accounts.asked.lock().unwrap(), 0);
    let name = r#"kube-api-access-\",\"mountPath\":\"/etc"#;
    let pod = format!(r#"{{"spec":{{"volumes":[{{"name":"{name}"}}],"containers":[{{"name":"c"}}]}}}}"#);
    let pod = admit(&plugin, &pod).await.unwrap();
    let mount = &pod.items_at(&["spec", "containers"])[0].items_at(&["volumeMounts"])[0];
    assert_eq!(mount.text_at(&["mountPath"]), MOUNT_PATH);
    assert_eq!(mount.get("name"), pod.items_at(&["spec", "volumes"])[0].get("name"));
}

#[tokio::test]
async fn mirror_pods_refer_to_no_secrets_and_accounts() {
    let (plugin, _) = with([]);
    let mirror = |spec: &str| {
        format!(
            r#"{{"metadata":{{"name":"p","annotations":{{"kubernetes.io/config.mirror":"x"}}}},"spec":{{{spec}}}}}"#
        )
    };
    let pod = admit(&plugin, &mirror(r#""containers":[{"name":"c"}]"#)).await.unwrap();
    assert_eq!(pod.text_at(&["spec", "serviceAccountName"]), "");
    for (spec, expect) in [
        (r#""serviceAccountName":"a""#, "a mirror pod may not reference service accounts"),
        (r#""imagePullSecrets":[{"name":"x"}]"#, "a mirror pod may not reference secrets"),
        (
            r#""volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]"#,
            "a mirror pod may not use ServiceAccountToken volume projections",
        ),
    ] {
        let why = admit(&plugin, &mirror(spec)).await.unwrap_err();
        assert!(why.ends_with(expect), "{why}");
    }
}
