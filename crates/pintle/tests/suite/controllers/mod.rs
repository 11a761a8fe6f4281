//! The controllers of kube-controller-manager in the process of the server.

mod beside;
mod bootstrap_tokens;
mod certificates;
mod endpoint_slices;
mod garbage;
mod idle;
mod names;
mod namespaces;
mod protection;
mod resource_quotas;
mod root_ca;
mod service_cidrs;
mod storage_version_migration;
mod token_secrets;
mod ttl_after_finished;

use http::Method;
use serde_json::{Value, json};

use crate::support::objects::{merge, post, send};
use crate::support::{Launch, Server, eventually};

/// A server with these controllers.
pub(crate) fn with_controllers(names: &str) -> Launch {
    Launch::new().arg(format!("--controllers={names}"))
}

async fn delete(server: &Server, path: &str) -> Value {
    send(server, Method::DELETE, path, &json!({})).await.gives(200)
}

/// Deletes a pod without a grace period, as its kubelet does in the end.
async fn delete_at_once(server: &Server, path: &str) {
    send(server, Method::DELETE, path, &json!({"gracePeriodSeconds": 0})).await.code_is(200);
}

async fn is_gone(server: &Server, path: &str) -> bool {
    server.admin().get(path).await.code == 404
}

async fn make_namespace(server: &Server, name: &str) {
    post(server, "/api/v1/namespaces", &json!({"metadata": {"name": name}})).await;
}

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"a": "b"}})
}

const WIDGETS: &str = "/apis/example.com/v1/namespaces/a/widgets";

/// Defines `widgets` of example.com, and waits until one could be created.
async fn define_widgets(server: &Server) {
    let names =
        json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"});
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
    let definition = json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    });
    post(server, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await;
    eventually("the resource", async || server.admin().get(WIDGETS).await.code == 200).await;
}
