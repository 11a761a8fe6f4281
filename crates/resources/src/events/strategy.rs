//! The strategies of the group's resources: events by their newer name, which are stored as those of the core group. More
//! is asked of them here.

use std::sync::Arc;

use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::object_meta;
use pintle_registry::Strategy;
use pintle_schema::go;

use crate::core::event::{self, EVENTS};
use crate::framework::strategy::{Entry, MetadataCheck, Rules, Settings, find};

const REPORTER: &str = "reportingController";
const ZERO: &Value = &Value::NULL;

/// The rules of both groups come first, then metadata, then those of this group.
const RULES: Rules = Rules {
    name: object_meta::subdomain_name,
    metadata_check: MetadataCheck::ByRules,
    standard_finalizers: true,
    validate: |_, event| {
        event.report(event::validate(event.value(), REPORTER));
        NAMES.check_metadata(event);
        event.report(validate(event.value()));
    },
    validate_update: |_, event| {
        event.report(event::validate(event.value(), REPORTER));
        NAMES.check_metadata_update(event);
        event.report(validate_update(event.value(), event.before().value()));
    },
    ..EVENTS
};

/// How metadata is checked by [`RULES`], which cannot name itself.
const NAMES: Rules = Rules { name: object_meta::subdomain_name, standard_finalizers: true, ..EVENTS };

const TABLE: &[Entry] = &[Entry { name: "events", kind: "core/v1.Event", rules: RULES }];

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

fn validate(event: &Value) -> Vec<Error> {
    let mut errors = series(event);
    if event.get("eventTime").is_none_or(Value::is_null) {
        errors.push(Error::required(&Path::new("eventTime"), ""));
    }
    let mut refuse = |field: &str, wrong: String| errors.push(Error::invalid(&Path::new(field), "", wrong));
    let kind = event.text_at(&["type"]);
    if !matches!(kind, "Normal" | "Warning") {
        refuse("type", format!("has invalid value: {kind}"));
    }
    // Fields of older clients.
    for field in ["firstTimestamp", "lastTimestamp", "count"] {
        let value = event.get(field).unwrap_or(ZERO);
        if !value.is_null() && value.as_i64() != Some(0) {
            refuse(field, "needs to be unset".into());
        }
    }
    let source = |part: &str| event.text_at(&["source", part]);
    if !source("component").is_empty() || !source("host").is_empty() {
        refuse("source", "needs to be unset".into());
    }
    errors
}

fn series(event: &Value) -> Vec<Error> {
    let Some(series) = event.get("series") else { return Vec::new() };
    let mut errors = Vec::new();
    if series.get("count").and_then(Value::as_i64).unwrap_or_default() < 2 {
        errors.push(Error::invalid(&Path::new("series.count"), "", "should be at least 2"));
    }
    if series.get("lastObservedTime").is_none_or(Value::is_null) {
        errors.push(Error::required(&Path::new("series.lastObservedTime"), ""));
    }
    errors
}

