//! JSON merge patches (RFC 7386), with the reference's removal of nulls.

use std::collections::HashSet;

use pintle_codec::{Error, json};
use pintle_meta::{Node, Value};

use crate::entries;
use crate::lazy::{Opener, ValueType};

/// Returns the strict errors of a patch; fails if it is no object.
pub fn strict(patch: &[u8]) -> Result<Vec<String>, Error> {
    let decoded = json::decode_any(patch)?;
    match decoded.value.node() {
        Node::Object(_) | Node::Null => Ok(decoded.strict),
        other => Err(Error::new(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            crate::json_type(other)
        ))),
    }
}

/// Applies a patch to a document, an object with or without types.
pub fn apply(mut document: Value, patch: &[u8]) -> Result<Value, Error> {
    let bad = || Error::new("Invalid JSON Patch");
    let mut patch = json::open(patch).map_err(|_| bad())?;
    let mut opener = Opener::new();
    match opener.open(&mut patch) {
        ValueType::Object => Ok(merge(&mut opener, &mut document, patch)),
        ValueType::List => {
            prune(&mut opener, &mut patch);
            Ok(patch)
        }
        ValueType::Null | ValueType::Scalar => Err(bad()),
    }
}

/// Merges a patch into a value. The current value is consumed.
fn merge(opener: &mut Opener, current: &mut Value, mut patch: Value) -> Value {
    pintle_work::check();
    if opener.open(current) != ValueType::Object {
        prune(opener, &mut patch);
        return patch;
    }
    opener.open(&mut patch);
    let Some(changes) = patch.as_object() else { return patch };
    let (mut added, mut removed) = (Vec::new(), HashSet::new());
    for (name, change) in changes.entries() {
        match (change.is_null(), current.get_mut(name)) {
            (true, None) => {}
            (true, Some(_)) => {
                removed.insert(name.clone());
            }
            (false, Some(before)) if !before.is_null() => *before = merge(opener, before, change.clone()),
            (false, before) => {
                let mut new = change.clone();
                prune(opener, &mut new);
                match before {
                    Some(before) => *before = new,
                    None => added.push((name.clone(), new)),
                }
            }
        }
    }
    entries::update_fields(current, added, &removed);
    std::mem::take(current)
}

