use pintle_codec::json;
use pintle_meta::Value;
use pintle_meta::field_path::MOST_ERRORS;
use pintle_meta::selector::ValidationOptions;
use pintle_meta::validation::{dns1123_label, port_number};

use super::{Cursor, Errors};

fn tree(text: &str) -> Value {
    json::decode_any(text.as_bytes()).unwrap().value
}

/// The errors that a rule reports of a new object, or of a changed one.
fn walk(rule: impl Fn(&Cursor<'_, '_>), new: &str, old: Option<&str>) -> Vec<String> {
    let (new, old) = (tree(new), old.map(tree));
    let errors = Errors::default();
    rule(&Cursor::root(&new, old.as_ref(), &errors));
    errors.into_vec().iter().map(ToString::to_string).collect()
}

#[test]
fn errors_name_the_field_that_was_looked_at() {
    let rule = |pod: &Cursor<'_, '_>| {
        let spec = pod.at(&["spec", "template", "spec"]);
        for container in spec.field("containers").items() {
            container.field("name").text_format(dns1123_label);
            container.field("ports").each(|port| port.field("containerPort").integer_format(port_number));
        }
        for (key, label) in spec.field("nodeSelector").entries() {
            label.invalid(label.text(), format!("of {key}"));
        }
        spec.at_as(&["host"], "Host").required("");
        pod.at(&["metadata", "annotations"]).key("a.b/c").forbidden("no");
    };
    let text = r#"{"spec":{"template":{"spec":{"nodeSelector":{"k":"v"},"containers":[
        {"name":"ok","ports":[{"containerPort":80},{"containerPort":0}]},{"name":"A"}]}}}}"#;
    let found = walk(rule, text, None);
    assert_eq!(
        found[0],
        "spec.template.spec.containers[0].ports[1].containerPort: Invalid value: 0: must be between 1 and 65535, inclusive"
    );
    assert!(found[1].starts_with(r#"spec.template.spec.containers[1].name: Invalid value: "A": "#));
    assert_eq!(
        found[2..],
        [
            r#"spec.template.spec.nodeSelector[k]: Invalid value: "v": of k"#,
            "spec.template.spec.Host: Required value",
            "metadata.annotations[a.b/c]: Forbidden: no",
        ]
    );
}

#[test]
fn a_rule_reports_at_the_path_it_is_called_at() {
    fn pod_spec(spec: &Cursor<'_, '_>) {
        spec.field("restartPolicy").required_one_of(&["Always", "Never"]);
    }
    let both = |object: &Cursor<'_, '_>| {
        pod_spec(&object.field("spec"));
        pod_spec(&object.at(&["spec", "template", "spec"]));
    };
    assert_eq!(
        walk(both, r#"{"spec":{"restartPolicy":"x"}}"#, None),
        [
            r#"spec.restartPolicy: Unsupported value: "x": supported values: "Always", "Never""#,
            "spec.template.spec.restartPolicy: Required value",
        ]
    );
}

#[test]
fn typed_reads_of_absent_fields_are_zero_values() {
    walk(
        |object| {
            let absent = object.at(&["absent", "below"]);
            assert_eq!((absent.text(), absent.integer(), absent.flag(), absent.len()), ("", 0, false, 0));
            assert!(!absent.is_set() && absent.is_empty() && absent.value().is_null());
            assert_eq!((absent.optional_text(), absent.optional_integer()), (None, None));
            assert_eq!(object.field("list").texts(), ["a", "b"]);
            assert_eq!(object.field("map").len(), 1);
            // A pointer that is null is not set; a key of a map is set with any value.
            assert!(!object.field("null").is_set() && object.field("map").key("null").is_set());
        },
        r#"{"list":["a","b"],"null":null,"map":{"null":null}}"#,
        None,
    );
}

#[test]
fn a_field_is_compared_with_the_old_object() {
    let changed = |object: &Cursor<'_, '_>| {
        for name in ["same", "other", "gone", "come", "absent"] {
            if object.field(name).changed() {
                object.field(name).required("");
            }
        }
    };
    let new = r#"{"same":[1],"other":2,"come":1}"#;
    let old = r#"{"same":[1],"other":1,"gone":1}"#;
    assert_eq!(
        walk(changed, new, Some(old)),
        ["other: Required value", "gone: Required value", "come: Required value"]
    );
    assert_eq!(walk(changed, new, None).len(), 5, "a new object has no old values to keep");

    let rule = |object: &Cursor<'_, '_>| object.field("name").immutable("string");
    assert_eq!(
        walk(rule, r#"{"name":"b"}"#, Some(r#"{"name":"a"}"#)),
        [r#"name: Invalid value: "b": field is immutable"#]
    );
    assert!(walk(rule, r#"{"name":"b"}"#, None).is_empty());
    assert!(walk(rule, r#"{"name":"b"}"#, Some(r#"{"name":"b"}"#)).is_empty());
}

#[test]
fn items_meet_old_ones_by_index_or_by_key() {
    let new = r#"{"l":[{"name":"b","v":2},{"name":"c","v":3}]}"#;
    let old = r#"{"l":[{"name":"a","v":1},{"name":"b","v":2},{"name":"b","v":9}]}"#;
    let by_index = |object: &Cursor<'_, '_>| {
        for item in object.field("l").items().filter(Cursor::changed) {
            item.field("v").invalid(item.field("v").before().integer(), "by index");
        }
    };
    assert_eq!(
        walk(by_index, new, Some(old)),
        ["l[0].v: Invalid value: 1: by index", "l[1].v: Invalid value: 2: by index"]
    );
    let by_name = |object: &Cursor<'_, '_>| {
        let list = object.field("l");
        for item in list.items_by(|item| item.text_at(&["name"])).filter(Cursor::changed) {
            assert!(!item.before().is_set());
            item.field("name").duplicate(item.field("name").text());
        }
    };
    assert_eq!(walk(by_name, new, Some(old)), [r#"l[1].name: Duplicate value: "c""#]);
}

#[test]
fn a_walk_ends_when_there_are_enough_errors() {
    let items = vec!["-"; MOST_ERRORS + 10].iter().map(|item| format!("{item:?}")).collect::<Vec<_>>();
    let text = format!(r#"{{"l":[{}]}}"#, items.join(","));
    let visited = std::cell::Cell::new(0);
    let rule = |object: &Cursor<'_, '_>| {
        object.field("l").each(|item| {
            visited.set(visited.get() + 1);
            item.required("");
        });
        object.required("");
    };
    assert_eq!(walk(rule, &text, None).len(), MOST_ERRORS);
    assert_eq!(visited.get(), MOST_ERRORS);
}

#[test]
fn shared_checks_report_as_the_reference_does() {
    let rule = |object: &Cursor<'_, '_>| {
        object.field("count").non_negative();
        object.field("labels").labels();
        object.field("selector").label_selector(ValidationOptions::default());
        object.field("ip").legacy_ip(&[]);
        object.field("long").too_long(3);
    };
    let text = r#"{"count":-1,"labels":{"a b":"c"},"ip":"1.2.3",
        "selector":{"matchExpressions":[{"key":"k","operator":"In"}]}}"#;
    let found = walk(rule, text, None);
    let starts = [
        "count: Invalid value: -1",
        "labels: Invalid value: \"a b\"",
        "selector.matchExpressions[0].values: Required",
        "ip: Invalid value: \"1.2.3\"",
        "long: Too long: may not be more than 3 bytes",
    ];
    assert_eq!(found.len(), starts.len(), "{found:?}");
    for (found, start) in found.iter().zip(starts) {
        assert!(found.starts_with(start), "{found} does not start with {start}");
    }
}

#[test]
fn a_table_of_cases_creates_and_updates_a_base() {
    const TWICE: &str = "metadata.finalizers[0]: Invalid value: \"a\": name is neither a standard finalizer name nor is it fully qualified";
    let base = super::testing::Base::new(
        "",
        "namespaces",
        r#"{"metadata":{"name":"a","labels":{"kubernetes.io/metadata.name":"a"}}}"#,
    );
    base.accepts(&[&[("/metadata/labels/b", r#""c""#)], &[("/spec/finalizers/-", r#""example.com/a""#)]]);
    base.refuses(&[(
        &[("/spec/finalizers/-", r#""a""#)],
        &["spec.finalizers: Invalid value: \"a\": name is neither a standard finalizer name nor is it fully qualified"],
    )]);
    base.accepts_update(&[&[("/metadata/labels/b", r#""c""#)]]);
    base.refuses_update(&[(&[("/metadata/finalizers", r#"["a"]"#)], &[TWICE, TWICE])]);
}

#[test]
fn errors_that_print_much_are_dropped() {
    let errors = Errors::default();
    let object = Value::NULL;
    let root = Cursor::root(&object, None, &errors);
    let long = "a".repeat(1 << 20);
    // All of them printed would take minutes.
    for _ in 0..1_000_000 {
        root.field("a").invalid(long.as_str(), "is long");
    }
    assert!(errors.is_full());
    assert!(errors.len() < 70, "{}", errors.len());
}
