//! Whether a message says all that a tree says.
//!
//! What was written is answered with as it will be read. Reading it costs as much as all the rest of a write, and nearly always
//! gives the tree that was written. So the tree is looked through instead, and whatever is out of the ordinary in it
//! (an empty list where a message has none, a field that protobuf does not have, a null) counts as not kept.

use pintle_meta::{Node, Object, Value};
use pintle_schema::normal::{may_be_absent, zero};
use pintle_schema::{Field, Kind, Opaque, Scalar, Shape, Struct, Type};

use crate::MAX_DEPTH;

/// Whether `decode` surely gives this object, in normal form and of this type, again after `encode`, but for its kind and
/// apiVersion, which are not part of a message.
pub fn keeps(of: &'static Type, object: &Value) -> bool {
    match (&of.kind, object.node()) {
        (Kind::Struct(of), Node::Object(object)) => keeps_struct(of, object, 0),
        _ => false,
    }
}

fn keeps_struct(of: &'static Struct, object: &Object, depth: usize) -> bool {
    // Kind and apiVersion are an inline struct that is not sent.
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
                    || is_left_out(field, value)
                    || !keeps_value(field.shape, value, depth + 1)
                {
                    return false;
                }
            }
        }
    }
    // What is left is not in the order of the declaration, or not declared.
    entries.next().is_none()
}

/// Whether normal form does not have the field when it has this value.
fn is_left_out(field: &Field, value: &Value) -> bool {
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

fn keeps_value(shape: Shape, value: &Value, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    match (shape, value.node()) {
        // Nothing is sent of it, and what does not come is nothing.
        (Shape::List(_) | Shape::Map(..), Node::Null) => true,
        (Shape::List(item), Node::List(items)) => {
            let is_item = |item: &Value| !item.is_null();
            !items.is_empty()
                && items.iter().all(|value| is_item(value) && keeps_value(*item, value, depth + 1))
        }
        (Shape::Map(_, of), Node::Object(entries)) => {
            let is_item = |item: &Value| !item.is_null();
            !entries.is_empty()
                && entries.iter().all(|(_, value)| is_item(value) && keeps_value(*of, value, depth + 1))
        }
        (Shape::Pointer(to), node) => node != Node::Null && keeps_value(*to, value, depth + 1),
        (Shape::Bytes, Node::Bytes(bytes)) => !bytes.is_empty(),
        (Shape::Scalar(Scalar::String), Node::String(_))
        | (Shape::Scalar(Scalar::Bool), Node::Bool(_))
        | (Shape::Scalar(Scalar::Int32 | Scalar::Int64), Node::Int(_))
        | (Shape::Scalar(Scalar::Float64), Node::Float(_)) => true,
        (Shape::Named(of), node) => match (&of.kind, node) {
            (Kind::Struct(of), Node::Object(object)) => keeps_struct(of, object, depth),
            (Kind::Alias { of, .. }, _) => keeps_value(*of, value, depth + 1),
            (Kind::Opaque(Opaque::FieldsV1), Node::Raw(json)) => !json.is_empty(),
            (
                Kind::Opaque(Opaque::Time | Opaque::MicroTime | Opaque::Duration | Opaque::Quantity),
                Node::String(text),
            ) => !text.is_empty(),
            // A pointer to none was refused above.
            (Kind::Opaque(Opaque::Time | Opaque::MicroTime), Node::Null) => true,
            (Kind::Opaque(Opaque::IntOrString), Node::Int(_) | Node::String(_)) => true,
            _ => false,
        },
        _ => false,
    }
}
