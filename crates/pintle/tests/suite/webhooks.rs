//! Webhooks that know tokens and webhooks that allow: real HTTPS servers, and a server that asks them.

use std::time::Duration;

use pintle_outbound::testing::{HttpsServer, Reply, Seen};
use serde_json::{Value, json};

use crate::support::{ALICE, Answer, Launch, MASTER, Server};

const GUARDED: &str = "/metrics";

fn who(seen: &Seen) -> Reply {
    let status = match seen.json()["spec"]["token"].as_str() {
        Some("good") => {
            json!({"authenticated": true, "user": {"username": "ann", "groups": ["system:masters"]}})
        }
        Some("plain") => json!({"authenticated": true, "user": {"username": "bob"}}),
        Some("slow") => return Reply::text(200, "").after(Duration::from_secs(100)),
        Some("garbage") => return Reply::text(200, "<html>"),
        Some("away") => return Reply::text(307, "").with("location", "/elsewhere"),
        _ => json!({"authenticated": false, "error": "never heard of it"}),
    };
    let version = seen.json()["apiVersion"].clone();
    Reply::json(&json!({"apiVersion": version, "kind": "TokenReview", "status": status}))
}

async fn asking_about_tokens(webhook: &HttpsServer, flags: &[&str]) -> Server {
    let launch = Launch::new().tokens().secret("for-the-webhook");
    let file = launch.path("webhook.yaml");
    std::fs::write(&file, webhook.kubeconfig("/tokens")).expect("write a kubeconfig");
    launch
        .arg(format!("--authentication-token-webhook-config-file={}", file.display()))
        .args(flags)
        .start()
        .await
}

async fn ask(server: &Server, token: &str) -> Answer {
    server.client().token(token).get(GUARDED).await
}

#[tokio::test]
async fn a_token_that_nobody_here_knows_is_asked_about() {
    let webhook = HttpsServer::start(who).await;
    let server = asking_about_tokens(&webhook, &[]).await;
    assert_eq!(ask(&server, "good").await.code, 200);
    let message = "forbidden: User \"bob\" cannot get path \"/metrics\"";
    ask(&server, "plain").await.is_status(403, "Forbidden", message);
    ask(&server, "unknown").await.is_status(401, "Unauthorized", "Unauthorized");
    assert_eq!(ask(&server, MASTER).await.code, 200);
    let seen = webhook.seen();
    assert_eq!(seen.len(), 3, "not about tokens that are known here");
    assert_eq!(seen[0].path, "/tokens?timeout=30s");
    assert_eq!(seen[0].json()["apiVersion"], "authentication.k8s.io/v1beta1", "the reference's default");
    for _ in 0..3 {
        assert_eq!(ask(&server, "good").await.code, 200);
    }
    assert_eq!(webhook.seen().len(), 3, "verdicts are kept");
}

#[tokio::test]
async fn a_verdict_is_kept_a_moment_even_if_the_webhook_s_own_are_not() {
    let webhook = HttpsServer::start(who).await;
    let flags = ["--authentication-token-webhook-cache-ttl=0s", "--authentication-token-webhook-version=v1"];
    let server = asking_about_tokens(&webhook, &flags).await;
    for _ in 0..2 {
        assert_eq!(ask(&server, "good").await.code, 200);
        ask(&server, "unknown").await.is_status(401, "Unauthorized", "Unauthorized");
    }
    let asked =
        |token: &str| webhook.seen().iter().filter(|seen| seen.json()["spec"]["token"] == token).count();
    // The cache of all tokens is before it, and keeps no refusals.
    assert_eq!((asked("good"), asked("unknown")), (1, 2));
    assert_eq!(webhook.seen()[0].json()["apiVersion"], "authentication.k8s.io/v1");
}

#[tokio::test]
async fn a_webhook_that_answers_with_anything_else_lets_nobody_in() {
    let webhook = HttpsServer::start(who).await;
    let server = asking_about_tokens(&webhook, &[]).await;
    ask(&server, "garbage").await.is_status(401, "Unauthorized", "Unauthorized");
    ask(&server, "away").await.is_status(401, "Unauthorized", "Unauthorized");
    assert!(webhook.seen().iter().all(|seen| seen.path != "/elsewhere"), "tokens are not sent where it says");
    drop(webhook);
    ask(&server, "other").await.is_status(401, "Unauthorized", "Unauthorized");
    assert_eq!(ask(&server, MASTER).await.code, 200, "those who are known here are not affected");
}

