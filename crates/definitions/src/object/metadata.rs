//! Metadata of objects without a type, which is `ObjectMeta` all the same.
//!
//! The reference reads it as its type and writes it back, which loses unknown fields and empty ones. Here it is looked at
//! first, and only read if something would not come back as it is.

use std::fmt::Write;
use std::sync::LazyLock;

use pintle_codec::json;
use pintle_codec::unstructured::from_typed;
use pintle_meta::time::Time;
use pintle_meta::value::Object;
use pintle_meta::{Node, Value};
use pintle_schema::{Field, Kind, Opaque, Scalar, Shape, Struct, Type, go};

static OBJECT_META: LazyLock<&'static Type> =
    LazyLock::new(|| pintle_schema::find("meta/v1.ObjectMeta").expect("part of the type graph"));

/// As Go's decoder, which collects no more.
const MAX_UNKNOWN: usize = 100;

/// Decoded metadata.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    /// Nothing if it stays.
    pub(super) changed: Option<Value>,
    /// Fields that `ObjectMeta` does not have, below it: `managedFields[0].foo`.
    pub(super) unknown: Vec<String>,
}

/// Reads metadata as its type. What does not fit is left out if `drop` says so.
pub(super) fn read(metadata: &Value, drop: bool) -> Result<Metadata, String> {
    let shape = Shape::Named(*OBJECT_META);
    if comes_back(shape, metadata) {
        return Ok(Metadata::default());
    }
    let mut unknown = Vec::new();
    unknown_fields(shape, metadata, &mut String::new(), &mut unknown);
    let changed = match (typed(metadata), metadata.as_object()) {
        (Ok(typed), _) => typed,
        (Err(error), _) if !drop => return Err(error),
        (Err(_), None) => {
            return Err(format!("invalid metadata: expected object, got {}", go::type_name(metadata)));
        }
        // Field by field, and those that cannot be read are left out.
        (Err(_), Some(object)) => {
            let mut read = Object::new();
            for (key, value) in object.entries() {
                let one = Value::object(Object::from_iter([(key.clone(), value.clone())]));
                if let Some(fields) = typed(&one).ok().as_ref().and_then(Value::as_object) {
                    fields
                        .entries()
                        .iter()
                        .for_each(|(key, value)| _ = read.insert(key.clone(), value.clone()));
                }
            }
            Value::object(read)
        }
    };
    Ok(Metadata { changed: Some(changed), unknown })
}

/// As what reads the type and writes it again has it.
fn typed(metadata: &Value) -> Result<Value, String> {
    let mut text = Vec::new();
    json::encode(metadata, &mut text);
    let decoded = json::decode(*OBJECT_META, &text).map_err(|error| error.to_string())?;
    Ok(from_typed(&decoded.value))
}

/// Whether a value, read as its type and written again, is what it is now.
fn comes_back(shape: Shape, value: &Value) -> bool {
    let mut shape = shape;
    while let Shape::Pointer(to) = shape {
        shape = *to;
    }
    match (shape.underlying(), value.node()) {
        (Shape::Scalar(Scalar::String), Node::String(_))
        | (Shape::Scalar(Scalar::Bool), Node::Bool(_))
        | (Shape::Scalar(Scalar::Int64), Node::Int(_)) => true,
        (Shape::Scalar(Scalar::Int32), Node::Int(int)) => i32::try_from(int).is_ok(),
        (Shape::List(of), Node::List(items)) => items.iter().all(|item| comes_back(*of, item)),
        (Shape::Map(_, of), Node::Object(object)) => object.iter().all(|(_, value)| comes_back(*of, value)),
        (Shape::Named(Type { kind: Kind::Struct(of), .. }), Node::Object(object)) => {
            struct_comes_back(of, object)
        }
        (Shape::Named(Type { kind: Kind::Opaque(Opaque::FieldsV1), .. }), Node::Object(_)) => true,
        (Shape::Named(Type { kind: Kind::Opaque(Opaque::Time), .. }), Node::String(text)) => {
            Time::parse(text).is_ok_and(|time| {
                !time.is_zero() && time.to_ascii().is_some_and(|ascii| ascii == text.as_bytes())
            })
        }
        _ => false,
    }
}

fn struct_comes_back(of: &Struct, object: &Object) -> bool {
    let fits = |(key, value): (&str, &Value)| {
        of.field(key).is_some_and(|field| comes_back(field.shape, value) && !is_left_out(field, value))
    };
    object.iter().all(fits)
        && of.flat.iter().all(|field| field.omit_empty || field.omit_zero || object.contains(field.name))
}

fn is_left_out(field: &Field, value: &Value) -> bool {
    if matches!(field.shape, Shape::Pointer(_)) {
        return false;
    }
    let empty = match value.node() {
        Node::Bool(value) => !value,
        Node::Int(value) => value == 0,
        Node::String(text) => text.is_empty(),
        Node::List(items) => items.is_empty(),
        Node::Object(object) => object.is_empty() && matches!(field.shape.underlying(), Shape::Map(..)),
        _ => false,
    };
    (field.omit_empty || field.omit_zero) && empty
}

fn unknown_fields(shape: Shape, value: &Value, path: &mut String, unknown: &mut Vec<String>) {
    let mut shape = shape;
    while let Shape::Pointer(to) = shape {
        shape = *to;
    }
    let length = path.len();
    match (shape.underlying(), value.node()) {
        (Shape::List(of), Node::List(items)) => {
            for (place, item) in items.iter().enumerate() {
                _ = write!(path, "[{place}]");
                unknown_fields(*of, item, path, unknown);
                path.truncate(length);
            }
        }
        (Shape::Named(Type { kind: Kind::Struct(of), .. }), Node::Object(object)) => {
            for (key, value) in object.iter() {
                if unknown.len() >= MAX_UNKNOWN {
                    return;
                }
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
                match of.field(key) {
                    Some(field) => unknown_fields(field.shape, value, path, unknown),
                    None => unknown.push(path.clone()),
                }
                path.truncate(length);
            }
        }
        _ => {}
    }
}
