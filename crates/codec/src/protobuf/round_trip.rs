//! Checks whether a tree survives encoding unchanged.
//!
//! The response to a write shows the object as it will be decoded from the store. Decoding it costs as much as the
//! rest of the write and nearly always yields the same tree. So the tree is inspected instead, and anything unusual
//! in it (an empty list, which a message omits, a field without a protobuf number, a null) counts as not surviving.

use pintle_meta::{Node, Object, Value};
use pintle_schema::normal::{may_be_absent, zero};
use pintle_schema::{Field, Opaque, Scalar, Shape, Struct, Type, TypeKind};

use crate::MAX_DEPTH;

/// Returns whether `decode` of `encode` surely yields this object, which is in normal form and of this type, except
/// for kind and apiVersion, which are not part of a message.
pub fn round_trips(of: &'static Type, object: &Value) -> bool {
    match (&of.kind, object.node()) {
        (TypeKind::Struct(of), Node::Object(object)) => struct_round_trips(of, object, 0),
        _ => false,
    }
}

fn struct_round_trips(of: &'static Struct, object: &Object, depth: usize) -> bool {
    // Kind and apiVersion are an inline struct that is not encoded.
    if depth > MAX_DEPTH
        || (depth > 0 && of.fields.iter().any(|field| field.name.is_empty() && field.number.is_none()))
    {
        return false;
    }
    let mut entries = object.iter().peekable();
    for field in of.flat {
        match entries.next_if(|(name, _)| *name == field.name) {
            None if may_be_absent(field) => {}
            None => return false,
            Some(_) if depth == 0 && matches!(field.name, "kind" | "apiVersion") => {}
            Some((_, value)) => {
                if field.number.is_none()
                    || is_omitted(field, value)
                    || !value_round_trips(field.shape, value, depth + 1)
                {
                    return false;
                }
            }
        }
    }
    // Remaining entries are out of order or undeclared.
    entries.next().is_none()
}

/// Returns whether normal form omits the field with this value.
fn is_omitted(field: &Field, value: &Value) -> bool {
    let by_omit_empty = || match (field.shape.underlying(), value.node()) {
        (Shape::Named(_), _) => false,
        (_, Node::Null) => true,
        (Shape::Pointer(_), _) => false,
        (_, Node::Bool(value)) => !value,
        (_, Node::Int(value)) => value == 0,
        (_, Node::Float(value)) => value == 0.0,
        (_, Node::String(value)) => value.is_empty(),
        _ => false,
    };
    (field.omit_empty && by_omit_empty()) || (field.omit_zero && *value == zero(field.shape))
}

fn value_round_trips(shape: Shape, value: &Value, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    match (shape, value.node()) {
        // Not encoded, and decoded as absent.
        (Shape::List(_) | Shape::Map(..), Node::Null) => true,
        (Shape::List(item), Node::List(items)) => {
            let is_item = |item: &Value| !item.is_null();
            !items.is_empty()
                && items.iter().all(|value| is_item(value) && value_round_trips(*item, value, depth + 1))
        }
        (Shape::Map(_, of), Node::Object(entries)) => {
            let is_item = |item: &Value| !item.is_null();
            !entries.is_empty()
                && entries.iter().all(|(_, value)| is_item(value) && value_round_trips(*of, value, depth + 1))
        }
        (Shape::Pointer(to), node) => node != Node::Null && value_round_trips(*to, value, depth + 1),
        (Shape::Bytes, Node::Bytes(bytes)) => !bytes.is_empty(),
        (Shape::Scalar(Scalar::String), Node::String(_))
        | (Shape::Scalar(Scalar::Bool), Node::Bool(_))
        | (Shape::Scalar(Scalar::Int32 | Scalar::Int64), Node::Int(_))
        | (Shape::Scalar(Scalar::Float64), Node::Float(_)) => true,
        (Shape::Named(of), node) => match (&of.kind, node) {
            (TypeKind::Struct(of), Node::Object(object)) => struct_round_trips(of, object, depth),
            (TypeKind::Alias { of, .. }, _) => value_round_trips(*of, value, depth + 1),
            (TypeKind::Opaque(Opaque::FieldsV1), Node::Raw(json)) => !json.is_empty(),
            (
                TypeKind::Opaque(Opaque::Time | Opaque::MicroTime | Opaque::Duration | Opaque::Quantity),
                Node::String(text),
            ) => !text.is_empty(),
            // A nil pointer was rejected above.
            (TypeKind::Opaque(Opaque::Time | Opaque::MicroTime), Node::Null) => true,
            (TypeKind::Opaque(Opaque::IntOrString), Node::Int(_) | Node::String(_)) => true,
            _ => false,
        },
        _ => false,
    }
}
