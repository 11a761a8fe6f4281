//! The tree of an object in memory, built-in and custom alike.
//!
//! A tree is in **normal form**. A built-in kind holds what the reference's Go struct prints: fields in declaration
//! order, value fields present, fields absent as `omitempty` and `omitzero` say, quantities canonical, times in UTC
//! and truncated to their precision. Untyped parts and custom resources hold what `Unstructured` does: keys sorted
//! bytewise, integers and floats apart, nulls kept. Decoders build normal trees; code that changes one keeps it
//! normal (an empty list of a field with `omitempty` is removed, not set).
//!
//! Clones share: a tree's lists and objects are copied only when a clone is changed, and then only along the path to
//! the change. The representation of a node is private, so that it can change; [`Value::node`] is for matching.

mod metadata;
mod object;
mod view;

use std::fmt;
use std::sync::Arc;

use smol_str::SmolStr;

pub use self::object::{Key, Layout, Object};
pub use self::view::ViewError;

/// Node of the tree with everything below it.
#[derive(Clone, PartialEq)]
pub struct Value(Repr);

#[derive(Clone, PartialEq)]
enum Repr {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(SmolStr),
    Bytes(Arc<[u8]>),
    /// Present but empty bytes of a field with `omitempty`: protobuf encodes them and JSON does not.
    Hollow,
    Raw(Arc<[u8]>),
    List(Arc<Vec<Value>>),
    Object(Arc<Object>),
}

