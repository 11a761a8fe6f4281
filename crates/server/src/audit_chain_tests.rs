//! Audit in the chain: panics, refusals, timeouts, and a log that cannot be written.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use pintle_audit::backend::Backend;
use pintle_audit::policy::Policy;
use pintle_audit::{AuditorConfig, Event, Metrics as AuditMetrics, Stage};
use pintle_metrics::Registry;
use pintle_runtime::Tasks;

use super::*;

/// Remembers events; refuses them if told to.
#[derive(Default)]
struct Recorder {
    events: Mutex<Vec<Arc<Event>>>,
    refuses: AtomicBool,
}

#[async_trait]
impl Backend for Recorder {
    async fn process(&self, events: &[Arc<Event>]) -> bool {
        self.events.lock().unwrap().extend_from_slice(events);
        !self.refuses.load(Ordering::SeqCst)
    }

    fn accept(&self, event: &Arc<Event>) -> bool {
        self.events.lock().unwrap().push(event.clone());
        true
    }
}

impl Recorder {
    /// The stages of the events, with the outcome that they show: `stage code reason message`.
    fn shown(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let show = |event: &Arc<Event>| {
            let outcome = event.response_status.as_ref().map(|response| {
                let status = response.status.as_ref();
                let message = status.map(|status| status.message.clone()).unwrap_or_default();
                format!(" {} {message}", response.code)
            });
            format!("{}{}", event.stage.as_str(), outcome.unwrap_or_default()).trim_end().to_owned()
        };
        events.iter().map(show).collect()
    }

    fn last(&self) -> Arc<Event> {
        self.events.lock().unwrap().last().unwrap().clone()
    }
}

fn audited(level: &str, change: impl FnOnce(&mut ChainConfig)) -> (Fixture, Arc<Recorder>, Registry) {
    let recorder = Arc::<Recorder>::default();
    let policy = format!("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: {level}\n");
    let registry = Registry::default();
    let auditor = Auditor::new(AuditorConfig {
        policy: Policy::parse(policy.as_bytes()).unwrap(),
        backend: recorder.clone(),
        metrics: AuditMetrics::new(&registry).unwrap(),
        clock: Clock::system(),
        tasks: Tasks::new(),
    });
    let fixture = fixture(|config| {
        config.auditor = Some(auditor);
        change(config);
    });
    (fixture, recorder, registry)
}

#[tokio::test]
async fn a_request_has_an_event_when_it_arrives_and_when_it_is_done() {
    let (fixture, recorder, _) = audited("Metadata", |_| {});
    let request = http::Request::get("/version?a=b")
        .header("x-forwarded-for", "1.2.3.4")
        .header("user-agent", "x".repeat(5000))
        .header("audit-id", "my-own");
    assert_eq!(fixture.ask(request).await.0, StatusCode::OK);
    assert_eq!(recorder.shown(), ["RequestReceived", "ResponseComplete 200"]);
    let event = recorder.last();
    let request = &event.request;
    assert_eq!((request.uri.as_str(), request.verb.as_str()), ("/version?a=b", "get"));
    assert_eq!(request.source_ips, ["1.2.3.4", "127.0.0.1"]);
    assert_eq!((request.user_agent.len(), request.audit_id.as_str()), (1024 + 12, "my-own"));
    assert_eq!(request.user.as_ref().unwrap().name, "system:anonymous");
    assert_eq!(event.annotations["authorization.k8s.io/decision"], "allow");
    assert_eq!(event.annotations["authorization.k8s.io/reason"], "");
}

#[tokio::test]
async fn a_request_that_the_policy_leaves_out_has_none() {
    let (fixture, recorder, registry) = audited("None", |_| {});
    fixture.get("/version").await;
    assert!(recorder.shown().is_empty());
    let text = String::from_utf8(registry.render().unwrap()).unwrap();
    assert!(text.contains("apiserver_audit_level_total{level=\"None\"} 1\n"), "{text}");
    assert!(text.contains("apiserver_audit_event_total 0\n"), "{text}");
}

