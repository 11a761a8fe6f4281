//! ValidatingAdmissionPolicies and their bindings.

mod examples;
mod hostile;
mod library;
mod params;
mod requests;
mod type_checking;

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Server};

const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";
const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

async fn send(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    server.admin().request(method, path, &JSON, body.to_string()).await
}

async fn create(server: &Server, path: &str, body: &Value) -> Answer {
    send(server, Method::POST, path, body).await
}

/// Creates an object that must be admitted.
async fn made(server: &Server, path: &str, body: &Value) -> Value {
    create(server, path, body).await.gives(201)
}

/// The constraints of a policy on the creation and update of resources, each written `group/version/resource`.
fn constraints(resources: &[&str]) -> Value {
    let rules: Vec<Value> = resources
        .iter()
        .map(|text| {
            let parts: Vec<&str> = text.split('/').collect();
            json!({
                "apiGroups": [parts[0]], "apiVersions": [parts[1]], "resources": [parts[2..].join("/")],
                "operations": ["CREATE", "UPDATE"],
            })
        })
        .collect();
    json!({"resourceRules": rules})
}

/// Creates a policy and a binding of the same name.
async fn bind(server: &Server, name: &str, spec: Value, binding: Value) {
    made(
        server,
        &format!("{REGISTRATION}/validatingadmissionpolicies"),
        &json!({"metadata": {"name": name}, "spec": spec}),
    )
    .await;
    let mut bound = json!({"policyName": name, "validationActions": ["Deny"]});
    if let (Some(bound), Value::Object(binding)) = (bound.as_object_mut(), binding) {
        bound.extend(binding);
    }
    let bound = json!({"metadata": {"name": name}, "spec": bound});
    made(server, &format!("{REGISTRATION}/validatingadmissionpolicybindings"), &bound).await;
}

/// The message after `denied request: `.
fn denial(answer: &Answer) -> String {
    let body = answer.json();
    let message = body["message"].as_str().unwrap_or_default();
    message
        .split_once("denied request: ")
        .map_or_else(|| panic!("not denied: {answer:?}"), |(_, why)| why.to_owned())
}

/// The texts of `Warning` headers.
fn warnings(answer: &Answer) -> Vec<String> {
    let values = answer.headers.get_all("warning").iter();
    values.map(|value| value.to_str().expect("text").to_owned()).collect()
}

/// Reads an object until it is as wanted.
async fn until(server: &Server, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let started = Instant::now();
    loop {
        let found = server.admin().get(path).await.gives(200);
        if wanted(&found) {
            return found;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{found}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
