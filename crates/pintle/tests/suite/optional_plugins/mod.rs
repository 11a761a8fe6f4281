//! Admission plugins that are off by default, and `--admission-control-config-file`.

mod configuration;
mod image_policy;
mod owner_references;
mod pods;
mod resources;

use std::path::Path;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Launch, Server};

const PODS: &str = "/api/v1/namespaces/default/pods";

/// Returns a server with these plugins. Pods need no service account.
async fn start(launch: Launch, plugins: &str) -> Server {
    let server = launch
        .arg(format!("--enable-admission-plugins={plugins}"))
        .arg("--disable-admission-plugins=ServiceAccount")
        .start()
        .await;
    server.until_it_has_namespaces().await;
    server
}

/// Writes an `AdmissionConfiguration` with these entries, and returns a launch with it.
pub(crate) fn configured(launch: Launch, plugins: &Value) -> Launch {
    let file = launch.path("admission.yaml");
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins,
    });
    with_file(launch, &file, &configuration.to_string())
}

fn with_file(launch: Launch, file: &Path, text: &str) -> Launch {
    std::fs::write(file, text).expect("write a configuration");
    launch.arg(format!("--admission-control-config-file={}", file.display()))
}

async fn send(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    let media_type =
        if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    server.admin().request(method, path, &[("content-type", media_type)], body.to_string()).await
}

async fn post(server: &Server, path: &str, body: &Value) -> Answer {
    send(server, Method::POST, path, body).await
}

/// Creates an object and returns it as the server answers.
async fn made(server: &Server, path: &str, body: &Value) -> Value {
    post(server, path, body).await.gives(201)
}

fn pod(name: &str, more: Value) -> Value {
    let mut spec = json!({"containers": [{"name": "c", "image": "i"}]});
    if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
        spec.extend(more);
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
}

fn namespace(name: &str, annotations: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": annotations}})
}
