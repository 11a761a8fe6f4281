//! Tests of what is asked of events of the core group.

use crate::framework::strategy::testing::{invalid, of};
use crate::framework::validation::testing::Base;

const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// An event of a newer client, which says when it was.
const NEWER: &str = r#"{"metadata":{"name":"e","namespace":"n"},"involvedObject":{"kind":"Pod","namespace":"n"},
    "eventTime":"2026-01-01T00:00:00.000000Z","reportingComponent":"c","reportingInstance":"i","action":"a","reason":"r"}"#;

fn named(rest: &str) -> String {
    format!(r#"{{"metadata":{{"name":"a","namespace":"n","resourceVersion":"1"}},{rest}}}"#)
}

#[test]
fn an_event_is_in_the_namespace_of_its_object() {
    let events = of("", "events");
    let why = "does not match event.namespace";
    assert_eq!(
        invalid(&events, &named(r#""involvedObject":{"namespace":"m"}"#)),
        [format!("involvedObject.namespace: Invalid value: \"m\": {why}")]
    );
    assert!(invalid(&events, &named(r#""involvedObject":{"namespace":"n"}"#)).is_empty());
    let newer = named(
        r#""involvedObject":{"namespace":"n"},"eventTime":"2026-01-01T00:00:00.000000Z","reportingComponent":"a","reportingInstance":"b","action":"c""#,
    );
    assert_eq!(invalid(&events, &newer), ["reason: Required value"]);
}

#[test]
fn newer_events_name_their_reporter_and_reason() {
    let base = Base::new("", "events", NEWER);
    let long = |length: usize| format!("{:?}", "a".repeat(length));
    base.accepts(&[
        &[("/reportingInstance", &long(128))],
        &[("/message", &long(1024))],
        &[("/involvedObject/namespace", ""), ("/metadata/namespace", r#""default""#)],
    ]);
    base.refuses(&[
        (
            &[("/reportingComponent", "")],
            &[
                "reportingComponent: Required value",
                r#"reportingComponent: Invalid value: "": name part must be non-empty"#,
                &format!(r#"reportingComponent: Invalid value: "": {NAME_PART}"#),
            ],
        ),
        (&[("/reportingInstance", "")], &["reportingInstance: Required value"]),
        (&[("/action", &long(129))], &[r#"action: Invalid value: "": can have at most 128 characters"#]),
        (&[("/message", &long(1025))], &[r#"message: Invalid value: "": can have at most 1024 characters"#]),
        (
            &[("/involvedObject/namespace", "")],
            &[r#"involvedObject.namespace: Invalid value: "": does not match event.namespace"#],
        ),
    ]);
}

#[test]
fn updates_are_validated_like_creates() {
    let base = Base::new("", "events", NEWER);
    base.accepts_update(&[&[("/count", "3"), ("/reason", r#""other""#)]]);
    base.refuses_update(&[(&[("/action", "")], &["action: Required value"])]);
    base.refuses_update_of(
        &[("/metadata/namespace", r#""N""#), ("/involvedObject/namespace", r#""N""#)],
        &[(&[], &[&format!(r#"namespace: Invalid value: "N": {SUBDOMAIN}"#)])],
    );
}

#[test]
fn metadata_is_checked_only_if_the_rest_is_valid() {
    let base = Base::new("", "events", NEWER);
    let label = ("/metadata/labels", r#"{"a b":"c"}"#);
    base.refuses(&[
        (&[label, ("/action", "")], &["action: Required value"]),
        (&[label], &[&format!("metadata.labels: Invalid value: \"a b\": {NAME_PART}")]),
    ]);
}