/// An event is what happened, and does not change. What may go on is its series.
fn validate_update(new: &Value, old: &Value) -> Vec<Error> {
    // As stored, as messages have it, and its Go type. One of them stands twice, as it is checked twice.
    const FIELDS: &[(&str, &str, &str)] = &[
        ("involvedObject", "involvedObject", "core.ObjectReference"),
        ("reason", "reason", "string"),
        ("message", "message", "string"),
        ("source", "source", "core.EventSource"),
        ("firstTimestamp", "firstTimestamp", "meta/v1.Time"),
        ("lastTimestamp", "lastTimestamp", "meta/v1.Time"),
        ("count", "count", "int32"),
        ("reason", "reason", "string"),
        ("type", "type", "string"),
        ("eventTime", "eventTime", "meta/v1.MicroTime"),
        ("action", "action", "string"),
        ("related", "related", "*core.ObjectReference"),
        ("reportingComponent", REPORTER, "string"),
        ("reportingInstance", "reportingInstance", "string"),
    ];
    let mut errors = Vec::new();
    if new.get("series") != old.get("series") {
        errors.extend(series(new));
    }
    for (field, named, of) in FIELDS {
        let (value, before) = (new.get(field), old.get(field));
        if value != before {
            let shown = match (*of, value) {
                ("string", value) => value.and_then(Value::as_str).unwrap_or_default().into(),
                ("int32", value) => value.and_then(Value::as_i64).unwrap_or_default().into(),
                (of, value) => go::printed(of, value.unwrap_or(ZERO)),
            };
            errors.push(Error::invalid(&Path::new(named), shown, "field is immutable"));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use pintle_registry::Context;

    use crate::framework::strategy::testing::{invalid, of};
    use crate::framework::validation::testing::Base;

    const GOOD: &str = r#"{"metadata":{"name":"e","namespace":"n","resourceVersion":"1"},"involvedObject":{"kind":"Pod","namespace":"n"},"reason":"r","type":"Normal","eventTime":"2026-01-01T00:00:00.000000Z","action":"a","reportingComponent":"c","reportingInstance":"i"}"#;

    #[test]
    fn a_new_event_says_all_and_nothing_out_of_date() {
        let events = of("events.k8s.io", "events");
        assert!(invalid(&events, GOOD).is_empty(), "{:?}", invalid(&events, GOOD));
        for (from, to, wrong) in [
            (r#""type":"Normal""#, r#""type":"X""#, r#"type: Invalid value: "": has invalid value: X"#),
            (
                r#""reason":"r""#,
                r#""reason":"r","count":3"#,
                r#"count: Invalid value: "": needs to be unset"#,
            ),
            (
                r#""reason":"r""#,
                r#""reason":"r","source":{"host":"h"}"#,
                r#"source: Invalid value: "": needs to be unset"#,
            ),
            (
                r#""reportingComponent":"c""#,
                r#""reportingComponent":"a b""#,
                "reportingController: Invalid value",
            ),
            (
                r#""reason":"r""#,
                r#""reason":"r","series":{"count":1,"lastObservedTime":"2026-01-01T00:00:00.000000Z"}"#,
                r#"series.count: Invalid value: "": should be at least 2"#,
            ),
        ] {
            let told = invalid(&events, &GOOD.replace(from, to));
            assert!(told.len() == 1 && told[0].starts_with(wrong), "{told:?}");
        }
    }

    #[test]
    fn times_are_required() {
        let base = Base::new("events.k8s.io", "events", GOOD);
        let series = |rest: &str| format!(r#"{{"count":2{rest}}}"#);
        base.accepts(&[&[("/series", &series(r#","lastObservedTime":"2026-01-01T00:00:00.000000Z""#))]]);
        base.refuses(&[
            (&[("/eventTime", "")], &["eventTime: Required value"]),
            (&[("/series", &series(""))], &["series.lastObservedTime: Required value"]),
        ]);
    }

    #[test]
    fn metadata_is_checked_between_the_rules_of_both_groups_and_those_of_this_one() {
        let base = Base::new("events.k8s.io", "events", GOOD);
        base.refuses(&[(
            &[("/action", ""), ("/metadata/finalizers", r#"["a"]"#), ("/type", "")],
            &[
                "action: Required value",
                r#"metadata.finalizers[0]: Invalid value: "a": name is neither a standard finalizer name nor is it fully qualified"#,
                r#"type: Invalid value: "": has invalid value: "#,
            ],
        )]);
        base.refuses_update(&[(
            &[("/reason", ""), ("/metadata/uid", r#""u""#)],
            &[
                "reason: Required value",
                r#"metadata.uid: Invalid value: "u": field is immutable"#,
                r#"reason: Invalid value: "": field is immutable"#,
                r#"reason: Invalid value: "": field is immutable"#,
            ],
        )]);
    }

    #[test]
    fn an_event_does_not_change_but_for_its_series() {
        let events = of("events.k8s.io", "events");
        let told = |new: &str| {
            let (new, old) = (events.tree(new), events.tree(GOOD));
            let errors = events.strategy.validate_update(&Context::default(), &new, &old);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let series = r#""series":{"count":2,"lastObservedTime":"2026-01-01T00:00:00.000000Z"},"reason":"r""#;
        assert!(told(&GOOD.replace(r#""reason":"r""#, series)).is_empty());
        assert_eq!(
            told(&GOOD.replace(r#""action":"a""#, r#""action":"b""#)),
            [r#"action: Invalid value: "b": field is immutable"#]
        );
        assert_eq!(
            told(&GOOD.replace(r#""kind":"Pod""#, r#""kind":"Node""#)),
            [
                r#"involvedObject: Invalid value: {"Kind":"Node","Namespace":"n","Name":"","UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}: field is immutable"#
            ]
        );
    }
}
