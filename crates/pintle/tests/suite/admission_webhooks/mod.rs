//! Admission webhooks: real HTTPS servers, asked by a real server.

mod custom_resources;
mod mutating;
mod reviews;
mod validating;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use pintle_outbound::testing::{HttpsServer, Reply, Seen};
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{Answer, Launch, Server};

const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";

async fn started() -> Server {
    let server = Launch::new().start().await;
    ready(&server).await;
    server
}

async fn send(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    send_as(server, method, path, "application/json", body).await
}

async fn send_as(server: &Server, method: Method, path: &str, content_type: &str, body: &Value) -> Answer {
    let headers = [("content-type", content_type)];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.admin().request(method, path, &headers, body).await
}

/// Creates an object and returns it as the server answers.
async fn made(server: &Server, path: &str, body: &Value) -> Value {
    let answer = send(server, Method::POST, path, body).await;
    assert_eq!(answer.code, 201, "{answer:?}");
    answer.json()
}

fn rules(group: &str, resources: &[&str]) -> Value {
    json!([{"apiGroups": [group], "apiVersions": ["*"], "operations": ["*"], "resources": resources}])
}

/// Returns a webhook at a path of a server.
fn hook(name: &str, server: &HttpsServer, path: &str, rules: &Value) -> Value {
    json!({
        "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": rules,
        "clientConfig": {"url": server.url(path), "caBundle": STANDARD.encode(&server.authority.pem)},
    })
}

/// Creates a configuration: `mutating` or `validating`.
async fn configure(server: &Server, of: &str, name: &str, webhooks: &[Value]) {
    let path = format!("{REGISTRATION}/{of}webhookconfigurations");
    made(server, &path, &json!({"metadata": {"name": name}, "webhooks": webhooks})).await;
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

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

/// Returns the requests of all reviews so far.
fn requests(webhook: &HttpsServer) -> Vec<Value> {
    webhook.seen().iter().map(|seen| seen.json()["request"].clone()).collect()
}

/// Returns the request of the last review.
fn last(webhook: &HttpsServer) -> Value {
    requests(webhook).pop().expect("a review")
}
