//! JSON merge patches (RFC 7386), with the reference's way of dropping nulls.

use pintle_codec::{Error, json};
use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};

/// What a strict reader minds about a patch; an error where it is no object at all.
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

/// The document, which is an object without types, after a patch.
pub fn apply(document: Value, patch: &[u8]) -> Result<Value, Error> {
    let bad = || Error::new("Invalid JSON Patch");
    let patch = json::decode_any(patch).map_err(|_| bad())?.value;
    match patch.node() {
        Node::Object(_) => Ok(merge(document, patch)),
        Node::List(_) => Ok(pruned(patch)),
        _ => Err(bad()),
    }
}

fn merge(current: Value, patch: Value) -> Value {
    if current.as_object().is_none() {
        return pruned(patch);
    }
    let Some(changes) = patch.as_object() else { return patch };
    let mut current = current;
    for (name, change) in changes.entries() {
        if current.get(name).is_none() && change.is_null() {
            continue;
        }
        let Some(object) = current.as_object_mut() else { break };
        match (change.is_null(), object.get_mut(name).filter(|before| !before.is_null())) {
            (true, _) => drop(object.remove(name)),
            (false, Some(before)) => *before = merge(std::mem::take(before), change.clone()),
            (false, None) => drop(object.insert(name.clone(), pruned(change.clone()))),
        }
    }
    current
}

/// Without the nulls in objects, as deep as it goes.
fn pruned(value: Value) -> Value {
    match value.node() {
        Node::Object(object) => {
            let kept = object.entries().iter().filter(|(_, value)| !value.is_null());
            let kept: Vec<(Key, Value)> =
                kept.map(|(name, value)| (name.clone(), pruned(value.clone()))).collect();
            Value::object(Object::from_unsorted(kept))
        }
        Node::List(items) => Value::list(items.iter().cloned().map(pruned).collect()),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(document: &str, patch: &str, expected: &str) {
        let document = json::decode_any(document.as_bytes()).unwrap().value;
        let mut text = Vec::new();
        json::encode(&apply(document, patch.as_bytes()).unwrap(), &mut text);
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn the_examples_of_the_rfc_come_out() {
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
    fn nulls_below_what_is_new_are_dropped_unless_an_object_becomes_a_list() {
        check(r#"{"a":1}"#, r#"{"a":{"b":null,"c":[{"d":null},null]}}"#, r#"{"a":{"c":[{},null]}}"#);
        check(r#"{"a":null}"#, r#"{"a":{"b":null}}"#, r#"{"a":{}}"#);
        check(r#"{"a":{}}"#, r#"{"a":[{"b":null}]}"#, r#"{"a":[{"b":null}]}"#);
        check("{}", r#"[{"a":null}]"#, "[{}]");
    }

    #[test]
    fn what_is_no_object_is_refused() {
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
}
