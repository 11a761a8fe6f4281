//! Webhooks that cannot be asked, or whose answers are none.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::*;
use crate::configuration::Configurations;
use crate::notes::AuditLevel;

const RESOURCE: Resource = Resource::ValidatingWebhookConfiguration;

/// Returns the rejection by a validating webhook that answers so, after the begin that all of them have; and what is the same for
/// a mutating one.
async fn failure(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static, fields: Value) -> String {
    let server = HttpsServer::start(answer).await;
    let fixture = Fixture::new().await;
    fixture.configure(RESOURCE, "c", &[with(hook("a.io", &server, "/"), fields)]).await;
    let message = fixture.rejection(&fixture.validating()).await.expect("a rejection");
    let rest = message.strip_prefix("Internal error occurred: failed calling webhook \"a.io\": ");
    let rest = rest.unwrap_or_else(|| panic!("{message}"));
    rest.replace(&server.url("/"), "https://hook/")
}

fn answer(value: Value) -> impl Fn(&Seen) -> Reply + Send + Sync + 'static {
    move |seen| {
        let mut value = value.clone();
        if value["response"]["uid"] == "same" {
            value["response"]["uid"] = seen.json()["request"]["uid"].clone();
        }
        Reply::json(&value)
    }
}

#[tokio::test]
async fn an_answer_that_is_no_review_is_a_failure_in_the_reference_s_words() {
    let review = |version: &str, response: Value| {
        answer(json!({"apiVersion": version, "kind": "AdmissionReview", "response": response}))
    };
    let v1 = "admission.k8s.io/v1";
    let check = async |found: String, expect: &str| assert_eq!(found, expect);
    check(
        failure(review(v1, json!(null)), json!({})).await,
        "received invalid webhook response: webhook response was absent",
    )
    .await;
    let wrong = failure(review(v1, json!({"allowed": true, "uid": "x"})), json!({})).await;
    assert!(wrong.starts_with("received invalid webhook response: expected response.uid=\""), "{wrong}");
    assert!(wrong.ends_with("\", got \"x\""), "{wrong}");
    check(
        failure(answer(json!({"response": {"allowed": true, "uid": "same"}})), json!({})).await,
        "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
    )
    .await;
    check(
        failure(review("admission.k8s.io/v1beta1", json!({"allowed": true, "uid": "same"})), json!({})).await,
        "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
    )
    .await;
    check(
        failure(review(v1, json!({"allowed": true, "uid": "same", "patch": "W10="})), json!({})).await,
        "received invalid webhook response: validating webhook may not return response.patch",
    )
    .await;
    check(
        failure(review(v1, json!({"allowed": true, "uid": "same", "patchType": "JSONPatch"})), json!({}))
            .await,
        "received invalid webhook response: validating webhook may not return response.patchType",
    )
    .await;
    check(
        failure(|_| Reply::text(200, ""), json!({})).await,
        "failed to call webhook: 0-length response with status code: 200 and content type: text/plain",
    )
    .await;
    check(
        failure(|_| Reply::text(500, "oops"), json!({})).await,
        "failed to call webhook: an error on the server (\"oops\") has prevented the request from succeeding",
    )
    .await;
    check(
        failure(|_| Reply::text(404, "gone"), json!({})).await,
        "failed to call webhook: the server could not find the requested resource",
    )
    .await;
    check(
        failure(answer(json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 409, "message": "busy"})), json!({})).await,
        "failed to call webhook: busy",
    )
    .await;
    check(
        failure(allow, json!({"admissionReviewVersions": ["v2"]})).await,
        "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
    )
    .await;
    let garbage = failure(|_| Reply::text(200, "{\"kind\": 1}"), json!({})).await;
    assert!(
        garbage.starts_with("failed to call webhook: couldn't get version/kind; json parse error: "),
        "{garbage}"
    );
    let other = failure(answer(json!({"apiVersion": "v1", "kind": "Pod"})), json!({})).await;
    assert!(
        other.starts_with(
            "failed to call webhook: no kind \"Pod\" is registered for version \"v1\" in scheme"
        ),
        "{other}"
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = HttpsServer::start(allow).await;
    let location = elsewhere.url("/");
    let found = failure(move |_| Reply::text(302, "").with("location", &location), json!({})).await;
    assert_eq!(
        found,
        "failed to call webhook: the server responded with the status code 302 but did not return more information"
    );
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn an_oversized_answer_is_not_read_to_its_end() {
    let found = failure(|_| Reply::text(200, &"x".repeat((16 << 20) + 1)), json!({})).await;
    assert_eq!(
        found,
        "failed to call webhook: unexpected error when reading response body. Please retry. Original error: the answer is longer \
         than 16777216 bytes"
    );
}

#[tokio::test]
async fn a_webhook_that_cannot_be_reached_or_trusted_is_a_failure() {
    let refused = failure(allow, json!({"clientConfig": {"url": "https://127.0.0.1:1/"}})).await;
    assert_eq!(
        refused,
        "failed to call webhook: Post \"https://127.0.0.1:1/?timeout=10s\": dial tcp 127.0.0.1:1: connect: connection refused"
    );
    let untrusted = HttpsServer::start(allow).await;
    let found = failure(allow, json!({"clientConfig": {"url": untrusted.url("/")}})).await;
    assert!(found.contains("tls: failed to verify certificate: x509:"), "{found}");
    let service = json!({"clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/p"}}});
    assert_eq!(
        failure(allow, service).await,
        "failed to call webhook: Post \"https://s.n.svc:443/p?timeout=10s\": service \"s\" not found"
    );
    let unset = failure(allow, json!({"clientConfig": {}})).await;
    assert_eq!(
        unset,
        "could not get REST client: failed calling webhook \"a.io\": webhook configuration must have either service or URL"
    );
}

