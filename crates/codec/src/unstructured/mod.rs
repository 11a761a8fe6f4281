//! Trees of known types to trees without a type, and back, as the reference's converter between structs and
//! `Unstructured` does it.
//!
//! A patch works on the untyped form ([`from_typed`]), and what comes out of it is read into its type again ([`to_typed`]). That
//! is no JSON decoding: integers are cut to their width, the words of errors are others, and strict errors are only about
//! unknown fields, sorted.

mod to_typed;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};

pub use to_typed::{decode_since, to_typed, to_typed_since};

use crate::json;

/// A tree as `Unstructured` holds it: keys sorted, bytes as base64, raw JSON read. What has no type already stays the same in
/// memory.
pub fn from_typed(value: &Value) -> Value {
    match value.node() {
        Node::Bytes(bytes) => STANDARD.encode(bytes).into(),
        Node::Hollow => Value::literal(""),
        // What is no JSON can only come from protobuf; it is null in JSON too.
        Node::Raw(raw) => json::decode_any(raw).map_or(Value::NULL, |decoded| decoded.value),
        Node::List(items) => {
            let plain: Vec<Value> = items.iter().map(from_typed).collect();
            match plain.iter().zip(items).all(|(new, old)| new.is_same(old)) {
                true => value.clone(),
                false => Value::list(plain),
            }
        }
        Node::Object(object) => {
            let shown = object.entries().iter().filter(|(_, value)| !matches!(value.node(), Node::Hollow));
            let plain: Vec<(Key, Value)> =
                shown.map(|(key, value)| (key.clone(), from_typed(value))).collect();
            match object.layout().is_none() && is_unchanged(&plain, object) {
                true => value.clone(),
                false => Value::object(Object::from_unsorted(plain)),
            }
        }
        _ => value.clone(),
    }
}

/// Whether entries are those of an object, in its order.
fn is_unchanged(entries: &[(Key, Value)], object: &Object) -> bool {
    let same = |(new, old): (&(Key, Value), &(Key, Value))| new.0 == old.0 && new.1.is_same(&old.1);
    entries.len() == object.len() && entries.iter().zip(object.entries()).all(same)
}

#[cfg(test)]
mod tests;
