//! Status of resource claims: changing single fields needs more permissions than updating `resourceclaims/status`.

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{ALICE, Answer, Launch, MASTER, Server};

const CLAIMS: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

async fn create(server: &Server, path: &str, object: &Value) {
    let json = [("content-type", "application/json")];
    let created = server.client().token(MASTER).request(Method::POST, path, &json, object.to_string()).await;
    assert_eq!(created.code, 201, "{}", created.body);
}

/// Gives alice a right in the whole cluster.
async fn grant(server: &Server, name: &str, resource: &str, verbs: &[&str], names: &[&str]) {
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let rule = json!({ "apiGroups": ["resource.k8s.io"], "resources": [resource], "verbs": verbs, "resourceNames": names });
    let role = json!({ "metadata": { "name": name }, "rules": [rule] });
    create(server, &format!("{rbac}/clusterroles"), &role).await;
    let binding = json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" }],
    });
    create(server, &format!("{rbac}/clusterrolebindings"), &binding).await;
}

async fn started(flags: &[&str]) -> Server {
    let server = Launch::new().tokens().args(flags).start().await;
    ready(&server).await;
    let requests = json!([{"name": "r", "exactly": {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}}]);
    let claim = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "a"},
        "spec": {"devices": {"requests": requests}},
    });
    create(&server, CLAIMS, &claim).await;
    grant(&server, "status", "resourceclaims/status", &["update", "patch"], &[]).await;
    server
}

async fn write(server: &Server, status: Value) -> Answer {
    let merge = [("content-type", "application/merge-patch+json")];
    let body = json!({ "status": status }).to_string();
    server.client().token(ALICE).request(Method::PATCH, &format!("{CLAIMS}/a/status"), &merge, body).await
}

fn allocated() -> Value {
    let results = json!([{"request": "r", "driver": "d.example.com", "pool": "p", "device": "x"}]);
    json!({"allocation": {"devices": {"results": results}}})
}

fn device_status() -> Value {
    json!({"devices": [{"driver": "d.example.com", "pool": "p", "device": "x"}]})
}

#[tokio::test]
async fn a_claim_s_status_is_written_only_by_those_whose_business_it_is() {
    let server = started(&[]).await;
    write(&server, allocated()).await.is_status(
        422,
        "Invalid",
        "ResourceClaim.resource.k8s.io \"a\" is invalid: status.allocation: Forbidden: changing status.allocation or \
         status.reservedFor requires resource=\"resourceclaims/binding\", verb=\"patch\" permission: \
         resourceclaims.resource.k8s.io is forbidden: User \"alice\" cannot patch resource \"resourceclaims/binding\" \
         in API group \"resource.k8s.io\" at the cluster scope",
    );
    grant(&server, "bind", "resourceclaims/binding", &["patch"], &[]).await;
    let bound = write(&server, allocated()).await;
    assert_eq!(bound.code, 200, "{}", bound.body);
    write(&server, device_status()).await.is_status(
        422,
        "Invalid",
        "ResourceClaim.resource.k8s.io \"a\" is invalid: status.devices: Forbidden: changing status.devices requires \
         resource=\"resourceclaims/driver\", verb=\"[arbitrary-node:patch]\" permission: \
         resourceclaims.resource.k8s.io \"d.example.com\" is forbidden: User \"alice\" cannot arbitrary-node:patch \
         resource \"resourceclaims/driver\" in API group \"resource.k8s.io\" in the namespace \"default\"",
    );
    grant(&server, "other", "resourceclaims/driver", &["arbitrary-node:patch"], &["other.example.com"]).await;
    assert_eq!(write(&server, device_status()).await.code, 422);
    grant(&server, "drive", "resourceclaims/driver", &["arbitrary-node:patch"], &["d.example.com"]).await;
    let written = write(&server, device_status()).await;
    assert_eq!(written.code, 200, "{}", written.body);
    // An update that changes neither field needs no further permission.
    assert_eq!(write(&server, json!({})).await.code, 200);
}

#[tokio::test]
async fn without_its_gate_writing_a_status_is_enough() {
    let server = started(&["--feature-gates=DRAResourceClaimGranularStatusAuthorization=false"]).await;
    for status in [allocated(), device_status()] {
        let written = write(&server, status).await;
        assert_eq!(written.code, 200, "{}", written.body);
    }
    assert!(!server.stderr().contains("effect"), "{}", server.stderr());
}
