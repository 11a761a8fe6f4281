//! The engine, and every kind at once. What each group fills in is tested beside its rules, with [`check`].

use pintle_codec::json;
use pintle_published::upstream;
use pintle_schema::{Kind, normal};

use super::*;

mod arbitrary;
mod parity;

fn decode(of: &'static Type, text: &str) -> Value {
    json::decode(of, text.as_bytes()).unwrap_or_else(|error| panic!("{}: {error}: {text}", of.name)).value
}

fn encode(value: &Value) -> String {
    let mut text = Vec::new();
    json::encode(value, &mut text);
    String::from_utf8(text).unwrap()
}

/// `value` defaulted, after making sure of what holds for everything that is: it is normal, and defaulted once and for all.
fn defaulted(of: &'static Type, value: &Value, settings: &Settings) -> Value {
    let before = value.clone();
    let mut after = value.clone();
    apply(of, &mut after, settings);
    assert_eq!(is_defaulted(of, value, settings), after == before, "{}", of.name);
    assert!(is_defaulted(of, &after, settings), "{}: {after:?}", of.name);
    assert_eq!(*value, before, "what is shared was changed");
    let text = encode(&after);
    assert_eq!(encode(&decode(of, &text)), text, "{} is not normal", of.name);
    let mut again = after.clone();
    apply(of, &mut again, settings);
    assert!(again.is_same(&after), "{} was copied to change nothing", of.name);
    after
}

/// What a type's object becomes, to the byte.
#[track_caller]
pub(crate) fn check(name: &str, input: &str, expected: &str) {
    check_with(&Settings::default(), name, input, expected);
}

#[track_caller]
pub(crate) fn check_with(settings: &Settings, name: &str, input: &str, expected: &str) {
    let of = pintle_schema::find(name).unwrap();
    let found = encode(&defaulted(of, &decode(of, input), settings));
    // Written with room in tests.
    let expected = encode(&json::decode_any(expected.as_bytes()).unwrap().value);
    let sorted = encode(&json::decode_any(found.as_bytes()).unwrap().value);
    assert_eq!(sorted, expected, "\n{name}\n{input}");
}

/// What types that stand on their own are called.
fn kinds() -> impl Iterator<Item = &'static Type> {
    let is_kind = |of: &&Type| match &of.kind {
        Kind::Struct(of) => {
            of.fields.first().is_some_and(|field| field.is_inline() && of.flat[0].name == "kind")
        }
        _ => false,
    };
    pintle_schema::types().iter().copied().filter(is_kind)
}

#[test]
fn an_empty_object_of_every_type_stays_normal() {
    for of in pintle_schema::types() {
        if let Some(structure) = of.structure() {
            defaulted(of, &normal::zero_struct(structure), &Settings::default());
        }
    }
}

#[test]
fn kinds_with_defaults_are_those_of_the_reference() {
    let count = |of: &str| kinds().filter(|kind| kind.name.starts_with(of) && has_defaults(kind)).count();
    // 195 kinds, lists included, less ConfigMap and ConfigMapList, where nothing can be seen of it.
    assert_eq!(count(""), 193);
    assert_eq!(count("core/v1."), 26);
    assert_eq!(count("node/"), 0);
    assert_eq!(count("policy/"), 0);
    assert_eq!(count("meta/"), 0);
}

#[test]
fn the_overhead_of_a_runtime_class_is_not_rounded() {
    let class = r#"{"metadata":{},"handler":"h","overhead":{"podFixed":{"cpu":"1u"}}}"#;
    check("node/v1.RuntimeClass", class, class);
    check("core/v1.ResourceQuotaSpec", r#"{"hard":{"cpu":"1u"}}"#, r#"{"hard":{"cpu":"1m"}}"#);
}

#[test]
fn lists_default_each_item() {
    check(
        "core/v1.SecretList",
        r#"{"items":[{"type":"x"},{}]}"#,
        r#"{"metadata":{},"items":[{"metadata":{},"type":"x"},{"metadata":{},"type":"Opaque"}]}"#,
    );
}

#[test]
fn only_what_changes_is_copied() {
    let of = pintle_schema::find("core/v1.Pod").unwrap();
    let probe =
        r#"{"exec":{},"timeoutSeconds":1,"periodSeconds":2,"successThreshold":3,"failureThreshold":4}"#;
    let container = format!(
        r#"{{"name":"a","resources":{{"limits":{{"cpu":"1"}},"requests":{{"cpu":"1"}}}},"livenessProbe":{probe},
            "imagePullPolicy":"Never","terminationMessagePath":"p","terminationMessagePolicy":"File"}}"#
    );
    let pod = format!(r#"{{"spec":{{"containers":[{container},{{"name":"b"}}],"securityContext":{{}}}}}}"#);
    let before = decode(of, &pod);
    let mut after = before.clone();
    apply(of, &mut after, &Settings::default());
    let containers = |pod: &Value| pod.items_at(&["spec", "containers"]).to_vec();
    assert!(containers(&before)[0].is_same(&containers(&after)[0]));
    assert!(!containers(&before)[1].is_same(&containers(&after)[1]));
    assert!(before.get("metadata").unwrap().is_same(after.get("metadata").unwrap()));
    assert_eq!(before, decode(of, &pod));
}

#[test]
fn what_is_no_object_is_left_alone() {
    let of = pintle_schema::find("core/v1.Pod").unwrap();
    for value in [Value::NULL, "x".into(), Value::list(vec![1.into()])] {
        let mut after = value.clone();
        apply(of, &mut after, &Settings::default());
        assert_eq!(after, value);
    }
}

#[test]
fn full_objects_are_defaulted_once_and_for_all() {
    let Some(upstream) = upstream("full and sparse objects") else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(upstream.join("wire")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let Some(of) = parity::kind_of(&json::decode_any(text.as_bytes()).unwrap().value) else { continue };
        defaulted(of, &decode(of, &text), &Settings::default());
        count += 1;
    }
    assert!(count > 150, "{count} objects");
}

#[test]
fn sparse_objects_are_defaulted_once_and_for_all() {
    let Some(upstream) = upstream("full and sparse objects") else { return };
    let mut count = 0;
    for line in std::fs::read_to_string(upstream.join("wire-sparse.jsonl")).unwrap().lines() {
        let vector = json::decode_any(line.as_bytes()).unwrap().value;
        let Some(object) = vector.get("in") else { continue };
        let Some(of) = parity::kind_of(object) else { continue };
        defaulted(of, &decode(of, &encode(object)), &Settings::default());
        count += 1;
    }
    assert!(count > 1000, "{count} objects");
}
