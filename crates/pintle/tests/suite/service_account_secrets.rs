//! Service accounts that enforce their list of secrets, through every way by which a pod can name one.

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{Answer, Launch, Server};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const PODS: &str = "/api/v1/namespaces/default/pods";

async fn send(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    let kind = match method {
        Method::PATCH => "application/strategic-merge-patch+json",
        _ => "application/json",
    };
    server.admin().request(method, path, &[("content-type", kind)], body.to_string()).await
}

fn pod(name: &str, container: &Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"serviceAccountName": "strict", "containers": [container]}})
}

fn from_variable(secret: &str) -> Value {
    let source = json!({"secretKeyRef": {"name": secret, "key": "k"}});
    json!({"name": "c", "image": "i", "env": [{"name": "E", "valueFrom": source}]})
}

fn from_source(secret: &str) -> Value {
    json!({"name": "c", "image": "i", "envFrom": [{"secretRef": {"name": secret}}]})
}

/// CVE-2023-2728 and CVE-2024-3177.
#[tokio::test]
async fn no_container_uses_a_secret_that_its_account_does_not_list() {
    let server = Launch::with_default_plugins().start().await;
    ready(&server).await;
    let annotations = json!({"kubernetes.io/enforce-mountable-secrets": "true"});
    let account =
        json!({"metadata": {"name": "strict", "annotations": annotations}, "secrets": [{"name": "s"}]});
    send(&server, Method::POST, ACCOUNTS, &account).await.code_is(201);
    send(&server, Method::POST, PODS, &pod("p", &from_source("s"))).await.code_is(201);
    let why = |how: &str| {
        format!(
            "{how} referencing secret.secretName=\"x\" is not allowed because service account strict does not reference that \
             secret"
        )
    };
    for (container, how) in
        [(from_variable("x"), "container c with envVar E"), (from_source("x"), "container c with envFrom")]
    {
        let refused = send(&server, Method::POST, PODS, &pod("q", &container)).await;
        refused.is_status(403, "Forbidden", &format!("pods \"q\" is forbidden: {}", why(how)));
    }

    let ephemeral = async |name: &str, mut container: Value| {
        container["name"] = json!(name);
        let patch = json!({"spec": {"ephemeralContainers": [container]}});
        send(&server, Method::PATCH, &format!("{PODS}/p/ephemeralcontainers"), &patch).await
    };
    ephemeral("good", from_variable("s")).await.code_is(200);
    for (container, how) in [
        (from_variable("x"), "ephemeral container bad with envVar E"),
        (from_source("x"), "ephemeral container bad with envFrom"),
    ] {
        let refused = ephemeral("bad", container).await;
        refused.code_is(500);
        assert_eq!(refused.json()["message"], why(how));
    }
    let stored = server.admin().get(&format!("{PODS}/p")).await.gives(200);
    assert_eq!(stored["spec"]["ephemeralContainers"].as_array().map(Vec::len), Some(1));
}
