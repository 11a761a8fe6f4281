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

const TEMPLATES: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates";
const NEEDS_LABEL: &str = "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace";

async fn ask(server: &Server, method: Method, path: &str, object: &Value) -> Answer {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    server.client().token(MASTER).request(method, path, &[("content-type", kind)], object.to_string()).await
}

#[tokio::test]
async fn administrative_access_to_devices_needs_a_label_of_the_namespace() {
    let server = started(&[]).await;
    let exactly = |admin: bool, class: &str| json!({"deviceClassName": class, "adminAccess": admin});
    let spec = |admin: bool, class: &str| {
        let requests = json!([
            {"name": "r", "exactly": exactly(false, "c")},
            {"name": "s", "exactly": exactly(admin, class)},
        ]);
        json!({"devices": {"requests": requests}})
    };
    let claim = |name: &str, admin: bool, class: &str| {
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name},
            "spec": spec(admin, class)})
    };
    let template = |name: &str, admin: bool| {
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name},
            "spec": {"spec": spec(admin, "c")}})
    };
    let granted = json!({"status": {"allocation": {"devices": {"results": [
        {"request": "r", "driver": "d.example.com", "pool": "p", "device": "x", "adminAccess": true}]}}}});
    let label = |value: &str| json!({"metadata": {"labels": {"resource.kubernetes.io/admin-access": value}}});

    for (path, object) in [(CLAIMS, claim("b", false, "c")), (TEMPLATES, template("b", false))] {
        assert_eq!(ask(&server, Method::POST, path, &object).await.code, 201);
    }
    // Its label must be exactly `true`, also for superusers.
    for value in ["", "false", "True"] {
        let labelled = ask(&server, Method::PATCH, "/api/v1/namespaces/default", &label(value)).await;
        assert_eq!(labelled.code, 200, "{}", labelled.body);
        ask(&server, Method::POST, CLAIMS, &claim("c", true, "c")).await.is_status(
            422,
            "Invalid",
            &format!(
                "ResourceClaim.resource.k8s.io \"c\" is invalid: spec.devices.requests[1].adminAccess: Forbidden: {NEEDS_LABEL}"
            ),
        );
        ask(&server, Method::POST, TEMPLATES, &template("c", true)).await.is_status(
            422,
            "Invalid",
            &format!(
                "ResourceClaimTemplate.resource.k8s.io \"c\" is invalid: spec.devices.requests[1].adminAccess: Forbidden: \
                 {NEEDS_LABEL}"
            ),
        );
        ask(&server, Method::PATCH, &format!("{CLAIMS}/b/status"), &granted).await.is_status(
            422,
            "Invalid",
            &format!(
                "ResourceClaim.resource.k8s.io \"b\" is invalid: status.allocation.devices.results[0].adminAccess: Forbidden: \
                 {NEEDS_LABEL}"
            ),
        );
    }
    // This error comes before those of validation.
    ask(&server, Method::POST, CLAIMS, &claim("c", true, "")).await.is_status(
        422,
        "Invalid",
        &format!(
            "ResourceClaim.resource.k8s.io \"c\" is invalid: [spec.devices.requests[1].adminAccess: Forbidden: {NEEDS_LABEL}, \
             spec.devices.requests[1].exactly.deviceClassName: Required value]"
        ),
    );
    assert_eq!(ask(&server, Method::PATCH, "/api/v1/namespaces/default", &label("true")).await.code, 200);
    for (path, object) in [(CLAIMS, claim("c", true, "c")), (TEMPLATES, template("c", true))] {
        let created = ask(&server, Method::POST, path, &object).await;
        assert_eq!(created.code, 201, "{}", created.body);
    }
    let status = ask(&server, Method::PATCH, &format!("{CLAIMS}/b/status"), &granted).await;
    assert_eq!(status.code, 200, "{}", status.body);
    // Access that was granted stays.
    assert_eq!(ask(&server, Method::PATCH, "/api/v1/namespaces/default", &label("false")).await.code, 200);
    let reserved = json!({"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}]}});
    let status = ask(&server, Method::PATCH, &format!("{CLAIMS}/b/status"), &reserved).await;
    assert_eq!(status.code, 200, "{}", status.body);
}
