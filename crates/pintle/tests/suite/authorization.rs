//! Authorization: the permissions of authenticated users, and the messages of rejections.

use http::Method;
use serde_json::json;

use crate::support::{ALICE, Answer, Launch};

#[tokio::test]
async fn strangers_are_refused_in_the_reference_s_words() {
    let server = Launch::new().start().await;
    let anonymous = "User \"system:anonymous\" cannot";
    for (method, path, details, message) in [
        (Method::GET, "/", json!({}), format!("forbidden: {anonymous} get path \"/\"")),
        (Method::GET, "/metrics", json!({}), format!("forbidden: {anonymous} get path \"/metrics\"")),
        (Method::GET, "/nope", json!({}), format!("forbidden: {anonymous} get path \"/nope\"")),
        (Method::POST, "/version", json!({}), format!("forbidden: {anonymous} post path \"/version\"")),
        (Method::GET, "/readyz/etcd", json!({}), format!("forbidden: {anonymous} get path \"/readyz/etcd\"")),
        (
            Method::GET,
            "/pintle/snapshot",
            json!({}),
            format!("forbidden: {anonymous} get path \"/pintle/snapshot\""),
        ),
        (
            Method::GET,
            "/api/v1/namespaces/a/configmaps",
            json!({"kind": "configmaps"}),
            format!(
                "configmaps is forbidden: {anonymous} list resource \"configmaps\" in API group \"\" in the namespace \"a\""
            ),
        ),
        (
            Method::POST,
            "/api/v1/namespaces/a/configmaps",
            json!({"kind": "configmaps"}),
            format!(
                "configmaps is forbidden: {anonymous} create resource \"configmaps\" in API group \"\" in the namespace \"a\""
            ),
        ),
        (
            Method::GET,
            "/apis/nope.io/v1/foos",
            json!({"group": "nope.io", "kind": "foos"}),
            format!(
                "foos.nope.io is forbidden: {anonymous} list resource \"foos\" in API group \"nope.io\" at the cluster scope"
            ),
        ),
    ] {
        let answer = server.client().request(method, path, &[], "").await;
        answer.is_status(403, "Forbidden", &message);
        assert_eq!(answer.json()["details"], details, "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
}

#[tokio::test]
async fn users_without_rights_are_refused_by_name() {
    let server = Launch::new().tokens().start().await;
    let ask = async |method: Method, path: &str| -> Answer {
        server.client().token(ALICE).request(method, path, &[], "").await
    };
    let namespaced = "in the namespace \"a\"";
    ask(Method::DELETE, "/api/v1/namespaces/a/configmaps/x").await.is_status(
        403,
        "Forbidden",
        &format!("configmaps \"x\" is forbidden: User \"alice\" cannot delete resource \"configmaps\" in API group \"\" {namespaced}"),
    );
    ask(Method::DELETE, "/api/v1/namespaces/a/configmaps").await.is_status(
        403,
        "Forbidden",
        &format!("configmaps is forbidden: User \"alice\" cannot deletecollection resource \"configmaps\" in API group \"\" {namespaced}"),
    );
    ask(Method::GET, "/api/v1/nodes").await.is_status(
        403,
        "Forbidden",
        "nodes is forbidden: User \"alice\" cannot list resource \"nodes\" in API group \"\" at the cluster scope",
    );
    let scale = ask(Method::PUT, "/apis/apps/v1/namespaces/a/deployments/x/scale").await;
    scale.is_status(
        403,
        "Forbidden",
        &format!("deployments.apps \"x\" is forbidden: User \"alice\" cannot update resource \"deployments/scale\" in API group \"apps\" {namespaced}"),
    );
    assert_eq!(scale.json()["details"], json!({"group": "apps", "kind": "deployments", "name": "x"}));
    ask(Method::GET, "/logs/").await.is_status(
        403,
        "Forbidden",
        "forbidden: User \"alice\" cannot get path \"/logs/\"",
    );
}

#[tokio::test]
async fn a_refusal_cannot_be_read_as_html() {
    let server = Launch::new().start().await;
    let answer = server.client().get("/%3Cscript%3Ealert(1)%3C/script%3E").await;
    assert_eq!(answer.code, 403);
    assert!(!answer.body.contains("<script>"), "{}", answer.body);
    assert_eq!(answer.header("content-type"), "application/json");
}

#[tokio::test]
async fn health_and_version_are_for_everyone() {
    let server = Launch::new().start().await;
    for path in ["/healthz", "/livez", "/readyz", "/version", "/version/", "/readyz?verbose"] {
        for client in [server.client(), server.client().http2()] {
            assert_eq!(client.get(path).await.code, 200, "{path}");
        }
    }
}

/// A user that binds a role must hold its permissions. An invalid name of a role is rejected before the role is looked up.
#[tokio::test]
async fn bindings_to_roles_that_cannot_be_are_bad_requests() {
    let server = Launch::new().tokens().arg("--authorization-mode=RBAC").start().await;
    server.until_it_has_namespaces().await;
    let (admin, alice) = (server.admin(), server.client().token(ALICE));
    let json = [("content-type", "application/json")];
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role =
        |kind: &str, name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
    let binding = |role: serde_json::Value| {
        let alice = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"});
        json!({"metadata": {"name": "b"}, "roleRef": role, "subjects": [alice]}).to_string()
    };
    let rule = json!({"apiGroups": ["*"], "resources": ["clusterrolebindings", "rolebindings"], "verbs": ["create"]});
    let creator = json!({"metadata": {"name": "creator"}, "rules": [rule]}).to_string();
    admin.request(Method::POST, &format!("{rbac}/clusterroles"), &json, creator).await.gives(201);
    let path = format!("{rbac}/clusterrolebindings");
    admin.request(Method::POST, &path, &json, binding(role("ClusterRole", "creator"))).await.gives(201);
    for (path, role, message) in [
        ("clusterrolebindings", role("Role", "x"), "Namespace parameter required."),
        ("clusterrolebindings", role("ClusterRole", ""), "Name parameter required."),
        ("namespaces/default/rolebindings", role("Role", ""), "Name parameter required."),
        (
            "namespaces/default/rolebindings",
            role("Role", "a/b"),
            "Name parameter invalid: \"a/b\": may not contain '/'",
        ),
    ] {
        let answer = alice.request(Method::POST, &format!("{rbac}/{path}"), &json, binding(role)).await;
        answer.is_status(400, "BadRequest", message);
    }
}
