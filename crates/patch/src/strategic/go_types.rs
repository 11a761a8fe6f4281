//! Go types and formatting of values of documents and patches, for messages.

use std::fmt::Write;

use pintle_codec::unstructured::from_typed;
use pintle_meta::{Node, Value};
use pintle_schema::go::display;

use super::Error;

/// Go type of a value of the document or the patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Nil,
    Bool,
    Int,
    Float,
    String,
    List,
    Map,
}

impl Type {
    pub(super) fn of(value: &Value) -> Type {
        match value.node() {
            Node::Null | Node::Hollow => Type::Nil,
            Node::Bool(_) => Type::Bool,
            Node::Int(_) => Type::Int,
            Node::Float(_) => Type::Float,
            Node::String(_) | Node::Bytes(_) => Type::String,
            Node::List(_) => Type::List,
            Node::Object(_) | Node::Raw(_) => Type::Map,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Type::Nil => "%!s(<nil>)",
            Type::Bool => "bool",
            Type::Int => "int64",
            Type::Float => "float64",
            Type::String => "string",
            Type::List => "[]interface {}",
            Type::Map => "map[string]interface {}",
        }
    }
}

pub(super) fn wrong_type(expected: Type, actual: &Value) -> Error {
    let actual = Type::of(actual).name();
    Error::Failed(format!("expected a {}, but received a {actual}", expected.name()))
}

pub(super) fn no_merge_key(item: &Value, merge_key: &str) -> Error {
    let item = display(&from_typed(item));
    Error::Failed(format!("map: {item} does not contain declared merge key: {merge_key}"))
}

pub(super) fn unknown_directive(directive: &Value, patch: &Value) -> Error {
    let mut shown = String::new();
    push_as_text(directive, &mut shown);
    Error::Failed(format!("unknown patch type: {shown} in map: {}", display(patch)))
}

/// Returns the reference's error of comparing or looking up such values.
pub(super) fn not_comparable(value: &Value) -> Error {
    Error::Failed(format!("runtime error: hash of unhashable type {}", Type::of(value).name()))
}

/// Formats several lists as `%v`.
pub(super) fn lists(lists: [&[Value]; 2]) -> String {
    let shown = lists.map(|items| display(&from_typed(&Value::list(items.to_vec()))));
    format!("[{}]", shown.join(" "))
}

/// Formats as `%s`, which marks everything that is no string.
fn push_as_text(value: &Value, out: &mut String) {
    match value.node() {
        Node::String(text) => out.push_str(text),
        Node::List(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(' ');
                }
                push_as_text(item, out);
            }
            out.push(']');
        }
        Node::Object(object) => {
            out.push_str("map[");
            for (place, (key, value)) in object.iter().enumerate() {
                if place > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                push_as_text(value, out);
            }
            out.push(']');
        }
        _ => {
            // Writing to a string does not fail.
            let _ = match Type::of(value) {
                Type::Nil => write!(out, "%!s(<nil>)"),
                other => write!(out, "%!s({}={})", other.name(), display(value)),
            };
        }
    }
}
