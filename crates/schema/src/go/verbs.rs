//! `%v` and `%#v` of values that messages print so: decoded JSON (a patch), lists and maps of strings and numbers. No
//! message prints a struct so.

use std::fmt::Write;

use pintle_meta::{Node, Value, field_path, push_quoted};

/// Formats as `%v`, which equals `%+v` here: `map[spec:map[replicas:x]]`, `[a b]`, `<nil>`.
pub fn display(value: &Value) -> String {
    let mut out = String::new();
    push_display(value, &mut out);
    out
}

fn push_display(value: &Value, out: &mut String) {
    // Writing to a string does not fail.
    let _ = match value.node() {
        Node::Null => out.write_str("<nil>"),
        Node::Bool(value) => write!(out, "{value}"),
        Node::Int(value) => write!(out, "{value}"),
        Node::Float(value) => write!(out, "{}", field_path::Value::from(value)),
        Node::String(value) => out.write_str(value),
        Node::Bytes(value) => write!(out, "{}", spaced(value)),
        Node::Raw(value) => write!(out, "{}", spaced(value)),
        Node::Hollow => out.write_str("[]"),
        Node::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                push_display(item, out);
            }
            out.write_str("]")
        }
        Node::Object(object) => {
            let mut entries: Vec<(&str, &Value)> = object.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push_str("map[");
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                let _ = write!(out, "{key}:");
                push_display(value, out);
            }
            out.write_str("]")
        }
    };
}

/// Formats decoded JSON as `%#v`: `map[string]interface {}{"a":1}`, `[]interface {}{"x", interface {}(nil)}`, `5`.
pub fn source(value: &Value) -> String {
    let mut out = String::new();
    push_source(value, &mut out);
    out
}

fn push_source(value: &Value, out: &mut String) {
    match value.node() {
        Node::Null => out.push_str("interface {}(nil)"),
        Node::Bool(_) | Node::Int(_) | Node::Float(_) => push_display(value, out),
        Node::String(text) => push_quoted(out, text),
        Node::Bytes(_) | Node::Raw(_) | Node::Hollow => push_display(value, out),
        Node::List(items) => {
            out.push_str("[]interface {}{");
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                push_source(item, out);
            }
            out.push('}');
        }
        Node::Object(object) => {
            let mut entries: Vec<(&str, &Value)> = object.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push_str("map[string]interface {}{");
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                push_quoted(out, key);
                out.push(':');
                push_source(value, out);
            }
            out.push('}');
        }
    }
}

/// Formats decoded JSON as `%T`.
pub fn type_name(value: &Value) -> &'static str {
    match value.node() {
        Node::Null => "<nil>",
        Node::Bool(_) => "bool",
        Node::Int(_) => "int64",
        Node::Float(_) => "float64",
        Node::String(_) => "string",
        Node::Bytes(_) | Node::Raw(_) | Node::Hollow => "[]uint8",
        Node::List(_) => "[]interface {}",
        Node::Object(_) => "map[string]interface {}",
    }
}

/// Formats a `[]byte` as a list of numbers.
fn spaced(bytes: &[u8]) -> String {
    let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
    format!("[{}]", numbers.join(" "))
}

/// Formats a list of strings as `%#v`: `[]string{"a", "b"}`.
pub fn sharp<S: AsRef<str>>(texts: &[S]) -> String {
    let mut out = String::from("[]string{");
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        push_quoted(&mut out, text.as_ref());
    }
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
        Value::object(entries.into_iter().collect())
    }

    #[test]
    fn decoded_json_is_formatted_as_gos_v_verb() {
        let patch = map([
            ("spec", map([("replicas", "x".into()), ("paused", 1i64.into()), ("ratio", 0.5.into())])),
            ("list", Value::list(vec!["a".into(), Value::NULL, true.into(), Value::list(vec![])])),
            ("empty", map([])),
        ]);
        let want = "map[empty:map[] list:[a <nil> true []] spec:map[paused:1 ratio:0.5 replicas:x]]";
        assert_eq!(display(&patch), want);
        assert_eq!(display(&Value::bytes(*b"hi")), "[104 105]");
        assert_eq!(display(&1e21.into()), "1e+21");
    }

    #[test]
    fn decoded_json_is_formatted_as_go_syntax() {
        let list = Value::list(vec!["a".into(), Value::NULL, 1i64.into(), 1.5.into(), true.into()]);
        let object = map([("l", list), ("e", map([]))]);
        assert_eq!(
            source(&object),
            r#"map[string]interface {}{"e":map[string]interface {}{}, "l":[]interface {}{"a", interface {}(nil), 1, 1.5, true}}"#
        );
        assert_eq!(
            [&object, &"a".into(), &1.5.into()].map(type_name),
            ["map[string]interface {}", "string", "float64"]
        );
    }

    #[test]
    fn lists_of_strings_are_formatted_as_go_syntax() {
        assert_eq!(sharp(&["a/b", "c\""]), r#"[]string{"a/b", "c\""}"#);
        assert_eq!(sharp(&[""; 0]), "[]string{}");
    }
}
