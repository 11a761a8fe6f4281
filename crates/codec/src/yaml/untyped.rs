//! Decodes a document into an untyped tree, as apply configurations are.

use pintle_meta::{Node, Object, Value};

use super::to_json_strict;
use crate::{Decoded, Error, json};

/// Length past which a key is no simple key in YAML.
const MAX_KEY: usize = 1000;

/// Decodes a document that is an object, or null for an empty one, by the rules of [`json::decode_untyped`]; floats
/// without a fraction are integers. Errors have the messages of the reference's decoder of apply configurations.
///
/// Most clients send JSON, which is nearly a subset of YAML: JSON that surely means the same in both is decoded as
/// JSON.
pub fn decode_untyped(text: &[u8]) -> Result<Decoded, Error> {
    if let Some(decoded) = as_json(text) {
        return Ok(decoded);
    }
    let failed = |error: Error| Error::new(format!("error converting YAML to JSON: {error}"));
    let (text, strict) = to_json_strict(text).map_err(failed)?;
    let value = match json::decode_any(&text) {
        Ok(decoded) => decoded.value,
        Err(error) => return Err(unmarshaling(&error.to_string())),
    };
    let found = match value.node() {
        Node::Object(_) => return Ok(Decoded { value, strict }),
        Node::Null => return Ok(Decoded { value: Value::object(Object::new()), strict }),
        Node::List(_) => "array",
        Node::Bool(_) => "bool",
        Node::Int(_) | Node::Float(_) => "number",
        _ => "string",
    };
    Err(unmarshaling(&format!(
        "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    )))
}

fn unmarshaling(error: &str) -> Error {
    Error::new(format!("error unmarshaling JSON: while decoding JSON: {error}"))
}

fn as_json(text: &[u8]) -> Option<Decoded> {
    let is_object = text.trim_ascii_start().first() == Some(&b'{');
    let escapes = text.windows(2).any(|pair| pair == b"\\u");
    if !is_object || escapes || text.first()?.is_ascii_whitespace() || !is_plain(text) {
        return None;
    }
    let decoded = json::decode_untyped(text).ok().filter(|decoded| decoded.strict.is_empty())?;
    means_the_same(&decoded.value).then_some(decoded)
}

/// Returns whether the text has no characters that YAML rejects or treats as line breaks.
fn is_plain(text: &[u8]) -> bool {
    if text.is_ascii() {
        return !text.contains(&0x7F);
    }
    let odd = |c: char| {
        matches!(c, '\u{7F}'..='\u{9F}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
    };
    std::str::from_utf8(text).is_ok_and(|text| !text.chars().any(odd))
}

fn means_the_same(value: &Value) -> bool {
    match value.node() {
        Node::Float(_) => false,
        Node::List(items) => items.iter().all(means_the_same),
        Node::Object(object) => {
            object.iter().all(|(key, value)| key != "<<" && key.len() <= MAX_KEY && means_the_same(value))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn untyped(text: &str) -> String {
        match decode_untyped(text.as_bytes()) {
            Ok(decoded) => {
                let mut out = Vec::new();
                json::encode(&decoded.value, &mut out);
                format!("{}{}", String::from_utf8(out).unwrap(), decoded.strict.join("; "))
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn json_and_yaml_decode_alike() {
        assert_eq!(untyped("{\"b\": 1,\n\t\"a\":[true,null,\"x\\n\"]}"), r#"{"a":[true,null,"x\n"],"b":1}"#);
        assert_eq!(untyped("b: 1\na: [yes, ~, \"x\\n\"]\n"), r#"{"a":[true,null,"x\n"],"b":1}"#);
        // Numbers follow YAML's rules, also in JSON.
        assert_eq!(untyped(r#"{"a":1.0,"b":1e2,"c":1.5}"#), r#"{"a":1,"b":100,"c":1.5}"#);
        assert_eq!(untyped("a: 1.0\nc: 1.5"), r#"{"a":1,"c":1.5}"#);
        assert_eq!(untyped("{a: b}"), r#"{"a":"b"}"#);
        assert_eq!(untyped("{\"a\":\"\u{2028}x\"}"), untyped("a: \"\u{2028}x\""));
    }

    #[test]
    fn duplicate_keys_are_reported() {
        let told = "yaml: unmarshal errors:\n  line 1: key \"a\" already set in map";
        assert_eq!(untyped(r#"{"a":1,"a":2}"#), format!("{{\"a\":2}}{told}"));
    }

    #[test]
    fn documents_that_are_no_object_are_rejected() {
        assert_eq!(untyped(""), "{}");
        assert_eq!(untyped("null"), "{}");
        let refused = |what: &str| {
            format!(
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {what} into Go value of type \
                 map[string]interface {{}}"
            )
        };
        assert_eq!(untyped("[1]"), refused("array"));
        assert_eq!(untyped("abc"), refused("string"));
        assert_eq!(untyped("12"), refused("number"));
        assert_eq!(untyped("yes"), refused("bool"));
        assert!(untyped("{").starts_with("error converting YAML to JSON: yaml: line 1: "));
    }
}