#[tokio::test]
async fn a_webhook_of_another_authority_is_not_told_tokens() {
    let (webhook, other) = (HttpsServer::start(who).await, HttpsServer::start(who).await);
    let launch = Launch::new();
    let file = launch.path("webhook.yaml");
    let text = webhook.kubeconfig("/tokens").replace(&webhook.url("/tokens"), &other.url("/tokens"));
    std::fs::write(&file, text).expect("write a kubeconfig");
    let server =
        launch.arg(format!("--authentication-token-webhook-config-file={}", file.display())).start().await;
    ask(&server, "good").await.is_status(401, "Unauthorized", "Unauthorized");
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn a_kubeconfig_that_cannot_be_used_stops_the_start() {
    let launch = Launch::new();
    let file = launch.path("webhook.yaml");
    let error =
        launch.arg(format!("--authentication-token-webhook-config-file={}", file.display())).fails().await;
    assert!(error.contains("no such file or directory"), "{error}");
}

fn may(seen: &Seen) -> Reply {
    let spec = &seen.json()["spec"];
    let status = match (spec["user"].as_str(), spec["resourceAttributes"]["resource"].as_str()) {
        (Some("alice"), Some("configmaps")) => json!({"allowed": true, "reason": "she may"}),
        (Some("alice"), Some("secrets")) => {
            json!({"allowed": false, "denied": true, "reason": "secrets are secret"})
        }
        (_, Some("pods")) => return Reply::text(404, "lost"),
        _ => json!({"allowed": false, "reason": "not mine"}),
    };
    Reply::json(
        &json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "status": status}),
    )
}

async fn asking_whether(webhook: &HttpsServer, flags: &[&str]) -> Server {
    let launch = Launch::new().tokens();
    let file = launch.path("webhook.yaml");
    std::fs::write(&file, webhook.kubeconfig("/may")).expect("write a kubeconfig");
    launch
        .arg(format!("--authorization-webhook-config-file={}", file.display()))
        .arg("--authorization-webhook-version=v1")
        .args(flags)
        .start()
        .await
}

fn reviews(webhook: &HttpsServer, user: &str) -> Vec<Value> {
    let all = webhook.seen().into_iter().map(|seen| seen.json()["spec"].clone());
    all.filter(|spec| spec["user"] == user).collect()
}

#[tokio::test]
async fn a_webhook_decides_among_others() {
    let webhook = HttpsServer::start(may).await;
    let server = asking_whether(&webhook, &["--authorization-mode=Webhook,RBAC"]).await;
    let alice = server.client().token(ALICE);
    let path = "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da&labelSelector=b";
    assert_eq!(alice.get(path).await.code, 200);
    let spec = reviews(&webhook, "alice").pop().expect("a review");
    assert_eq!(spec["resourceAttributes"]["verb"], "list");
    assert_eq!(
        spec["resourceAttributes"]["fieldSelector"],
        json!({"requirements": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]})
    );
    assert_eq!(
        spec["resourceAttributes"]["labelSelector"],
        json!({"requirements": [{"key": "b", "operator": "Exists"}]})
    );
    let message = "secrets is forbidden: User \"alice\" cannot list resource \"secrets\" in API group \"\" in the namespace \
                   \"default\": secrets are secret";
    alice.get("/api/v1/namespaces/default/secrets").await.is_status(403, "Forbidden", message);
    let answer = alice.get("/api/v1/namespaces/default/services").await;
    assert_eq!(answer.code, 403);
    assert!(answer.body.contains("not mine"), "all reasons are told: {}", answer.body);
    assert_eq!(server.client().token(MASTER).get("/api/v1/secrets").await.code, 200);
    assert!(reviews(&webhook, "root").is_empty(), "the administrator is not asked about");
    let metrics = server.client().token(MASTER).get("/metrics").await.body;
    let line = "apiserver_authorization_webhook_evaluations_total{name=\"webhook\",result=\"success\"}";
    assert!(metrics.contains(line), "{line}");
}

#[tokio::test]
async fn a_webhook_that_fails_is_an_internal_error_unless_somebody_else_allows() {
    let webhook = HttpsServer::start(may).await;
    let server = asking_whether(&webhook, &["--authorization-mode=Webhook"]).await;
    let answer = server.client().token(ALICE).get("/api/v1/namespaces/default/pods").await;
    assert_eq!(answer.code, 500, "{}", answer.body);
    assert!(answer.body.contains("the server could not find the requested resource"), "{}", answer.body);
    assert_eq!(server.client().token(MASTER).get("/api/v1/pods").await.code, 200);
}
