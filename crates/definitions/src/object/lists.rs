//! Lists that are sets or maps: no two items are the same, or have the same keys.

use std::collections::HashMap;

use pintle_codec::json;
use pintle_meta::field_path::{Error, MOST_ERRORS, Path};
use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};
use pintle_schema::ListType;
use pintle_schema::structural::Structural;

use super::bounded_errors::BoundedErrors;
use super::coerce::error_value;

/// Returns the errors of the lists of a new object.
pub fn validate(schema: &Structural, object: &Value) -> Vec<Error> {
    let mut errors = BoundedErrors::default();
    walk(schema, object, &Path::NOWHERE, &mut errors);
    errors.errors
}

/// Returns the errors of the lists of an updated object; none if the old object had an invalid list.
pub fn validate_update(schema: &Structural, new: &Value, old: &Value) -> Vec<Error> {
    let errors = validate(schema, new);
    if errors.is_empty() || validate(schema, old).is_empty() { errors } else { Vec::new() }
}

/// Whether two items are the same.
pub(super) fn has_duplicates(items: &[Value]) -> bool {
    !duplicates(items.iter().map(Part::of)).is_empty()
}

fn walk(schema: &Structural, value: &Value, at: &Path<'_>, errors: &mut BoundedErrors) {
    if !schema.marks.keyed_lists || errors.is_full() {
        return;
    }
    match value.node() {
        Node::List(items) => {
            match schema.list {
                Some(ListType::Set) => {
                    for place in duplicates(items.iter().map(Part::of)) {
                        errors.push(|| Error::duplicate(&at.index(place), error_value(&items[place])));
                    }
                }
                Some(ListType::Map) => map(&schema.list_keys, items, at, errors),
                Some(ListType::Atomic) | None => {}
            }
            if let Some(of) = schema.items.as_deref() {
                items.iter().enumerate().for_each(|(place, item)| walk(of, item, &at.index(place), errors));
            }
        }
        Node::Object(object) => {
            if let Some(of) = schema.additional_schema() {
                object.iter().for_each(|(key, field)| walk(of, field, &at.key(key), errors));
            }
            for (name, field) in object.iter() {
                if let Some(of) = schema.property(name) {
                    walk(of, field, &at.child(name), errors);
                }
            }
        }
        _ => {}
    }
}

fn map(keys: &[Key], items: &[Value], at: &Path<'_>, errors: &mut BoundedErrors) {
    let is_item = |item: &Value| item.is_null() || item.as_object().is_some();
    if let Some(place) = items.iter().position(|item| !is_item(item)) {
        let wrong = "must be an object for an array of list-type map";
        errors.push(|| Error::invalid(&at.index(place), error_value(&items[place]), wrong));
        return;
    }
    // An item that is null has no keys, which is as good as one without them.
    let key_of = |item: &Value| {
        let of = |key: &Key| item.get(key).map(|value| (key.clone(), value.clone()));
        Value::object(Object::from_unsorted(keys.iter().filter_map(of).collect()))
    };
    let duplicates = match keys {
        [key] => duplicates(items.iter().map(|item| item.get(key).map_or(Part::Absent, Part::of))),
        _ => {
            let keys: Vec<Value> = items.iter().map(key_of).collect();
            duplicates(keys.iter().map(Part::of))
        }
    };
    for place in duplicates {
        errors.push(|| Error::duplicate(&at.index(place), error_value(&key_of(&items[place]))));
    }
}

/// The second of each that are the same.
fn duplicates<'v>(parts: impl ExactSizeIterator<Item = Part<'v>>) -> Vec<usize> {
    if parts.len() <= 1 {
        return Vec::new();
    }
    let mut seen: HashMap<Part<'v>, usize> = HashMap::with_capacity(parts.len());
    let mut duplicates = Vec::new();
    for (place, part) in parts.enumerate() {
        let times = seen.entry(part).or_default();
        *times += 1;
        if *times == 2 && duplicates.len() < MOST_ERRORS {
            duplicates.push(place);
        }
    }
    duplicates
}

/// An item, or its key, for the detection of duplicates.
#[derive(PartialEq, Eq, Hash)]
enum Part<'v> {
    Absent,
    Scalar(Scalar<'v>),
    /// Lists and objects, as JSON.
    Compound(Vec<u8>),
}

impl<'v> Part<'v> {
    fn of(value: &'v Value) -> Part<'v> {
        match Scalar::of(value) {
            Some(scalar) => Part::Scalar(scalar),
            None => {
                let mut text = Vec::new();
                json::encode(value, &mut text);
                Part::Compound(text)
            }
        }
    }
}

/// A value without parts. Integers and floats are never the same.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Scalar<'v> {
    Null,
    Bool(bool),
    Int(i64),
    /// Its bits, of which there is one zero.
    Float(u64),
    Text(&'v str),
}

impl<'v> Scalar<'v> {
    pub(super) fn of(value: &'v Value) -> Option<Scalar<'v>> {
        Some(match value.node() {
            Node::Null => Scalar::Null,
            Node::Bool(value) => Scalar::Bool(value),
            Node::Int(value) => Scalar::Int(value),
            Node::Float(value) => Scalar::Float((value + 0.0).to_bits()),
            Node::String(text) => Scalar::Text(text),
            _ => return None,
        })
    }
}
