//! The plugin against a real webhook.

use std::sync::Arc;
use std::time::SystemTime;

use pintle_outbound::testing::{HttpsServer, Reply, Seen};
use pintle_runtime::ManualClock;
use serde_json::{Value, json};

use super::*;
use crate::AuditLevel;
use crate::configuration::Configurations;
use crate::testing::{Case, TestCluster, create, target, update};

struct Setup {
    plugin: ImagePolicyWebhook,
    webhook: HttpsServer,
    clock: Arc<ManualClock>,
    _files: tempfile::TempDir,
}

async fn setup(fields: Value, answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Setup {
    let webhook = HttpsServer::start(answer).await;
    let files = tempfile::tempdir().unwrap();
    let kubeconfig = files.path().join("kubeconfig");
    std::fs::write(&kubeconfig, webhook.kubeconfig("/images")).unwrap();
    let mut policy = json!({"kubeConfigFile": kubeconfig, "retryBackoff": 1});
    policy.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let mut cluster = TestCluster::new().await;
    let clock = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    cluster.cluster.clock = clock.clock();
    let config = json!({"imagePolicy": policy}).to_string();
    cluster.cluster.configurations = Configurations::new([(NAME.to_owned(), config.into())]);
    let plugin = ImagePolicyWebhook::new(&cluster.cluster).unwrap();
    Setup { plugin, webhook, clock, _files: files }
}

/// Denies images that are named `bad`, and gives a reason for `worse`.
fn judge(seen: &Seen) -> Reply {
    let review = seen.json();
    let images = review["spec"]["containers"].as_array().cloned().unwrap_or_default();
    let has = |name: &str| images.iter().any(|container| container["image"] == name);
    let status = match () {
        () if has("worse") => json!({"allowed": false, "reason": "not here"}),
        () if has("bad") => json!({"allowed": false}),
        () => json!({"allowed": true, "auditAnnotations": {"asked": "yes"}}),
    };
    Reply::json(
        &json!({"apiVersion": "imagepolicy.k8s.io/v1alpha1", "kind": "ImageReview", "status": status}),
    )
}

fn pod(image: &str) -> String {
    json!({
        "metadata": {"name": "p", "annotations": {"my.image-policy.k8s.io/a": "b", "image-policy.k8s.io/c": "d"}},
        "spec": {
            "containers": [{"name": "c", "image": image}],
            "initContainers": [{"name": "i", "image": "init"}],
            "ephemeralContainers": [{"name": "e", "image": "debug"}],
        },
    })
    .to_string()
}

fn creation(image: &str) -> Case {
    create("pods").in_namespace("n").json(&pod(image))
}

const REASONLESS: &str = "one or more images rejected by webhook backend";

#[tokio::test]
async fn images_are_asked_about() {
    let setup = setup(json!({}), judge).await;
    let case = creation("good");
    assert_eq!(case.clone().run(&setup.plugin).await.why(), None);
    let notes = case.request.notes.annotations(AuditLevel::Metadata);
    assert_eq!(notes.get("imagepolicywebhook.image-policy.k8s.io/asked").map(String::as_str), Some("yes"));
    assert_eq!(creation("bad").run(&setup.plugin).await.why().as_deref(), Some(REASONLESS));
    let reason = "image policy webhook backend denied one or more images: not here";
    assert_eq!(creation("worse").run(&setup.plugin).await.why().as_deref(), Some(reason));
    let seen = setup.webhook.seen();
    assert_eq!(seen[0].path, "/images?timeout=30s");
    assert_eq!(
        String::from_utf8_lossy(&seen[0].body),
        "{\"kind\":\"ImageReview\",\"apiVersion\":\"imagepolicy.k8s.io/v1alpha1\",\"metadata\":{},\"spec\":{\"containers\":\
         [{\"image\":\"good\"},{\"image\":\"init\"}],\"annotations\":{\"my.image-policy.k8s.io/a\":\"b\"},\"namespace\":\"n\"},\
         \"status\":{\"allowed\":false}}\n"
    );
}

#[tokio::test]
async fn images_of_ephemeral_containers_are_asked_about() {
    let setup = setup(json!({}), judge).await;
    let added = pod("good").replace("debug", "bad");
    let case = update("pods/ephemeralcontainers").in_namespace("n").json(&added).old_json(&pod("good"));
    assert_eq!(case.run(&setup.plugin).await.why().as_deref(), Some(REASONLESS));
    assert_eq!(setup.webhook.seen()[0].json()["spec"]["containers"], json!([{"image": "bad"}]));
}

#[tokio::test]
async fn verdicts_are_kept_for_a_while() {
    let setup = setup(json!({"allowTTL": 20, "denyTTL": 10}), judge).await;
    let asked = async |image: &str| {
        let before = setup.webhook.seen().len();
        creation(image).run(&setup.plugin).await;
        setup.webhook.seen().len() - before
    };
    assert_eq!([asked("good").await, asked("good").await], [1, 0]);
    assert_eq!([asked("bad").await, asked("bad").await], [1, 0]);
    setup.clock.advance(Duration::from_secs(10));
    assert_eq!([asked("good").await, asked("bad").await], [0, 1]);
    setup.clock.advance(Duration::from_secs(10));
    assert_eq!([asked("good").await, asked("good").await], [1, 0]);
    // Other annotations or namespaces are other questions.
    let case = create("pods").in_namespace("m").json(&pod("good"));
    case.run(&setup.plugin).await;
    assert_eq!(setup.webhook.seen().len(), 5);
}

#[tokio::test]
async fn verdicts_are_not_kept_without_a_time() {
    let setup = setup(json!({"allowTTL": -1, "denyTTL": -1}), judge).await;
    for image in ["good", "good", "bad", "bad"] {
        creation(image).run(&setup.plugin).await;
    }
    assert_eq!(setup.webhook.seen().len(), 4);
}

#[tokio::test]
async fn a_webhook_that_fails_denies_unless_configured_otherwise() {
    let replies: [fn() -> Reply; 3] = [
        || Reply::text(403, "no"),
        || Reply::text(200, "<html>"),
        || Reply::json(&json!({"apiVersion": "v1", "kind": "Pod"})),
    ];
    for reply in replies {
        let closed = setup(json!({}), move |_| reply()).await;
        let why = creation("good").run(&closed.plugin).await.why();
        assert!(why.is_some(), "denied");
        let open = setup(json!({"defaultAllow": true}), move |_| reply()).await;
        let case = creation("good");
        assert_eq!(case.clone().run(&open.plugin).await.why(), None);
        let notes = case.request.notes.annotations(AuditLevel::Metadata);
        assert_eq!(
            notes.get("imagepolicywebhook.image-policy.k8s.io/failed-open").map(String::as_str),
            Some("true")
        );
        // A failure is not kept.
        creation("good").run(&open.plugin).await;
        assert_eq!(open.webhook.seen().len(), 2);
    }
    // An answer without a status is no permission, whatever the default.
    let empty = setup(json!({"defaultAllow": true}), |_| Reply::json(&json!({}))).await;
    assert_eq!(creation("good").run(&empty.plugin).await.why().as_deref(), Some(REASONLESS));
}

#[tokio::test]
async fn a_wrong_configuration_is_an_error() {
    let mut cluster = TestCluster::new().await;
    let mut made = |config: Option<&str>| {
        let config = config.map(|config| (NAME.to_owned(), config.to_owned().into()));
        cluster.cluster.configurations = Configurations::new(config);
        ImagePolicyWebhook::new(&cluster.cluster).err().unwrap_or_default()
    };
    assert_eq!(made(None), "no config specified");
    assert!(made(Some("{}")).starts_with("invalid configuration: no configuration has been provided"));
    let missing = r#"{"imagePolicy":{"kubeConfigFile":"/nowhere/k"}}"#;
    assert_eq!(made(Some(missing)), "stat /nowhere/k: no such file or directory");
    let long = r#"{"imagePolicy":{"kubeConfigFile":"/k","allowTTL":9999}}"#;
    assert_eq!(made(Some(long)), "valid value is between 1s and 30m0s, got 2h46m39s");
}

#[tokio::test]
async fn only_pods_and_ephemeral_containers_are_handled() {
    let setup = setup(json!({}), judge).await;
    let handles = |operation, resource| setup.plugin.validates(operation, &target(resource));
    assert!(handles(Operation::Create, "pods") && handles(Operation::Update, "pods/ephemeralcontainers"));
    for resource in ["pods/status", "pods/resize", "pods/binding", "podtemplates"] {
        assert!(!handles(Operation::Update, resource), "{resource}");
    }
    assert!(!handles(Operation::Delete, "pods"));
}