#[tokio::test]
async fn a_slow_webhook_has_its_own_time_and_that_of_the_request() {
    let slow = |seen: &Seen| allow(seen).after(Duration::from_secs(20));
    let found = failure(slow, json!({"timeoutSeconds": 1})).await;
    assert_eq!(found, "failed to call webhook: Post \"https://hook/?timeout=1s\": context deadline exceeded");

    let server = HttpsServer::start(slow).await;
    let fixture = Fixture::new().await;
    fixture.configure(RESOURCE, "c", &[hook("a.io", &server, "/")]).await;
    let mut case = fixture.pod();
    case.request.deadline = Some(Instant::now() + Duration::from_millis(300));
    let message = case.clone().run(&fixture.validating()).await.message().unwrap();
    assert!(message.ends_with("?timeout=1s\": context deadline exceeded"), "{message}");
    let status = match case.run(&fixture.validating()).await {
        Outcome::Rejected(status) => status,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (status.code, status.message.as_str()),
        (504, "Timeout: request did not complete within requested timeout")
    );
}

#[tokio::test]
async fn an_ignored_failure_is_counted_and_annotated() {
    let server = HttpsServer::start(|_| Reply::text(500, "no")).await;
    let fixture = Fixture::new().await;
    let ignoring = with(hook("a.io", &server, "/"), json!({"failurePolicy": "Ignore"}));
    for resource in [RESOURCE, Resource::MutatingWebhookConfiguration] {
        fixture.configure(resource, "c", std::slice::from_ref(&ignoring)).await;
    }
    let case = fixture.pod();
    let notes = case.request.notes.clone();
    assert!(matches!(case.clone().run(&fixture.validating()).await, Outcome::Admitted(_)));
    assert!(matches!(case.run(&fixture.mutating()).await, Outcome::Admitted(_)));
    let annotations = notes.annotations(AuditLevel::Metadata);
    for key in [
        "failed-open.validating.webhook.admission.k8s.io/round_0_index_0",
        "failed-open.mutation.webhook.admission.k8s.io/round_0_index_0",
    ] {
        assert_eq!(annotations[key], "a.io");
    }
    let metrics = fixture.metrics();
    for expect in [
        r#"webhook_fail_open_count{name="a.io",type="validating"} 1"#,
        r#"webhook_fail_open_count{name="a.io",type="admit"} 1"#,
        r#"webhook_request_total{code="500",name="a.io",operation="CREATE",rejected="false",type="admit"} 1"#,
        r#"webhook_admission_duration_seconds_count{name="a.io",operation="CREATE",rejected="false",type="validating"} 1"#,
    ] {
        assert!(metrics.contains(expect), "{expect}\n{metrics}");
    }
    assert!(!metrics.contains("webhook_rejection_count{"), "{metrics}");
}

