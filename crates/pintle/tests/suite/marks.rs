//! Marks that new objects get and controllers remove later: TaintNodesByCondition and StorageObjectInUseProtection.

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{Launch, Server};

const NODES: &str = "/api/v1/nodes";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";
const CLASSES: &str = "/apis/storage.k8s.io/v1/volumeattributesclasses";

async fn send(server: &Server, method: Method, path: &str, body: &Value) -> Value {
    let (kind, code) = match method {
        Method::PATCH => ("application/merge-patch+json", 200),
        _ => ("application/json", 201),
    };
    server.admin().request(method, path, &[("content-type", kind)], body.to_string()).await.gives(code)
}

#[tokio::test]
async fn a_node_is_tainted_when_it_is_made_and_never_again() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let not_ready = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let own = json!({"key": "a", "effect": "NoExecute"});
    for (name, taints, expected) in [
        ("plain", Value::Null, json!([not_ready])),
        ("own", json!([own]), json!([own, not_ready])),
        ("tainted", json!([not_ready, own]), json!([not_ready, own])),
    ] {
        let node = json!({"metadata": {"name": name}, "spec": {"taints": taints}});
        let node = send(&server, Method::POST, NODES, &node).await;
        assert_eq!(node["spec"]["taints"], expected, "{name}");
    }
    let path = format!("{NODES}/plain");
    let ready = send(&server, Method::PATCH, &path, &json!({"spec": {"taints": null}})).await;
    assert_eq!(ready["spec"]["taints"], Value::Null);
    let labelled = send(&server, Method::PATCH, &path, &json!({"metadata": {"labels": {"a": "b"}}})).await;
    assert_eq!(labelled["spec"]["taints"], Value::Null);
}

#[tokio::test]
async fn storage_is_protected_when_it_is_made_and_never_again() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let (modes, size) = (json!(["ReadWriteOnce"]), json!({"storage": "1Gi"}));
    let claim = json!({"spec": {"accessModes": modes, "resources": {"requests": size}}});
    let volume = json!({"spec": {"accessModes": modes, "capacity": size, "hostPath": {"path": "/x"}}});
    let class = json!({"driverName": "x.io", "parameters": {"a": "b"}});
    for (path, object, finalizer) in [
        (CLAIMS, claim, "kubernetes.io/pvc-protection"),
        (VOLUMES, volume, "kubernetes.io/pv-protection"),
        (CLASSES, class, "kubernetes.io/vac-protection"),
    ] {
        for (name, finalizers, expected) in [
            ("plain", json!([]), json!([finalizer])),
            ("own", json!(["x.io/y"]), json!(["x.io/y", finalizer])),
            ("protected", json!([finalizer, "x.io/y"]), json!([finalizer, "x.io/y"])),
        ] {
            let mut object = object.clone();
            object["metadata"] = json!({"name": name, "finalizers": finalizers});
            let made = send(&server, Method::POST, path, &object).await;
            assert_eq!(made["metadata"]["finalizers"], expected, "{path} {name}");
        }
        let path = format!("{path}/plain");
        for metadata in [json!({"finalizers": null}), json!({"labels": {"a": "b"}})] {
            let unused = send(&server, Method::PATCH, &path, &json!({"metadata": metadata})).await;
            assert_eq!(unused["metadata"]["finalizers"], Value::Null, "{path} {metadata}");
        }
    }
    let other = json!({"metadata": {"name": "c"}});
    let other = send(&server, Method::POST, "/api/v1/namespaces/default/configmaps", &other).await;
    assert_eq!(other["metadata"]["finalizers"], Value::Null);
}