/// Removes nulls from objects, recursively.
fn prune(opener: &mut Opener, value: &mut Value) {
    opener.open(value);
    match value.node() {
        Node::Object(_) => {
            let Some(object) = value.as_object_mut() else { return };
            object.retain(|_, value| !value.is_null());
            object.iter_mut().for_each(|(_, value)| prune(opener, value));
        }
        Node::List(_) => {
            value.as_list_mut().into_iter().flatten().for_each(|item| prune(opener, item));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use pintle_codec::unstructured::decode_since;
    use pintle_meta::Object;
    use proptest::prelude::*;

    use super::*;
    use crate::strategic::properties::pods;

    #[track_caller]
    fn check(document: &str, patch: &str, expected: &str) {
        let document = json::decode_any(document.as_bytes()).unwrap().value;
        let mut text = Vec::new();
        json::encode(&apply(document, patch.as_bytes()).unwrap(), &mut text);
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn the_examples_of_the_rfc_are_applied() {
        check(r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#);
        check(r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#);
        check(r#"{"a":"b"}"#, r#"{"a":null}"#, "{}");
        check(r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#);
        check(r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#);
        check(r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#);
        check(r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#);
        check(r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#);
        check("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#);
    }

    #[test]
    fn nulls_in_new_values_are_dropped_unless_a_list_replaces_an_object() {
        check(r#"{"a":1}"#, r#"{"a":{"b":null,"c":[{"d":null},null]}}"#, r#"{"a":{"c":[{},null]}}"#);
        check(r#"{"a":null}"#, r#"{"a":{"b":null}}"#, r#"{"a":{}}"#);
        check(r#"{"a":{}}"#, r#"{"a":[{"b":null}]}"#, r#"{"a":[{"b":null}]}"#);
        check("{}", r#"[{"a":null}]"#, "[{}]");
    }

    #[test]
    fn patches_that_are_no_object_are_rejected() {
        for bad in ["", "null", "1", "\"x\"", "{"] {
            let document = Value::object(Object::new());
            assert_eq!(
                apply(document, bad.as_bytes()).unwrap_err().to_string(),
                "Invalid JSON Patch",
                "{bad}"
            );
        }
        assert_eq!(
            strict(b"[]").unwrap_err().to_string(),
            "json: cannot unmarshal array into Go value of type map[string]interface {}"
        );
        assert_eq!(strict(b"").unwrap_err().to_string(), "unexpected end of JSON input");
        assert_eq!(strict(br#"{"a":1,"a":2}"#).unwrap(), [r#"duplicate field "a""#]);
    }

    #[test]
    fn untouched_values_stay_as_written() {
        let pod = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"x":"y"}},
            "spec":{"containers":[{"name":"c","image":"i","args":["<"]}],"nodeName":"n"}}"#;
        let document =
            json::decode(pintle_schema::find("core/v1.Pod").unwrap(), pod.as_bytes()).unwrap().value;
        let patched = |patch: &str| {
            let mut text = Vec::new();
            json::encode(&apply(document.clone(), patch.as_bytes()).unwrap(), &mut text);
            String::from_utf8(text).unwrap()
        };
        // Ancestors of a change are sorted, and all else is in declaration order.
        assert_eq!(
            patched(r#"{"spec":{"nodeName":null,"priority":1e3}}"#),
            concat!(
                r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"x":"y"}},"#,
                r#""spec":{"containers":[{"name":"c","image":"i","args":["\u003c"],"resources":{}}],"priority":1e3},"#,
                r#""status":{}}"#
            )
        );
        // A list that replaces an object is not inspected.
        assert_eq!(
            patched(r#"{"metadata":[{"z":1.50, "a":null}],"spec":{"containers":[{"z":1.50, "a":null}]}}"#),
            concat!(
                r#"{"apiVersion":"v1","kind":"Pod","metadata":[{"z":1.50,"a":null}],"#,
                r#""spec":{"containers":[{"z":1.50}],"nodeName":"n"},"status":{}}"#
            )
        );
    }

    /// Takes milliseconds; anything quadratic would take minutes.
    #[test]
    fn a_hundred_thousand_fields_are_fast() {
        let fields = |letter: char, value: &str| {
            let fields: Vec<String> = (0..100_000).map(|n| format!(r#""{letter}{n:06}":{value}"#)).collect();
            format!("{{{}}}", fields.join(","))
        };
        let both = format!(
            "{},{}",
            fields('a', "1").trim_end_matches('}'),
            fields('z', "1").trim_start_matches('{')
        );
        check(&fields('z', "1"), &fields('a', "1"), &both);
        check(&both, &fields('a', "null"), &fields('z', "1"));
    }

    #[test]
    fn deep_documents_are_not_read_repeatedly() {
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(400), "]".repeat(400));
        let long = format!(r#""{}""#, "x".repeat(1 << 20));
        let patch = format!(r#"{{"a":{}}}"#, deep(&long));
        check("{}", &patch, &patch);
    }

    proptest! {
        #[test]
        fn the_result_decodes_like_its_json(document in pods(), mut patch in pods(), null in any::<bool>()) {
            let of = pintle_schema::find("core/v1.Pod").unwrap();
            let typed = |value: &Value| {
                let mut text = Vec::new();
                json::encode(value, &mut text);
                json::decode(of, &text).unwrap().value
            };
            if null && let Some(spec) = patch.get_mut("spec").and_then(Value::as_object_mut) {
                spec.insert("nodeSelector", Value::NULL);
            }
            let mut text = Vec::new();
            json::encode(&patch, &mut text);
            let before = typed(&document);
            let after = apply(before.clone(), &text).unwrap();
            prop_assert_eq!(decode_since(of, &after, &before), Some(typed(&after)));
        }
    }
}