#[tokio::test]
async fn a_panic_is_recorded_and_still_answered() {
    let (fixture, recorder, _) = audited("Metadata", |_| {});
    assert_eq!(fixture.get("/healthz").await.0, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(recorder.shown(), ["RequestReceived", "Panic 500 APIServer panic'd: on purpose"]);
}

#[tokio::test]
async fn refused_credentials_are_recorded_without_a_user() {
    let (fixture, recorder, _) =
        audited("RequestResponse", |config| config.authenticator = Arc::new(NoCredentials));
    assert_eq!(fixture.get("/version").await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(recorder.shown(), ["ResponseStarted 401 Unauthorized"]);
    let event = recorder.last();
    assert!(event.request.user.is_none());
    let shown = event.response_object.clone().unwrap();
    assert!(
        shown.starts_with(br#"{"kind":"Status","apiVersion":"v1","#) && shown.ends_with(b"}"),
        "{shown:?}"
    );
}

#[tokio::test]
async fn a_refusal_shows_why() {
    let (fixture, recorder, _) = audited("Metadata", |_| {});
    assert_eq!(fixture.get("/metrics").await.0, StatusCode::FORBIDDEN);
    let event = recorder.last();
    assert_eq!(event.annotations["authorization.k8s.io/decision"], "forbid");
    assert_eq!(
        recorder.shown()[1],
        "ResponseComplete 403 forbidden: User \"system:anonymous\" cannot get path \"/metrics\""
    );
    assert!(event.response_object.is_none(), "the level shows no objects");
}

#[tokio::test]
async fn an_answer_that_cannot_be_sent_as_asked_has_only_its_code() {
    let (fixture, recorder, _) = audited("RequestResponse", |_| {});
    fixture.ask(http::Request::get("/metrics").header("accept", "image/png")).await;
    assert_eq!(recorder.shown()[1], "ResponseComplete 403");
    assert!(recorder.last().response_object.is_none());
}

#[tokio::test(start_paused = true)]
async fn requests_that_end_with_their_deadline_are_recorded() {
    let (fixture, recorder, _) = audited("Metadata", |_| {});
    assert_eq!(fixture.get("/livez?timeout=2s").await.0, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(
        recorder.shown(),
        [
            "RequestReceived",
            "ResponseComplete 504 Timeout: request did not complete within requested timeout - context deadline exceeded"
        ]
    );
    assert_eq!(recorder.last().stage, Stage::ResponseComplete);
    fixture.get("/livez?timeout=soon").await;
    let message = "invalid timeout specified in the request URL - time: invalid duration \"soon\"";
    assert_eq!(recorder.shown()[2..], [format!("ResponseStarted 400 {message}")]);
}

#[tokio::test]
async fn a_long_running_request_has_an_event_when_its_answer_begins() {
    let (fixture, recorder, _) = audited("Metadata", |_| {});
    fixture.get("/debug/pprof/profile").await;
    let stages: Vec<Stage> = recorder.events.lock().unwrap().iter().map(|event| event.stage).collect();
    assert_eq!(stages, [Stage::RequestReceived, Stage::ResponseStarted, Stage::ResponseComplete]);
}

#[tokio::test]
async fn a_request_whose_arrival_must_be_recorded_and_cannot_be_fails() {
    let (fixture, recorder, registry) = audited("Metadata", |_| {});
    recorder.refuses.store(true, Ordering::SeqCst);
    let (status, _, body) = fixture.get("/version?a=b").await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(body, "Internal Server Error: \"/version?a=b\": failed to store audit event\n");
    assert_eq!(recorder.shown(), ["RequestReceived"], "nothing more is done");
    let text = String::from_utf8(registry.render().unwrap()).unwrap();
    assert!(text.contains("apiserver_audit_requests_rejected_total 1\n"), "{text}");
}
