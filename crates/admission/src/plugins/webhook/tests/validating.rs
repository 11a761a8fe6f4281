//! Denials, warnings and annotations, and calls side by side.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;

use super::*;
use crate::notes::AuditLevel;

const RESOURCE: Resource = Resource::ValidatingWebhookConfiguration;

async fn denied(result: Value) -> (Box<pintle_meta::Status>, String) {
    let server =
        HttpsServer::start(move |seen| reply(seen, json!({"allowed": false, "status": result}))).await;
    let fixture = Fixture::new().await;
    fixture.configure(RESOURCE, "c", &[hook("a.io", &server, "/")]).await;
    match fixture.pod().run(&fixture.validating()).await {
        Outcome::Rejected(status) => (status, fixture.metrics()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_denial_has_the_status_of_its_webhook() {
    let deny = "admission webhook \"a.io\" denied the request";
    for (result, code, message) in [
        (json!(null), 400, format!("{deny} without explanation")),
        (json!({}), 400, format!("{deny} without explanation")),
        (json!({"message": "you shall not pass"}), 400, format!("{deny}: you shall not pass")),
        (json!({"reason": "Forbidden"}), 400, format!("{deny}: Forbidden")),
        (json!({"message": "no", "reason": "Forbidden", "code": 403}), 403, format!("{deny}: no")),
        (json!({"code": 200, "status": "Success"}), 400, format!("{deny} without explanation")),
        (json!({"code": 500, "message": "oops"}), 500, format!("{deny}: oops")),
        (json!({"code": -1, "message": "no"}), 400, format!("{deny}: no")),
        (json!({"code": 70_000, "message": "no"}), 500, format!("{deny}: no")),
    ] {
        let (status, metrics) = denied(result.clone()).await;
        assert_eq!((status.code, status.message.as_str()), (code, message.as_str()), "{result}");
        let labels = format!(
            r#"error_type="no_error",name="a.io",operation="CREATE",rejection_code="{code}",type="validating""#
        );
        assert!(
            metrics.contains(&format!("apiserver_admission_webhook_rejection_count{{{labels}}} 1")),
            "{metrics}"
        );
        let labels =
            format!(r#"code="{code}",name="a.io",operation="CREATE",rejected="true",type="validating""#);
        assert!(
            metrics.contains(&format!("apiserver_admission_webhook_request_total{{{labels}}} 1")),
            "{metrics}"
        );
    }
    let (status, _) = denied(json!({"code": 418, "reason": "Teapot", "message": "short and stout"})).await;
    assert!(String::from_utf8_lossy(&status.to_json()).contains(r#""reason":"Teapot","code":418"#));
    let details = json!({"name": "p", "kind": "pods", "causes": [{"message": "m", "field": "f", "reason": "FieldValueInvalid"}], "retryAfterSeconds": 7});
    let (status, _) = denied(json!({"code": 422, "reason": "Invalid", "details": details})).await;
    assert_eq!(status.reason, pintle_meta::Reason::Invalid);
    let details = status.details.unwrap();
    assert_eq!((details.name.as_str(), details.retry_after_seconds), ("p", 7));
    assert_eq!(details.causes[0].field, "f");
    let metadata =
        json!({"selfLink": "/s", "resourceVersion": "12", "continue": "c", "remainingItemCount": 3});
    let details = json!({"retryAfterSeconds": -5});
    let (status, _) = denied(json!({"code": 403, "metadata": metadata, "details": details})).await;
    let sent: Value = serde_json::from_slice(&status.to_json()).unwrap();
    assert_eq!((&sent["metadata"], &sent["details"]), (&metadata, &details));
}

#[tokio::test]
async fn all_webhooks_are_asked_at_once_and_the_first_denial_is_the_answer() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counting, seen_most) = (now.clone(), most.clone());
    let server = HttpsServer::start(move |seen| {
        let at_once = counting.fetch_add(1, Ordering::SeqCst) + 1;
        seen_most.fetch_max(at_once, Ordering::SeqCst);
        let name = seen.path.trim_start_matches('/').split('?').next().unwrap_or_default().to_owned();
        let response = json!({
            "allowed": name.starts_with("ok"), "status": {"message": name}, "warnings": [format!("from {name}")],
            "auditAnnotations": {"note": name, "not valid": "x"},
        });
        let delay = if name == "late" { 300 } else { 50 };
        reply(seen, response).after(Duration::from_millis(delay))
    })
    .await;
    let fixture = Fixture::new().await;
    let of = |name: &str| hook(&format!("{name}.io"), &server, &format!("/{name}"));
    fixture.configure(RESOURCE, "c", &[of("late"), of("ok1"), of("early"), of("ok2")]).await;
    let case = fixture.pod();
    let notes = case.request.notes.clone();
    let message = case.run(&fixture.validating()).await.message().unwrap();
    assert_eq!(message, "admission webhook \"early.io\" denied the request: early");
    assert_eq!(most.load(Ordering::SeqCst), 4, "asked before any of them answered");
    let mut warnings = notes.take_warnings();
    warnings.sort();
    assert_eq!(warnings, ["from early", "from late", "from ok1", "from ok2"], "also of those that allow");
    let annotations = notes.annotations(AuditLevel::Metadata);
    assert_eq!(annotations.len(), 4, "without the key that is not valid: {annotations:?}");
    assert_eq!(annotations["ok2.io/note"], "ok2");
}

#[tokio::test]
async fn requests_do_not_wait_for_each_other() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counting, seen_most) = (now.clone(), most.clone());
    let server = HttpsServer::start(move |seen| {
        let at_once = counting.fetch_add(1, Ordering::SeqCst) + 1;
        seen_most.fetch_max(at_once, Ordering::SeqCst);
        allow(seen).after(Duration::from_millis(500))
    })
    .await;
    let fixture = Fixture::new().await;
    fixture.configure(RESOURCE, "c", &[hook("a.io", &server, "/")]).await;
    let plugin = fixture.validating();
    let outcomes = join_all((0..50).map(|_| fixture.rejection(&plugin))).await;
    assert!(outcomes.iter().all(Option::is_none), "{outcomes:?}");
    assert_eq!(most.load(Ordering::SeqCst), 50, "all were asked before the first answer");
}

#[tokio::test]
async fn no_more_warnings_of_an_answer_are_kept_than_are_sent() {
    let server = HttpsServer::start(|seen| {
        let warnings: Vec<String> = (0..50_000).map(|number| format!("{number:06}")).collect();
        reply(seen, json!({"allowed": true, "warnings": warnings}))
    })
    .await;
    let fixture = Fixture::new().await;
    fixture.configure(RESOURCE, "c", &[hook("a.io", &server, "/")]).await;
    let case = fixture.pod();
    let notes = case.request.notes.clone();
    assert_eq!(case.run(&fixture.validating()).await.message(), None);
    let warnings = notes.take_warnings();
    assert_eq!(warnings.len(), pintle_meta::warnings::MOST / 6 + 1);
    assert_eq!(warnings[..2], ["000000", "000001"]);
}
