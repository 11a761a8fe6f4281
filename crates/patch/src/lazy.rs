//! Documents that are opened only as far as a patch reaches into them.
//!
//! The reference keeps what a patch does not touch as the JSON it was, and so do we: a typed tree stays one (whose fields are
//! in the order of their declaration), and the patch's own values stay as they were written, numbers and order and all.
//! Only what lies on the way is opened, and becomes an object without a type. That is cheap, and it is what clients see when
//! what comes out is refused.

use pintle_codec::json;
use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};

/// How much JSON may be opened level by level. Nobody writes so much; but what is deep would be read as often as it has
/// levels.
const MAX_OPENED: usize = 64 << 20;

/// What something is, seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
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

    /// Opens a list or object, so that what is in it can be reached.
    pub(crate) fn open(&mut self, value: &mut Value) -> Form {
        let form = form(value);
        match value.node() {
            Node::Raw(raw) if matches!(form, Form::List | Form::Object) => {
                let opened = match self.left.checked_sub(raw.len()) {
                    Some(left) => {
                        self.left = left;
                        json::open(raw)
                    }
                    None => json::decode_any(raw).map(|decoded| decoded.value),
                };
                // It was read before.
                *value = opened.unwrap_or_default();
            }
            Node::Object(object) if object.layout().is_some() => {
                let shown =
                    object.entries().iter().filter(|(_, value)| !matches!(value.node(), Node::Hollow));
                let entries: Vec<(Key, Value)> = shown.cloned().collect();
                *value = Value::object(Object::from_unsorted(entries));
            }
            _ => {}
        }
        form
    }
}

pub(crate) fn form(value: &Value) -> Form {
    match value.node() {
        Node::Null => Form::Null,
        Node::List(_) => Form::List,
        Node::Object(_) => Form::Object,
        Node::Raw(raw) => match raw.trim_ascii_start().first() {
            Some(b'{') => Form::Object,
            Some(b'[') => Form::List,
            Some(b'n') | None => Form::Null,
            Some(_) => Form::Scalar,
        },
        _ => Form::Scalar,
    }
}

/// How many lists and objects lie in each other; no tree has more than a decoder or a patch lets it have.
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
