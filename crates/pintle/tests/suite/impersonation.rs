//! Impersonation by clients, with the plain and the constrained permissions.

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{ALICE, Answer, Client, Launch, MASTER, Server};

async fn who_am_i(client: &Client, headers: &[(&str, &str)]) -> Answer {
    let body = r#"{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}"#;
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let headers = [headers, &[("content-type", "application/json")]].concat();
    client.request(Method::POST, path, &headers, body).await
}

async fn create(server: &Server, path: &str, object: &Value) {
    let json = [("content-type", "application/json")];
    let created = server.client().token(MASTER).request(Method::POST, path, &json, object.to_string()).await;
    assert_eq!(created.code, 201, "{}", created.body);
}

/// Gives alice some rights.
async fn grant(server: &Server, name: &str, rules: Value) {
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({ "metadata": { "name": name }, "rules": rules });
    create(server, &format!("{rbac}/clusterroles"), &role).await;
    let binding = json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" }],
    });
    create(server, &format!("{rbac}/clusterrolebindings"), &binding).await;
}

#[tokio::test]
async fn an_administrator_may_be_anybody() {
    let server = Launch::new().tokens().start().await;
    ready(&server).await;
    let root = server.client().token(MASTER);
    let headers = [
        ("impersonate-user", "carol"),
        ("impersonate-group", "a"),
        ("impersonate-group", "system:authenticated"),
        ("impersonate-uid", "7"),
        ("impersonate-extra-acme.com%2Fscope", "x"),
    ];
    let carol = who_am_i(&root, &headers).await;
    assert_eq!(carol.code, 201, "{}", carol.body);
    assert_eq!(
        carol.json()["status"]["userInfo"],
        json!({
            "username": "carol",
            "uid": "7",
            "groups": ["a", "system:authenticated"],
            "extra": { "acme.com/scope": ["x"] },
        })
    );
    let refused = root.request(Method::GET, "/metrics", &[("impersonate-user", "carol")], "").await;
    refused.is_status(403, "Forbidden", "forbidden: User \"carol\" cannot get path \"/metrics\"");
}

#[tokio::test]
async fn impersonation_needs_every_permission() {
    let server = Launch::new().tokens().start().await;
    ready(&server).await;
    let alice = server.client().token(ALICE);
    for headers in [
        vec![("impersonate-user", "root")],
        vec![("impersonate-user", "alice"), ("impersonate-group", "system:masters")],
        vec![("impersonate-user", "system:admin")],
        vec![("Impersonate-User", "alice")],
    ] {
        let refused = who_am_i(&alice, &headers).await;
        assert_eq!(refused.code, 403, "{headers:?}: {}", refused.body);
    }
    let refused = who_am_i(&alice, &[("impersonate-group", "system:masters")]).await;
    assert_eq!(refused.code, 400, "{}", refused.body);
    let rule = json!([{ "apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"],
                        "resourceNames": ["bob"] }]);
    grant(&server, "be-bob", rule).await;
    let bob = who_am_i(&alice, &[("impersonate-user", "bob")]).await;
    assert_eq!(bob.json()["status"]["userInfo"]["username"], "bob", "{}", bob.body);
    who_am_i(&alice, &[("impersonate-user", "carol")]).await.is_status(
        403,
        "Forbidden",
        "users \"carol\" is forbidden: User \"alice\" cannot impersonate resource \"users\" in API group \"\" at the \
         cluster scope",
    );
    let refused =
        who_am_i(&alice, &[("impersonate-user", "bob"), ("impersonate-group", "system:masters")]).await;
    assert_eq!(refused.code, 403, "{}", refused.body);
}

#[tokio::test]
async fn constrained_impersonation_is_for_single_deeds_and_can_be_turned_off() {
    let rules = json!([
        { "apiGroups": ["authentication.k8s.io"], "resources": ["users"], "resourceNames": ["bob"],
          "verbs": ["impersonate:user-info"] },
        { "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"],
          "verbs": ["impersonate-on:user-info:create"] },
    ]);
    for (gate, code) in [("true", 201), ("false", 403)] {
        let flag = format!("--feature-gates=ConstrainedImpersonation={gate}");
        let server = Launch::new().tokens().arg(flag).start().await;
        ready(&server).await;
        grant(&server, "be-bob", rules.clone()).await;
        let alice = server.client().token(ALICE);
        let bob = who_am_i(&alice, &[("impersonate-user", "bob")]).await;
        assert_eq!(bob.code, code, "{gate}: {}", bob.body);
        let other = alice.request(Method::GET, "/api/v1/pods", &[("impersonate-user", "bob")], "").await;
        assert_eq!(other.code, 403, "another deed");
    }
}
