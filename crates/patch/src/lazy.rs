//! Documents that are decoded only along the paths of a patch.
//!
//! The reference keeps values that a patch does not touch as raw JSON, and so does Pintle: a typed tree stays one
//! (with fields in declaration order), and the patch's own values stay as written, including number notation and
//! order. Only ancestors of changes are opened, and become untyped objects. That is cheap, and it is what clients see
//! in the messages of rejected results.

use pintle_codec::json;
use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};

/// Limit of JSON opened level by level. A deep document would be read once per level; past the limit it is decoded at
/// once.
const MAX_OPENED: usize = 64 << 20;

/// JSON type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    Null,
    Scalar,
    List,
    Object,
}

#[derive(Debug)]
pub(crate) struct Opener {
    left: usize,
}

impl Opener {
    pub(crate) fn new() -> Opener {
        Opener { left: MAX_OPENED }
    }

    /// Opens a list or object, so that its children can be reached.
    pub(crate) fn open(&mut self, value: &mut Value) -> ValueType {
        let value_type = value_type(value);
        match value.node() {
            Node::Raw(raw) if matches!(value_type, ValueType::List | ValueType::Object) => {
                let opened = match self.left.checked_sub(raw.len()) {
                    Some(left) => {
                        self.left = left;
                        json::open(raw)
                    }
                    None => json::decode_any(raw).map(|decoded| decoded.value),
                };
                // It was validated before.
                *value = opened.unwrap_or_default();
            }
            Node::Object(object) if object.layout().is_some() => {
                let visible =
                    object.entries().iter().filter(|(_, value)| !matches!(value.node(), Node::Hollow));
                let entries: Vec<(Key, Value)> = visible.cloned().collect();
                *value = Value::object(Object::from_unsorted(entries));
            }
            _ => {}
        }
        value_type
    }
}

pub(crate) fn value_type(value: &Value) -> ValueType {
    match value.node() {
        Node::Null => ValueType::Null,
        Node::List(_) => ValueType::List,
        Node::Object(_) => ValueType::Object,
        Node::Raw(raw) => match raw.trim_ascii_start().first() {
            Some(b'{') => ValueType::Object,
            Some(b'[') => ValueType::List,
            Some(b'n') | None => ValueType::Null,
            Some(_) => ValueType::Scalar,
        },
        _ => ValueType::Scalar,
    }
}

/// Returns the nesting depth of lists and objects, which decoders and patches bound.
pub(crate) fn depth(value: &Value) -> usize {
    match value.node() {
        Node::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Node::Object(object) => 1 + object.iter().map(|(_, value)| depth(value)).max().unwrap_or(0),
        Node::Raw(raw) => raw_depth(raw),
        _ => 0,
    }
}

fn raw_depth(raw: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in raw {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
