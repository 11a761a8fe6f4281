//! Order and equality of the values that identify list items.

use std::cmp::Ordering;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_codec::json;
use pintle_meta::{Node, Object, Value};

/// Orders numbers before strings, booleans, lists, objects and null. Numbers compare by value, whatever their
/// notation.
///
/// The reference compares an integer with a float as floats. Here it is exact, so that the order is total even beyond
/// 2^53, where elements are always floats.
pub(super) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a.node(), b.node()) {
        (Node::Int(a), Node::Int(b)) => a.cmp(&b),
        (Node::Float(a), Node::Float(b)) => floats(a, b),
        (Node::Int(a), Node::Float(b)) => int_with_float(a, b),
        (Node::Float(a), Node::Int(b)) => int_with_float(b, a).reverse(),
        (Node::String(a), Node::String(b)) => a.cmp(b),
        (Node::Bool(a), Node::Bool(b)) => a.cmp(&b),
        (Node::List(a), Node::List(b)) => {
            let unequal = a.iter().zip(b).map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
            unequal.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Node::Object(a), Node::Object(b)) => {
            let pairs = a.iter().zip(b.iter());
            let each = pairs.map(|((name, a), (other, b))| name.cmp(other).then_with(|| compare(a, b)));
            each.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

fn rank(node: Node<'_>) -> u8 {
    match node {
        Node::Int(_) | Node::Float(_) => 0,
        Node::String(_) => 1,
        Node::Bool(_) => 2,
        Node::List(_) => 3,
        Node::Object(_) => 4,
        Node::Null | Node::Bytes(_) | Node::Hollow | Node::Raw(_) => 5,
    }
}

fn floats(a: f64, b: f64) -> Ordering {
    // JSON has no NaN.
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

fn int_with_float(int: i64, float: f64) -> Ordering {
    const END: f64 = 9_223_372_036_854_775_808.0;
    if float >= END {
        return Ordering::Less;
    }
    if float < -END {
        return Ordering::Greater;
    }
    int.cmp(&(float.trunc() as i64)).then_with(|| floats(0.0, float.fract()))
}

/// Returns whether two values are equal in JSON: numbers by value, bytes as base64, raw JSON decoded.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a.node(), b.node()) {
        (Node::Int(_) | Node::Float(_), Node::Int(_) | Node::Float(_)) => compare(a, b).is_eq(),
        (Node::List(a), Node::List(b)) => {
            std::ptr::eq(a, b) || a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Node::Object(a), Node::Object(b)) => std::ptr::eq(a, b) || equal_objects(a, b),
        (Node::Bytes(bytes), Node::String(text)) | (Node::String(text), Node::Bytes(bytes)) => {
            STANDARD.encode(bytes) == text
        }
        (Node::Raw(a), Node::Raw(b)) if a == b => true,
        (Node::Raw(raw), _) => equal(&read(raw), b),
        (_, Node::Raw(raw)) => equal(a, &read(raw)),
        _ => a == b,
    }
}

fn equal_objects(a: &Object, b: &Object) -> bool {
    let visible = |object: &Object| object.iter().filter(|(_, value)| is_in_json(value)).count();
    let same = |name: &str, a: &Value| b.get(name).is_some_and(|b| is_in_json(b) && equal(a, b));
    visible(a) == visible(b)
        && a.iter().filter(|(_, value)| is_in_json(value)).all(|(name, value)| same(name, value))
}

/// Returns whether JSON contains the value.
pub(crate) fn is_in_json(value: &Value) -> bool {
    !matches!(value.node(), Node::Hollow)
}

/// Decodes raw JSON. Invalid JSON can only come from protobuf; JSON has null there.
pub(crate) fn read(raw: &[u8]) -> Value {
    json::decode_any(raw).map_or(Value::NULL, |decoded| decoded.value)
}
