//! The authorizer against real webhooks.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use pintle_meta::selector::{field, label};
use pintle_outbound::testing::{HttpsServer, Reply};
use pintle_outbound::webhook::Backoff;
use pintle_outbound::{ClientOptions, Kubeconfig};
use serde_json::{Value, json};

use pintle_runtime::Clock;

use super::*;
use crate::authorizer::Selector;

fn options() -> WebhookOptions {
    WebhookOptions {
        name: "hook".into(),
        version: Version::V1,
        allowed_ttl: Duration::from_secs(60),
        denied_ttl: Duration::from_secs(60),
        on_error: Decision::NoOpinion,
        selectors: true,
    }
}

fn authorizer(server: &HttpsServer, options: WebhookOptions) -> WebhookAuthorizer {
    with_events(server, options, None)
}

fn with_events(
    server: &HttpsServer,
    options: WebhookOptions,
    events: Option<Arc<dyn WebhookEvents>>,
) -> WebhookAuthorizer {
    let kubeconfig = Kubeconfig::parse(server.kubeconfig("/authorize").as_bytes(), Path::new("/")).unwrap();
    let backoff = Backoff { first: Duration::from_millis(1), ..Backoff::default() };
    let client = ClientOptions { timeout: Duration::from_millis(500), ..ClientOptions::default() };
    let webhook = Webhook::from_kubeconfig(&kubeconfig, client, backoff).unwrap();
    WebhookAuthorizer::new(webhook, options, None, events, Clock::system())
}

fn user() -> User {
    User {
        name: "jane".into(),
        uid: "u1".into(),
        groups: vec!["a".into(), "b".into()],
        extra: [("scope".to_owned(), vec!["x".to_owned()])].into(),
    }
}

fn says(status: Value) -> Reply {
    Reply::json(
        &json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "status": status}),
    )
}

async fn verdict(reply: Reply, options: WebhookOptions) -> Verdict {
    let server = HttpsServer::start(move |_| reply.clone()).await;
    let user = user();
    authorizer(&server, options).authorize(&Attributes::of_resource(&user, "get", "", "pods")).await
}

#[tokio::test]
async fn the_answer_of_the_webhook_is_the_verdict() {
    let ask = async |status| verdict(says(status), options()).await;
    assert_eq!(ask(json!({"allowed": true, "reason": "why not"})).await, Verdict::allow("why not"));
    assert_eq!(ask(json!({"allowed": false, "reason": "no"})).await, Verdict::no_opinion("no"));
    assert_eq!(
        ask(json!({"allowed": false, "denied": true, "reason": "never"})).await,
        Verdict::deny("never")
    );
    let both = ask(json!({"allowed": true, "denied": true})).await;
    assert_eq!(both.decision, Decision::Deny);
    assert_eq!(
        both.error.as_deref(),
        Some("webhook subject access review returned both allow and deny response")
    );
    assert_eq!(ask(Value::Null).await, Verdict::no_opinion(""));
}

#[tokio::test]
async fn a_review_has_all_attributes() {
    let server = HttpsServer::start(|_| says(json!({"allowed": true}))).await;
    let user = user();
    let fields = [field::Requirement {
        field: "spec.nodeName".into(),
        operator: field::Operator::Equals,
        value: "n1".into(),
    }];
    let labels = label::Selector::parse("a in (x,y),!b,c>1").unwrap();
    let attributes = Attributes {
        namespace: "ns",
        version: "v1",
        subresource: "log",
        name: "p",
        field_selector: Selector::Requirements(&fields),
        label_selector: Selector::Requirements(labels.requirements().unwrap()),
        ..Attributes::of_resource(&user, "get", "apps", "pods")
    };
    assert!(authorizer(&server, options()).authorize(&attributes).await.is_allowed());
    let spec = json!({
        "resourceAttributes": {
            "namespace": "ns", "verb": "get", "group": "apps", "version": "v1", "resource": "pods", "subresource": "log",
            "name": "p",
            "fieldSelector": {"requirements": [{"key": "spec.nodeName", "operator": "In", "values": ["n1"]}]},
            "labelSelector": {"requirements": [
                {"key": "a", "operator": "In", "values": ["x", "y"]},
                {"key": "b", "operator": "DoesNotExist"},
            ]},
        },
        "user": "jane", "groups": ["a", "b"], "extra": {"scope": ["x"]}, "uid": "u1",
    });
    let sent = server.seen()[0].json();
    assert_eq!(
        sent,
        json!({
            "kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": spec,
            "status": {"allowed": false},
        })
    );
    let without = WebhookOptions { selectors: false, ..options() };
    authorizer(&server, without).authorize(&attributes).await;
    let sent = server.seen()[1].json();
    assert!(sent["spec"]["resourceAttributes"].get("fieldSelector").is_none(), "{sent}");
}

#[tokio::test]
async fn the_earlier_version_calls_the_groups_group() {
    let reply = json!({"apiVersion": "authorization.k8s.io/v1beta1", "kind": "SubjectAccessReview", "status": {"allowed": true}});
    let server = HttpsServer::start(move |_| Reply::json(&reply)).await;
    let beta = WebhookOptions { version: Version::V1beta1, ..options() };
    let user = user();
    assert!(authorizer(&server, beta).authorize(&Attributes::of_path(&user, "get", "/x")).await.is_allowed());
    let sent = server.seen()[0].json();
    assert_eq!(
        sent["spec"],
        json!({
            "nonResourceAttributes": {"path": "/x", "verb": "get"}, "user": "jane", "group": ["a", "b"],
            "extra": {"scope": ["x"]}, "uid": "u1",
        })
    );
    assert_eq!(sent["apiVersion"], "authorization.k8s.io/v1beta1");
}

