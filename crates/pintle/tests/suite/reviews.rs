//! Questions about access, asked of the server.

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{ALICE, Answer, Launch, MASTER, Server};

const ACCESS: &str = "/apis/authorization.k8s.io/v1";
const IDENTITY: &str = "/apis/authentication.k8s.io/v1";

async fn post(server: &Server, token: &str, path: &str, object: &Value) -> Answer {
    let json = [("content-type", "application/json")];
    server.client().token(token).request(Method::POST, path, &json, object.to_string()).await
}

async fn started() -> Server {
    let server = Launch::new().tokens().start().await;
    ready(&server).await;
    let binding = json!({
        "metadata": { "name": "alice-views" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" }],
    });
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    assert_eq!(post(&server, MASTER, path, &binding).await.code, 201);
    server
}

fn about(verb: &str, resource: &str) -> Value {
    json!({ "verb": verb, "resource": resource, "namespace": "default" })
}

#[tokio::test]
async fn reviews_say_whether_and_why() {
    let server = started().await;
    let mine = async |verb: &str, resource: &str| {
        let review = json!({ "spec": { "resourceAttributes": about(verb, resource) } });
        let answer = post(&server, ALICE, &format!("{ACCESS}/selfsubjectaccessreviews"), &review).await;
        assert_eq!(answer.code, 201, "{}", answer.body);
        answer.json()["status"].clone()
    };
    assert_eq!(
        mine("list", "pods").await,
        json!({
            "allowed": true,
            "reason": "RBAC: allowed by RoleBinding \"alice-views/default\" of ClusterRole \"view\" to User \"alice\"",
        })
    );
    assert_eq!(mine("delete", "pods").await, json!({ "allowed": false }));
    assert_eq!(mine("get", "secrets").await, json!({ "allowed": false }));

    let review = json!({ "spec": { "user": "alice", "resourceAttributes": about("get", "pods") } });
    let path = format!("{ACCESS}/subjectaccessreviews");
    assert_eq!(post(&server, MASTER, &path, &review).await.json()["status"]["allowed"], true);
    post(&server, ALICE, &path, &review).await.is_status(
        403,
        "Forbidden",
        "subjectaccessreviews.authorization.k8s.io is forbidden: User \"alice\" cannot create resource \
         \"subjectaccessreviews\" in API group \"authorization.k8s.io\" at the cluster scope",
    );
    let path = format!("{ACCESS}/namespaces/default/localsubjectaccessreviews");
    assert_eq!(post(&server, MASTER, &path, &review).await.json()["status"]["allowed"], true);
    let elsewhere =
        json!({ "spec": { "user": "alice", "resourceAttributes": { "verb": "get", "namespace": "other" } } });
    let refused = post(&server, MASTER, &path, &elsewhere).await;
    assert_eq!(refused.code, 422, "{}", refused.body);
    assert!(refused.body.contains("must match metadata.namespace"), "{}", refused.body);
}

#[tokio::test]
async fn paths_and_groups_are_reviewed_too() {
    let server = started().await;
    let path = format!("{ACCESS}/subjectaccessreviews");
    let may = async |spec: Value| {
        let answer = post(&server, MASTER, &path, &json!({ "spec": spec })).await;
        assert_eq!(answer.code, 201, "{}", answer.body);
        answer.json()["status"]["allowed"] == true
    };
    let get = |path: &str| json!({ "verb": "get", "path": path });
    assert!(
        may(json!({ "groups": ["system:unauthenticated"], "nonResourceAttributes": get("/healthz") })).await
    );
    assert!(
        may(
            json!({ "user": "x", "groups": ["system:authenticated"], "nonResourceAttributes": get("/apis") })
        )
        .await
    );
    assert!(!may(json!({ "user": "x", "nonResourceAttributes": get("/apis") })).await);
    assert!(may(json!({ "groups": ["system:masters"], "nonResourceAttributes": get("/metrics") })).await);
}

#[tokio::test]
async fn rules_are_listed_for_a_namespace() {
    let server = started().await;
    let path = format!("{ACCESS}/selfsubjectrulesreviews");
    let answer = post(&server, ALICE, &path, &json!({ "spec": { "namespace": "default" } })).await.json();
    let rules = answer["status"]["resourceRules"].as_array().expect("rules").clone();
    let reads_pods = |rule: &Value| {
        let has =
            |field: &str, text: &str| rule[field].as_array().is_some_and(|all| all.contains(&text.into()));
        has("resources", "pods") && has("verbs", "watch")
    };
    assert!(rules.iter().any(reads_pods), "{answer}");
    let elsewhere =
        post(&server, ALICE, &path, &json!({ "spec": { "namespace": "kube-system" } })).await.json();
    assert!(!elsewhere["status"]["resourceRules"].as_array().expect("rules").iter().any(reads_pods));
    post(&server, ALICE, &path, &json!({ "spec": {} })).await.is_status(
        400,
        "BadRequest",
        "no namespace on request",
    );
}

#[tokio::test]
async fn a_token_is_reviewed_as_if_it_had_come_by_itself() {
    let server = started().await;
    let path = format!("{IDENTITY}/tokenreviews");
    let of = async |token: &str| {
        let answer = post(&server, MASTER, &path, &json!({ "spec": { "token": token } })).await;
        assert_eq!(answer.code, 201, "{}", answer.body);
        answer.json()["status"].clone()
    };
    let alice = of(ALICE).await;
    assert_eq!(alice["authenticated"], true);
    assert_eq!(alice["user"]["username"], "alice");
    assert_eq!(alice["user"]["groups"], json!(["dev", "system:authenticated"]));
    assert_eq!(of("nobody").await, json!({ "user": {}, "error": "invalid bearer token" }));
    assert_eq!(of(&"x".repeat(1 << 20)).await["error"], "invalid bearer token");
    let message = "token is required for TokenReview in authentication";
    post(&server, MASTER, &path, &json!({ "spec": {} })).await.is_status(400, "BadRequest", message);
}