/// Contents of a [`Value`], to match on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(&'a str),
    /// Base64 in JSON.
    Bytes(&'a [u8]),
    /// Empty bytes, or an empty list, that JSON omits; see [`Value::hollow`].
    Hollow,
    /// JSON text (or, from protobuf, perhaps something else) that was not decoded: `FieldsV1`, `RawExtension`.
    Raw(&'a [u8]),
    List(&'a [Value]),
    Object(&'a Object),
}

impl Value {
    pub const NULL: Value = Value(Repr::Null);

    pub fn string(text: impl AsRef<str>) -> Value {
        Value(Repr::String(SmolStr::new(text)))
    }

    /// A static string, which needs no allocation.
    pub const fn literal(text: &'static str) -> Value {
        Value(Repr::String(SmolStr::new_static(text)))
    }

    pub fn bytes(bytes: impl Into<Arc<[u8]>>) -> Value {
        Value(Repr::Bytes(bytes.into()))
    }

    /// Empty bytes of a field with `omitempty`, or an empty list of one where that differs from an absent list.
    pub const fn hollow() -> Value {
        Value(Repr::Hollow)
    }

    /// Raw JSON, preserved to the byte.
    pub fn raw(json: impl Into<Arc<[u8]>>) -> Value {
        Value(Repr::Raw(json.into()))
    }

    pub fn list(items: Vec<Value>) -> Value {
        Value(Repr::List(Arc::new(items)))
    }

    pub fn object(object: Object) -> Value {
        Value(Repr::Object(Arc::new(object)))
    }

    pub fn node(&self) -> Node<'_> {
        match &self.0 {
            Repr::Null => Node::Null,
            Repr::Bool(value) => Node::Bool(*value),
            Repr::Int(value) => Node::Int(*value),
            Repr::Float(value) => Node::Float(*value),
            Repr::String(value) => Node::String(value),
            Repr::Bytes(value) => Node::Bytes(value),
            Repr::Hollow => Node::Hollow,
            Repr::Raw(value) => Node::Raw(value),
            Repr::List(value) => Node::List(value),
            Repr::Object(value) => Node::Object(value),
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.0, Repr::Null)
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self.0 {
            Repr::Bool(value) => Some(value),
            _ => None,
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Int(value) => Some(value),
            _ => None,
        }
    }

    /// Returns a float, or an integer as one.
    pub fn as_f64(&self) -> Option<f64> {
        match self.0 {
            Repr::Float(value) => Some(value),
            Repr::Int(value) => Some(value as f64),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::String(value) => Some(value),
            _ => None,
        }
    }

    pub fn as_bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            Repr::Bytes(value) => Some(value),
            Repr::Hollow => Some(&[]),
            _ => None,
        }
    }

    pub fn as_raw(&self) -> Option<&[u8]> {
        match &self.0 {
            Repr::Raw(value) => Some(value),
            _ => None,
        }
    }

    pub fn as_list(&self) -> Option<&[Value]> {
        match &self.0 {
            Repr::List(value) => Some(value),
            _ => None,
        }
    }

    /// Returns a mutable list; copies it (not its items) if it is shared.
    pub fn as_list_mut(&mut self) -> Option<&mut Vec<Value>> {
        match &mut self.0 {
            Repr::List(value) => Some(Arc::make_mut(value)),
            _ => None,
        }
    }

    pub fn as_object(&self) -> Option<&Object> {
        match &self.0 {
            Repr::Object(value) => Some(value),
            _ => None,
        }
    }

    /// Returns a mutable object; copies it (not its values) if it is shared.
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        match &mut self.0 {
            Repr::Object(value) => Some(Arc::make_mut(value)),
            _ => None,
        }
    }

    /// Returns a field of an object; `None` also if this is no object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        // Looked up first, so that a missing field does not cause a copy.
        self.get(key)?;
        self.as_object_mut()?.get_mut(key)
    }

    /// Returns the value at a path of fields.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    pub fn at_mut(&mut self, path: &[&str]) -> Option<&mut Value> {
        path.iter().try_fold(self, |value, key| value.get_mut(key))
    }

    /// Returns the text at a path of fields; empty if there is none.
    pub fn text_at(&self, path: &[&str]) -> &str {
        self.at(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the items of the list at a path of fields; empty if there is none.
    pub fn items_at(&self, path: &[&str]) -> &[Value] {
        self.at(path).and_then(Value::as_list).unwrap_or_default()
    }

    /// Returns whether both are the same node in memory, so that their contents need no comparison.
    pub fn is_same(&self, other: &Value) -> bool {
        match (&self.0, &other.0) {
            (Repr::List(a), Repr::List(b)) => Arc::ptr_eq(a, b),
            (Repr::Object(a), Repr::Object(b)) => Arc::ptr_eq(a, b),
            (Repr::Raw(a), Repr::Raw(b)) | (Repr::Bytes(a), Repr::Bytes(b)) => Arc::ptr_eq(a, b),
            _ => self == other,
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node() {
            Node::Null => f.write_str("null"),
            Node::Bool(value) => value.fmt(f),
            Node::Int(value) => value.fmt(f),
            Node::Float(value) => value.fmt(f),
            Node::String(value) => value.fmt(f),
            Node::Bytes(value) => write!(f, "bytes({})", value.escape_ascii()),
            Node::Hollow => f.write_str("hollow"),
            Node::Raw(value) => write!(f, "raw({})", value.escape_ascii()),
            Node::List(value) => value.fmt(f),
            Node::Object(value) => value.fmt(f),
        }
    }
}

impl Default for Value {
    fn default() -> Value {
        Value::NULL
    }
}

macro_rules! from {
    ($($source:ty => $variant:ident $convert:expr;)*) => {
        $(impl From<$source> for Value {
            fn from(value: $source) -> Value {
                Value(Repr::$variant($convert(value)))
            }
        })*
    };
}

from! {
    bool => Bool std::convert::identity;
    i32 => Int i64::from;
    u32 => Int i64::from;
    i64 => Int std::convert::identity;
    f64 => Float std::convert::identity;
    &str => String SmolStr::new;
    String => String SmolStr::from;
    SmolStr => String std::convert::identity;
    Vec<Value> => List Arc::new;
    Object => Object Arc::new;
}

#[cfg(test)]
mod tests;
