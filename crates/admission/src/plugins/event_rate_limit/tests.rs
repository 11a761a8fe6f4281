use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pintle_auth::User;
use pintle_meta::Reason;
use pintle_runtime::ManualClock;

use super::*;
use crate::configuration::Configurations;
use crate::testing::{Case, TestCluster, create, target};

fn config(limits: &str) -> String {
    format!(
        r#"{{"apiVersion":"eventratelimit.admission.k8s.io/v1alpha1","kind":"Configuration","limits":{limits}}}"#
    )
}

async fn made(config: Option<&str>) -> (Result<EventRateLimit, String>, Arc<ManualClock>) {
    let mut cluster = TestCluster::new().await;
    let clock = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    cluster.cluster.clock = clock.clock();
    let config = config.map(|config| (NAME.to_owned(), config.to_owned().into()));
    cluster.cluster.configurations = Configurations::new(config);
    (EventRateLimit::new(&cluster.cluster), clock)
}

async fn plugin(limits: &str) -> (EventRateLimit, Arc<ManualClock>) {
    let (plugin, clock) = made(Some(&config(limits))).await;
    (plugin.unwrap(), clock)
}

fn event(namespace: &str, user: &str, object: &str) -> Case {
    let event = format!(
        r#"{{"source":{{"component":"c","host":"h"}},"involvedObject":{{"kind":"Pod","namespace":"n","name":"{object}","uid":"u","apiVersion":"v1"}}}}"#
    );
    create("events").in_namespace(namespace).by(User { name: user.into(), ..User::default() }).json(&event)
}

async fn rejected(plugin: &EventRateLimit, case: Case) -> Option<String> {
    case.run(plugin).await.message()
}

#[tokio::test]
async fn the_server_has_one_bucket() {
    let (plugin, clock) = plugin(r#"[{"type":"Server","qps":1,"burst":3}]"#).await;
    let reached = Some("Too many requests: limit reached on type Server for key ".to_owned());
    for (index, expected) in [None, None, None, reached.clone(), reached.clone()].into_iter().enumerate() {
        let number = index.to_string();
        assert_eq!(rejected(&plugin, event(&number, &number, &number)).await, expected, "{index}");
    }
    clock.advance(Duration::from_secs(1));
    assert_eq!(rejected(&plugin, event("a", "b", "c")).await, None);
    assert_eq!(rejected(&plugin, event("a", "b", "c")).await, reached);
    let mut dry = event("a", "b", "c");
    dry.request.dry_run = true;
    assert_eq!(rejected(&plugin, dry).await, None);
    let error = event("a", "b", "c").run(&plugin).await;
    let crate::testing::Outcome::Rejected(status) = error else { panic!("{error:?}") };
    assert_eq!((status.code, status.reason, status.details), (429, Reason::TooManyRequests, None));
}

#[tokio::test]
async fn each_namespace_user_or_object_has_a_bucket() {
    for (of, same, other, key) in [
        ("Namespace", event("a", "x", "x"), event("b", "y", "y"), "a"),
        ("User", event("x", "a", "x"), event("y", "b", "y"), "a"),
        ("SourceAndObject", event("x", "x", "a"), event("y", "y", "b"), "chPodnauv1"),
    ] {
        let (plugin, clock) = plugin(&format!(r#"[{{"type":"{of}","qps":1,"burst":1}}]"#)).await;
        let reached = Some(format!("Too many requests: limit reached on type {of} for key {key}"));
        assert_eq!(rejected(&plugin, same.clone()).await, None);
        assert_eq!(rejected(&plugin, same.clone()).await, reached);
        assert_eq!(rejected(&plugin, other).await, None, "{of}");
        clock.advance(Duration::from_secs(1));
        assert_eq!(rejected(&plugin, same).await, None);
    }
}

#[tokio::test]
async fn all_limits_count() {
    let (plugin, _clock) =
        plugin(r#"[{"type":"Server","qps":1,"burst":2},{"type":"User","qps":1,"burst":1}]"#).await;
    assert_eq!(rejected(&plugin, event("n", "a", "x")).await, None);
    let user = "limit reached on type User for key a";
    assert_eq!(rejected(&plugin, event("n", "a", "x")).await, Some(format!("Too many requests: {user}")));
    // The rejected event has used up the server's.
    let both = format!("Too many requests: [limit reached on type Server for key , {user}]");
    assert_eq!(rejected(&plugin, event("n", "a", "x")).await, Some(both));
}

#[tokio::test]
async fn a_bucket_that_was_dropped_is_full_again() {
    let (plugin, _clock) = plugin(r#"[{"type":"User","qps":1,"burst":1,"cacheSize":1}]"#).await;
    for user in ["a", "b", "a", "b"] {
        assert_eq!(rejected(&plugin, event("n", user, "x")).await, None, "{user}");
    }
    assert!(rejected(&plugin, event("n", "b", "x")).await.is_some());
}

#[tokio::test]
async fn a_wrong_configuration_is_an_error() {
    let empty = "limits: Invalid value: null: must not be empty";
    assert_eq!(made(None).await.0.err().as_deref(), Some(empty));
    for (limits, expected) in [
        ("null", empty),
        ("[]", "limits: Invalid value: []: must not be empty"),
        (
            r#"[{"type":"Node","qps":1,"burst":1}]"#,
            "limits[0].type: Unsupported value: \"Node\": supported values: \"Namespace\", \"Server\", \"SourceAndObject\", \
             \"User\"",
        ),
        (
            r#"[{"type":"Server","qps":0,"burst":-1,"cacheSize":-1},{"type":"User","qps":1,"burst":1,"cacheSize":-1}]"#,
            "[limits[0].burst: Invalid value: -1: must be positive, limits[0].qps: Invalid value: 0: must be positive, \
             limits[1].cacheSize: Invalid value: -1: must not be negative]",
        ),
    ] {
        assert_eq!(made(Some(&config(limits))).await.0.err().as_deref(), Some(expected), "{limits}");
    }
    let error = made(Some("kind: Configuration")).await.0.err().unwrap();
    assert_eq!(error, "Object 'apiVersion' is missing in 'kind: Configuration'");
    // Unknown fields are ignored.
    let more = config(r#"[{"type":"Server","qps":1,"burst":1,"foo":1}]"#)
        .replace("\"limits\"", "\"bar\":{},\"limits\"");
    assert!(made(Some(&more)).await.0.is_ok());
}

#[tokio::test]
async fn only_events_of_the_core_group_are_limited() {
    let (plugin, _clock) = plugin(r#"[{"type":"Server","qps":1,"burst":1}]"#).await;
    assert!(plugin.validates(Operation::Create, &target("events")));
    assert!(plugin.validates(Operation::Update, &target("events")));
    assert!(!plugin.validates(Operation::Delete, &target("events")));
    assert!(!plugin.validates(Operation::Create, &target("events.events.k8s.io")));
    assert!(!plugin.validates(Operation::Create, &target("pods")));
}
