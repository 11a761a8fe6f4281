//! Between the versions of a built-in kind.
//!
//! The reference decodes every object into an internal type and encodes it from there. Here a kind's **hub** stands for the
//! internal type: the version in which the kind is stored, or the newest one of a kind that is not stored. What happens on
//! the way there and back is said by two tables that the groups fill in:
//!
//! - a [`Pair`] per struct that has other fields in another version than in the hub;
//! - a [`Fix`] per struct of a hub that the way through the internal type changes although the version stays the same.
//!
//! ```text
//! autoscaling/v1 ──pairs──▶ autoscaling/v2 ──fixes──▶ autoscaling/v2 ──pairs──▶ autoscaling/v1
//!                              the hub
//! ```
//!
//! Everything else is the graph's business: fields of the same name go over, and where two types have the same shape all the
//! way down (which most have), the tree is shared as it is. Only the root's `apiVersion` is touched then; objects below keep
//! the layout of the version they came from, which has the same names in the same order.

mod fields;
mod fix;
mod tables;
mod walk;

use std::borrow::Cow;

use pintle_meta::value::Key;
use pintle_meta::{Object, Value};
use pintle_schema::{Type, find_kind};

pub(crate) use self::fields::{Fields, build};
pub(crate) use self::tables::{Fix, Pair};
pub(crate) use self::walk::{by_name, nested};

/// Why an object cannot be had in another version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("no kind {kind:?} is registered for version {api_version:?}")]
    UnknownKind { api_version: String, kind: String },
    #[error("converting ({from}) to ({to}): unknown conversion")]
    Unrelated { from: &'static str, to: &'static str },
    /// Something in the object that the other version cannot hold, in the reference's words.
    #[error("{0}")]
    Invalid(String),
}

/// The object in another version, or in its own as the reference would give it back. The object says what it is.
pub fn convert(to: &'static Type, value: Value) -> Result<Value, Error> {
    let said = value.group_version_kind();
    let from = find_kind(&said.group, &said.version, &said.kind)
        .ok_or_else(|| Error::UnknownKind { api_version: value.api_version().into(), kind: said.kind })?;
    convert_from(from, to, value)
}

/// As [`convert`], for objects that do not say what they are, such as the items of a list.
pub fn convert_from(from: &'static Type, to: &'static Type, mut value: Value) -> Result<Value, Error> {
    let tables = tables::tables();
    let hub = tables.hub(from);
    if hub != tables.hub(to) {
        return Err(Error::Unrelated { from: from.go_name(), to: to.go_name() });
    }
    if !tables.is_same_as_hub(from) {
        value = walk::structure(from, hub, &value)?;
    }
    if let Some(fixed) = fix::fix(hub, &value)? {
        value = fixed;
    }
    if !tables.is_same_as_hub(to) {
        value = walk::structure(hub, to, &value)?;
    }
    if from != to {
        stamp(to, &mut value);
    }
    Ok(value)
}

/// What decoding into the internal type and encoding from it changes about an object whose version stays the same. What
/// does not change is not copied.
pub fn round_trip(of: &'static Type, value: &mut Value) -> Result<(), Error> {
    let tables = tables::tables();
    let hub = tables.hub(of);
    if tables.is_same_as_hub(of) {
        if let Some(fixed) = fix::fix(hub, value)? {
            *value = fixed;
        }
        return Ok(());
    }
    let converted = convert_from(of, of, value.clone())?;
    if converted != *value {
        *value = converted;
    }
    Ok(())
}

/// The version of a kind through which all others are converted. For what is stored, it is the stored one.
pub fn hub(of: &'static Type) -> &'static Type {
    tables::tables().hub(of)
}

/// Whether two versions of a kind differ in nothing but their name, so that converting costs nothing.
pub fn is_same(a: &'static Type, b: &'static Type) -> bool {
    let tables = tables::tables();
    tables.hub(a) == tables.hub(b) && tables.is_same_as_hub(a) && tables.is_same_as_hub(b)
}

/// Lets an object say its new kind, if it said one. Items of lists say none.
fn stamp(of: &'static Type, value: &mut Value) {
    let api_version = match of.api_version() {
        Cow::Borrowed(text) => Value::literal(text),
        Cow::Owned(text) => text.into(),
    };
    let Some(object) = value.as_object() else { return };
    let says = object.contains("apiVersion");
    let items = of.kind_name().ends_with("List").then(|| object.get("items")).flatten();
    let items =
        items.and_then(Value::as_list).filter(|items| items.iter().any(|item| item.get("kind").is_some()));
    let items: Option<Vec<Value>> = items.map(|items| items.iter().map(without_kind).collect());
    let Some(object) = value.as_object_mut() else { return };
    if says {
        object.insert(Key::new_static("kind"), Value::literal(of.kind_name()));
        object.insert(Key::new_static("apiVersion"), api_version);
    }
    if let Some(items) = items {
        object.insert(Key::new_static("items"), items);
    }
}

fn without_kind(item: &Value) -> Value {
    let mut item = item.clone();
    if let Some(object) = item.as_object_mut() {
        object.remove("kind");
        object.remove("apiVersion");
    }
    item
}

/// Sets an annotation in an object's metadata.
pub(crate) fn set_annotation(metadata: &mut Value, key: &'static str, value: impl Into<Value>) {
    let Some(metadata) = metadata.as_object_mut() else { return };
    let annotations = metadata.get_or_insert_with(Key::new_static("annotations"), || Object::new().into());
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(Key::new_static(key), value);
    }
}

/// The metadata without some annotations, if it had any of them.
pub(crate) fn without_annotations(metadata: &Value, keys: &[&str]) -> Option<Value> {
    let annotations = metadata.get("annotations")?.as_object()?;
    if !keys.iter().any(|key| annotations.contains(key)) {
        return None;
    }
    let mut left = annotations.clone();
    left.retain(|key, _| !keys.contains(&key));
    let mut metadata = metadata.clone();
    let object = metadata.as_object_mut()?;
    if left.is_empty() {
        object.remove("annotations");
    } else {
        object.insert(Key::new_static("annotations"), left);
    }
    Some(metadata)
}

/// The object with other metadata.
pub(crate) fn with_metadata(value: &Value, metadata: Value) -> Value {
    with(value, "metadata", metadata)
}

/// The object with another value of a field.
pub(crate) fn with(value: &Value, field: &'static str, new: impl Into<Value>) -> Value {
    let mut value = value.clone();
    if let Some(object) = value.as_object_mut() {
        object.insert(Key::new_static(field), new);
    }
    value
}

#[cfg(test)]
mod tests;
