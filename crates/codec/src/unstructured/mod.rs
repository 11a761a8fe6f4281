//! Conversion between typed and untyped trees, as the reference converts between structs and `Unstructured`.
//!
//! A patch works on the untyped form ([`from_typed`]), and its result is converted back to its type ([`to_typed`]).
//! That differs from JSON decoding: integers are truncated, errors have other messages, and strict errors are only
//! about unknown fields, sorted.

mod to_typed;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};

pub use to_typed::{decode_since, to_typed, to_typed_since};

use crate::json;

/// Converts a tree to the form of `Unstructured`: keys sorted, bytes as base64, raw JSON decoded. Untyped parts are
/// shared, not copied.
pub fn from_typed(value: &Value) -> Value {
    match value.node() {
        Node::Bytes(bytes) => STANDARD.encode(bytes).into(),
        Node::Hollow => Value::literal(""),
        // Invalid JSON can only come from protobuf; JSON answers have null there too.
        Node::Raw(raw) => json::decode_any(raw).map_or(Value::NULL, |decoded| decoded.value),
        Node::List(items) => {
            let plain: Vec<Value> = items.iter().map(from_typed).collect();
            if plain.iter().zip(items).all(|(new, old)| new.is_same(old)) {
                value.clone()
            } else {
                Value::list(plain)
            }
        }
        Node::Object(object) => {
            let visible = object.entries().iter().filter(|(_, value)| !matches!(value.node(), Node::Hollow));
            let plain: Vec<(Key, Value)> =
                visible.map(|(key, value)| (key.clone(), from_typed(value))).collect();
            if object.layout().is_none() && is_unchanged(&plain, object) {
                value.clone()
            } else {
                Value::object(Object::from_unsorted(plain))
            }
        }
        _ => value.clone(),
    }
}

/// Returns whether entries equal those of an object, in its order.
fn is_unchanged(entries: &[(Key, Value)], object: &Object) -> bool {
    let same = |(new, old): (&(Key, Value), &(Key, Value))| new.0 == old.0 && new.1.is_same(&old.1);
    entries.len() == object.len() && entries.iter().zip(object.entries()).all(same)
}

#[cfg(test)]
mod tests;
