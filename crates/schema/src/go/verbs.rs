//! `%v` and `%#v` of what messages print that way: decoded JSON (a patch), lists and maps of strings and numbers. No message
//! prints a struct like that.

use std::fmt::Write;

use pintle_meta::{Node, Value, field_path, push_quoted};

/// `%v`, which is the same as `%+v` here: `map[spec:map[replicas:x]]`, `[a b]`, `<nil>`.
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
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
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
            for (place, (key, value)) in entries.into_iter().enumerate() {
                if place > 0 {
                    out.push(' ');
                }
                let _ = write!(out, "{key}:");
                push_display(value, out);
            }
            out.write_str("]")
        }
    };
}

/// A `[]byte` is a list of numbers.
fn spaced(bytes: &[u8]) -> String {
    let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
    format!("[{}]", numbers.join(" "))
}

/// `%#v` of a list of strings: `[]string{"a", "b"}`.
pub fn sharp<S: AsRef<str>>(texts: &[S]) -> String {
    let mut out = String::from("[]string{");
    for (place, text) in texts.iter().enumerate() {
        if place > 0 {
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
    fn decoded_json_shows_as_go_prints_maps_and_lists() {
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
    fn lists_of_strings_show_as_go_source() {
        assert_eq!(sharp(&["a/b", "c\""]), r#"[]string{"a/b", "c\""}"#);
        assert_eq!(sharp(&[""; 0]), "[]string{}");
    }
}
