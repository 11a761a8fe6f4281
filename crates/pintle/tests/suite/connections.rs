//! Permissions of connections to pods: a WebSocket is opened with GET, but needs the permission to create.

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{ALICE, Answer, Launch, MASTER, Server};

const UPGRADE: [(&str, &str); 5] = [
    ("connection", "Upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("sec-websocket-protocol", "v5.channel.k8s.io"),
];

async fn create(server: &Server, path: &str, object: &Value) {
    let json = [("content-type", "application/json")];
    let created = server.client().token(MASTER).request(Method::POST, path, &json, object.to_string()).await;
    assert_eq!(created.code, 201, "{}", created.body);
}

/// Lets alice do this with connections to pods.
async fn grant(server: &Server, name: &str, verb: &str) {
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let resources = ["pods/attach", "pods/exec", "pods/portforward"];
    let rules = json!([{ "apiGroups": [""], "resources": resources, "verbs": [verb] }]);
    create(server, &format!("{rbac}/roles"), &json!({ "metadata": { "name": name }, "rules": rules })).await;
    let binding = json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" }],
    });
    create(server, &format!("{rbac}/rolebindings"), &binding).await;
}

async fn open(server: &Server, how: &str) -> Answer {
    let path = format!("/api/v1/namespaces/default/pods/web/{how}");
    server.client().token(ALICE).request(Method::GET, &path, &UPGRADE, "").await
}

const CONNECTIONS: [&str; 3] = ["attach?stdout=1", "exec?command=true&stdout=1", "portforward?ports=80"];

#[tokio::test]
async fn a_websocket_to_a_pod_needs_the_permission_to_create() {
    let server = Launch::new().tokens().start().await;
    ready(&server).await;
    for how in CONNECTIONS {
        let name = how.split('?').next().unwrap();
        open(&server, how).await.is_status(
            403,
            "Forbidden",
            &format!(
                "pods \"web\" is forbidden: User \"alice\" cannot get resource \"pods/{name}\" in API group \"\" in \
                 the namespace \"default\""
            ),
        );
    }
    grant(&server, "read", "get").await;
    for how in CONNECTIONS {
        open(&server, how).await.is_status(403, "Forbidden", "pods \"web\" is forbidden: ");
    }
    grant(&server, "write", "create").await;
    for how in CONNECTIONS {
        let answer = open(&server, how).await;
        answer.is_status(404, "NotFound", "pods \"web\" not found");
    }
}

#[tokio::test]
async fn without_its_gate_reading_is_enough_for_a_websocket() {
    let gate = "--feature-gates=AuthorizePodWebsocketUpgradeCreatePermission=false";
    let server = Launch::new().tokens().arg(gate).start().await;
    ready(&server).await;
    grant(&server, "read", "get").await;
    for how in CONNECTIONS {
        let answer = open(&server, how).await;
        answer.is_status(404, "NotFound", "pods \"web\" not found");
    }
    assert!(!server.stderr().contains("has no effect"), "{}", server.stderr());
}
