//! Webhooks that are real HTTPS servers, asked by the plugins.

mod conditions;
mod failures;
mod lookups;
mod mutating;
mod reviews;
mod validating;

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_outbound::testing::{HttpsServer, Reply, Seen};
use serde_json::{Value, json};

use super::{MutatingWebhooks, ValidatingWebhooks};
use crate::objects::Resource;
use crate::plugin::Plugin;
use crate::testing::{Case, Outcome, TestCluster, TestVersions, create};

const POD: &str =
    r#"{"metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#;

/// A cluster with the namespace `n`, and webhooks.
struct Fixture {
    cluster: TestCluster,
    versions: Arc<TestVersions>,
}

impl Fixture {
    async fn new() -> Fixture {
        let cluster = TestCluster::new().await;
        cluster.put(Resource::Namespace, r#"{"metadata":{"name":"n"}}"#).await;
        Fixture { cluster, versions: TestVersions::new("Pod", &["/v1/pods"]) }
    }

    fn mutating(&self) -> MutatingWebhooks {
        MutatingWebhooks::new(&self.cluster.cluster).unwrap()
    }

    fn validating(&self) -> ValidatingWebhooks {
        ValidatingWebhooks::new(&self.cluster.cluster).unwrap()
    }

    /// Writes a configuration with these webhooks.
    async fn configure(&self, of: Resource, name: &str, webhooks: &[Value]) {
        let configuration = json!({"metadata": {"name": name}, "webhooks": webhooks});
        self.cluster.put(of, &configuration.to_string()).await;
    }

    /// Returns the creation of [`POD`].
    fn pod(&self) -> Case {
        create("pods").in_namespace("n").versions(&self.versions).json(POD)
    }

    /// Runs the plugins on a creation of [`POD`] and returns the message of a rejection.
    async fn rejection(&self, plugin: &dyn Plugin) -> Option<String> {
        self.pod().run(plugin).await.message()
    }

    fn metrics(&self) -> String {
        String::from_utf8(self.cluster.cluster.metrics.render().unwrap()).unwrap()
    }
}

/// Returns a webhook for all pods at a path of a server.
fn hook(name: &str, server: &HttpsServer, path: &str) -> Value {
    json!({
        "name": name, "admissionReviewVersions": ["v1", "v1beta1"], "sideEffects": "None", "timeoutSeconds": 10,
        "failurePolicy": "Fail", "matchPolicy": "Equivalent",
        "clientConfig": {"url": server.url(path), "caBundle": STANDARD.encode(&server.authority.pem)},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods", "pods/*"]}],
    })
}

/// Returns a webhook with some fields replaced.
fn with(mut hook: Value, fields: Value) -> Value {
    if let (Some(hook), Value::Object(fields)) = (hook.as_object_mut(), fields) {
        hook.extend(fields);
    }
    hook
}

/// Answers a review; `response` has everything but the UID.
fn reply(seen: &Seen, mut response: Value) -> Reply {
    let review = seen.json();
    response["uid"] = review["request"]["uid"].clone();
    Reply::json(&json!({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}))
}

fn allow(seen: &Seen) -> Reply {
    reply(seen, json!({"allowed": true}))
}

/// Answers with a JSON patch.
fn patch(seen: &Seen, operations: &Value) -> Reply {
    let patch = STANDARD.encode(operations.to_string());
    reply(seen, json!({"allowed": true, "patch": patch, "patchType": "JSONPatch"}))
}

/// Returns the labels of an admitted object.
fn labels(outcome: Outcome) -> String {
    let object = outcome.object();
    let labels: Vec<_> = object.labels().map(|(key, value)| format!("{key}={value}")).collect();
    labels.join(",")
}
