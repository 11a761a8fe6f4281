//! Element of a path to a field.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_codec::json::write;
use pintle_meta::value::Key;
use pintle_meta::{Node, Value, quote};

use super::order::compare;

/// Path element: identifies a child of an object or a list.
#[derive(Clone, Debug)]
pub enum Element {
    /// Field of a struct, or entry of a map.
    Field(Key),
    /// Item of a list with these key fields, which are sorted by name.
    Key(Arc<[(Key, Value)]>),
    /// Item of a set with this value.
    Value(Value),
    /// Item of a list at this index. Occurs only in sets that clients made up.
    Index(i64),
}

impl Element {
    pub fn field(name: impl Into<Key>) -> Element {
        Element::Field(name.into())
    }

    /// Returns the element of an item with these key fields, in any order.
    pub fn key(fields: impl IntoIterator<Item = (Key, Value)>) -> Element {
        let mut fields: Vec<(Key, Value)> =
            fields.into_iter().map(|(name, value)| (name, plain(value))).collect();
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        Element::Key(fields.into())
    }

    pub fn value(value: Value) -> Element {
        Element::Value(plain(value))
    }
}

/// Normalizes a value to its JSON, with numbers as floats: that is what the reference decodes from `FieldsV1`, so it
/// is the value from the second write on.
fn plain(value: Value) -> Value {
    const EXACT: u64 = 1 << 53;
    match value.node() {
        Node::Int(number) if number.unsigned_abs() > EXACT => (number as f64).into(),
        Node::Bytes(bytes) => STANDARD.encode(bytes).into(),
        Node::Hollow => Value::literal(""),
        _ => value,
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Element) -> Ordering {
        match (self, other) {
            (Element::Field(a), Element::Field(b)) => a.cmp(b),
            (Element::Key(a), Element::Key(b)) => {
                let each = |((name, a), (other, b)): (&(Key, Value), &(Key, Value))| {
                    name.cmp(other).then_with(|| compare(a, b))
                };
                let unequal = a.iter().zip(b.iter()).map(each).find(|order| order.is_ne());
                unequal.unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Element::Value(a), Element::Value(b)) => compare(a, b),
            (Element::Index(a), Element::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl Element {
    fn rank(&self) -> u8 {
        match self {
            Element::Field(_) => 0,
            Element::Key(_) => 1,
            Element::Value(_) => 2,
            Element::Index(_) => 3,
        }
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Element) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Element) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Element {}

/// Formats the element as messages do: `.spec`, `[name="a"]`, `[="x"]`, `[3]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Field(name) => write!(f, ".{name}"),
            Element::Key(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name}={}", format_value(value))).collect();
                write!(f, "[{}]", fields.join(","))
            }
            Element::Value(value) => write!(f, "[={}]", format_value(value)),
            Element::Index(place) => write!(f, "[{place}]"),
        }
    }
}

fn format_value(value: &Value) -> String {
    match value.node() {
        Node::Bool(value) => value.to_string(),
        Node::Int(value) => value.to_string(),
        Node::Float(value) => {
            let mut out = Vec::new();
            write::float(value, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        }
        Node::String(text) => quote(text),
        Node::List(items) => {
            let items: Vec<String> = items.iter().map(format_value).collect();
            format!("[{}]", items.join(","))
        }
        Node::Object(object) => {
            object.iter().map(|(name, value)| format!("{name}={}", format_value(value))).collect()
        }
        Node::Null | Node::Bytes(_) | Node::Hollow | Node::Raw(_) => "null".into(),
    }
}