#[tokio::test]
async fn answers_are_cached_by_user_and_attributes() {
    let server = HttpsServer::start(|_| says(json!({"allowed": true}))).await;
    let authorizer = authorizer(&server, options());
    let (jane, mut john) = (user(), user());
    let pods = Attributes::of_resource(&jane, "get", "", "pods");
    for _ in 0..3 {
        assert!(authorizer.authorize(&pods).await.is_allowed());
    }
    assert_eq!(server.seen().len(), 1);
    authorizer.authorize(&Attributes { name: "p", ..pods.clone() }).await;
    assert_eq!(server.seen().len(), 2);
    john.groups.pop();
    authorizer.authorize(&Attributes { user: &john, ..pods.clone() }).await;
    assert_eq!(server.seen().len(), 3, "who is in other groups is asked for anew");
    let long = "x".repeat(10_000);
    for _ in 0..2 {
        authorizer.authorize(&Attributes { name: &long, ..pods.clone() }).await;
    }
    assert_eq!(server.seen().len(), 5, "what is too long is not kept");
}

#[tokio::test]
async fn refusals_and_permissions_live_as_long_as_they_may() {
    for (allowed, expect) in [(true, 1), (false, 2)] {
        let server = HttpsServer::start(move |_| says(json!({"allowed": allowed}))).await;
        let authorizer = authorizer(&server, WebhookOptions { denied_ttl: Duration::ZERO, ..options() });
        let user = user();
        for _ in 0..2 {
            authorizer.authorize(&Attributes::of_resource(&user, "get", "", "pods")).await;
        }
        assert_eq!(server.seen().len(), expect);
    }
}

#[derive(Default)]
struct Recorded(Mutex<Vec<String>>);

impl WebhookEvents for Recorded {
    fn evaluated(&self, webhook: &str, result: &'static str, _: Duration) {
        self.0.lock().unwrap().push(format!("{webhook} {result}"));
    }

    fn conditions_evaluated(&self, webhook: &str, matched: &Result<bool, String>, _: Duration) {
        self.0.lock().unwrap().push(format!("{webhook} {matched:?}"));
    }

    fn failed_open(&self, webhook: &str, result: &'static str) {
        self.0.lock().unwrap().push(format!("{webhook} open {result}"));
    }
}

#[tokio::test]
async fn a_failed_webhook_decides_as_configured() {
    for (on_error, expect) in [
        (Decision::NoOpinion, vec!["hook timeout", "hook open timeout"]),
        (Decision::Deny, vec!["hook timeout"]),
    ] {
        let server =
            HttpsServer::start(|_| says(json!({"allowed": true})).after(Duration::from_secs(60))).await;
        let events = Arc::new(Recorded::default());
        let authorizer = with_events(&server, WebhookOptions { on_error, ..options() }, Some(events.clone()));
        let user = user();
        let verdict = authorizer.authorize(&Attributes::of_resource(&user, "get", "", "pods")).await;
        assert_eq!(verdict.decision, on_error);
        let error = verdict.error.unwrap();
        let end = "/authorize?timeout=500ms\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
        assert!(error.starts_with("Post \"https://127.0.0.1:") && error.ends_with(end), "{error}");
        assert_eq!(*events.0.lock().unwrap(), expect);
    }
}

#[tokio::test]
async fn a_transient_failure_is_not_cached() {
    let count = AtomicUsize::new(0);
    let server = HttpsServer::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => Reply::text(500, "not yet"),
        _ => says(json!({"allowed": true})),
    })
    .await;
    let events = Arc::new(Recorded::default());
    let authorizer = with_events(&server, options(), Some(events.clone()));
    let user = user();
    assert!(authorizer.authorize(&Attributes::of_resource(&user, "get", "", "pods")).await.is_allowed());
    assert_eq!(*events.0.lock().unwrap(), ["hook error", "hook error", "hook success"]);
}

#[tokio::test]
async fn a_malformed_answer_allows_nothing_and_is_not_cached() {
    for reply in [
        Reply::text(200, "yes"),
        Reply::json(&json!({"status": {"allowed": "yes"}})),
        Reply::json(&json!({"kind": "TokenReview", "status": {"allowed": true}})),
        Reply::json(&json!({"apiVersion": "authorization.k8s.io/v1beta1", "status": {"allowed": true}})),
        Reply::text(302, "").with("location", "https://127.0.0.1:1/"),
    ] {
        let shown = format!("{reply:?}");
        let verdict = verdict(reply, options()).await;
        assert_eq!(verdict.decision, Decision::NoOpinion, "{shown}");
        assert!(verdict.error.is_some(), "{shown}");
    }
}

#[tokio::test]
async fn a_webhook_cannot_list_the_rules_of_a_user() {
    let server = HttpsServer::start(|_| says(json!({"allowed": true}))).await;
    let mut rules = Rules::default();
    authorizer(&server, options()).add_rules(&user(), "ns", &mut rules).await;
    assert!(rules.incomplete);
    assert_eq!(rules.errors, ["webhook authorizer does not support user rule resolution"]);
}