#[tokio::test]
async fn a_dry_run_is_only_shown_to_webhooks_without_side_effects() {
    let server = HttpsServer::start(allow).await;
    let fixture = Fixture::new().await;
    let plugin = fixture.validating();
    for (effects, expect) in [
        (json!("None"), None),
        (json!("NoneOnDryRun"), None),
        (json!("Some"), Some("admission webhook \"a.io\" does not support dry run")),
        (json!("Unknown"), Some("admission webhook \"a.io\" does not support dry run")),
        (
            json!(null),
            Some("Internal error occurred: failed calling webhook \"a.io\": Webhook SideEffects is nil"),
        ),
    ] {
        fixture
            .configure(RESOURCE, "c", &[with(hook("a.io", &server, "/"), json!({"sideEffects": effects}))])
            .await;
        let mut case = fixture.pod();
        case.request.dry_run = true;
        assert_eq!(case.run(&plugin).await.message().as_deref(), expect, "{effects}");
        assert_eq!(fixture.rejection(&plugin).await, None, "{effects} without a dry run");
    }
}

#[tokio::test]
async fn match_conditions_decide_before_the_call() {
    let server = HttpsServer::start(allow).await;
    let fixture = Fixture::new().await;
    let plugin = fixture.validating();
    let conditions = |expression: &str| json!({"matchConditions": [{"name": "c", "expression": expression}]});
    for (expression, asked, expect) in [
        ("object.metadata.name == 'p'", 1, None),
        ("object.metadata.name == 'q'", 0, None),
        (
            "object.metadata.labels.a == 'b'",
            0,
            Some(
                "pods \"p\" is forbidden: expression 'object.metadata.labels.a == 'b'' resulted in error: no such key: labels",
            ),
        ),
    ] {
        let before = server.seen().len();
        fixture.configure(RESOURCE, "c", &[with(hook("a.io", &server, "/"), conditions(expression))]).await;
        assert_eq!(fixture.rejection(&plugin).await.as_deref(), expect, "{expression}");
        assert_eq!(server.seen().len() - before, asked, "{expression}");
    }
    let metrics = fixture.metrics();
    let labels = r#"{kind="webhook",name="a.io",operation="CREATE",type="validate"} 1"#;
    assert!(
        metrics.contains(&format!("apiserver_admission_match_condition_exclusions_total{labels}")),
        "{metrics}"
    );
}

#[tokio::test]
async fn credentials_come_from_the_kubeconfig() {
    let server = HttpsServer::start(allow).await;
    let mut fixture = Fixture::new().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let user = format!("127.0.0.1:{}", server.address.port());
    std::fs::write(file.path(), format!("users: [{{name: '{user}', user: {{token: secret}}}}]")).unwrap();
    let text = format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\nkubeConfigFile: {}\n",
        file.path().display()
    );
    let configured = ("ValidatingAdmissionWebhook".to_owned(), Bytes::from(text));
    fixture.cluster.cluster.configurations = Configurations::new([configured]);
    fixture.configure(RESOURCE, "c", &[hook("a.io", &server, "/")]).await;
    assert_eq!(fixture.rejection(&fixture.validating()).await, None);
    assert_eq!(server.seen()[0].header("authorization"), "Bearer secret");
}
