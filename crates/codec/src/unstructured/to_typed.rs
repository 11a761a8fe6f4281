//! Conversion of untyped trees into the normal form of a type.

use pintle_meta::{Node, Object, Value};
use pintle_schema::normal::{Builder, zero};
use pintle_schema::{Scalar, Shape, Struct, Type, TypeKind};

use super::is_unchanged;
use crate::json::{self, base64};
use crate::{Decoded, Error, MAX_DEPTH};

/// Limit of the text of all unknown fields: a tree may have a million of them at the end of a long path.
const MAX_STRICT_BYTES: usize = 4 << 20;

/// Converts an untyped tree to an object of a type. Strict errors name unknown fields, sorted. Parts that are typed
/// and normal already are shared, not copied.
pub fn to_typed(of: &'static Type, value: &Value) -> Result<Decoded, Error> {
    convert(of, value, None, false)
}

/// Like [`to_typed`], for a tree derived from a normal one of the type. Parts shared with `before` are not visited,
/// so the cost is proportional to the change.
pub fn to_typed_since(of: &'static Type, value: &Value, before: &Value) -> Result<Decoded, Error> {
    convert(of, value, Some(before), false)
}

/// Returns the result of [`json::decode`] of the tree's JSON, without encoding it. `None` if that would report an
/// error or strict error: the caller must then decode.
pub fn decode_since(of: &'static Type, value: &Value, before: &Value) -> Option<Value> {
    let decoded = convert(of, value, Some(before), true).ok()?;
    decoded.strict.is_empty().then_some(decoded.value)
}

fn convert(
    of: &'static Type,
    value: &Value,
    before: Option<&Value>,
    as_json: bool,
) -> Result<Decoded, Error> {
    let mut converter = Converter {
        as_json,
        builder: Builder::default(),
        path: String::new(),
        depth: 0,
        strict: Vec::new(),
        room: MAX_STRICT_BYTES,
    };
    let shape = Shape::Named(of);
    let value = if value.is_null() { zero(shape) } else { converter.value(shape, value, before)? };
    let mut strict = converter.strict;
    strict.sort_unstable();
    Ok(Decoded { value, strict })
}

struct Converter {
    builder: Builder,
    /// Whether JSON's rules apply: no truncation or conversion.
    as_json: bool,
    /// Path in the tree: `spec.containers[0]`. Keys of maps are not part of it.
    path: String,
    depth: usize,
    strict: Vec<String>,
    room: usize,
}

impl Converter {
    /// Converts a value that is not null. `before` is the normal value in its position.
    fn value(&mut self, shape: Shape, value: &Value, before: Option<&Value>) -> Result<Value, Error> {
        pintle_work::check();
        if before.is_some_and(|before| before.is_same(value)) {
            return Ok(value.clone());
        }
        let mut shape = shape;
        while let Shape::Pointer(to) = shape {
            shape = *to;
        }
        if self.as_json
            && shape.opaque().is_none()
            && let Node::Raw(raw) = value.node()
        {
            let value = plain(json::decode_any(raw)?)?;
            return self.item(shape, &value, None);
        }
        match shape.underlying() {
            Shape::Scalar(scalar) if self.as_json => exact_scalar(scalar, value),
            Shape::Scalar(scalar) => scalar_of(scalar, shape, value),
            Shape::Bytes if self.as_json && value.as_str().is_none() => Err(Error::new("not base64")),
            Shape::Bytes => bytes(value),
            Shape::List(of) => {
                let Node::List(items) = value.node() else {
                    return Err(Error::new(format!("cannot restore slice from {}", go_kind(value))));
                };
                self.deeper(|converter| converter.list(*of, items, value, before))
            }
            Shape::Map(_, of) => {
                let Node::Object(object) = value.node() else {
                    return Err(Error::new(format!("cannot restore map from {}", go_kind(value))));
                };
                self.deeper(|converter| converter.map(*of, object, value, before))
            }
            Shape::Named(named) => match &named.kind {
                TypeKind::Struct(of) => {
                    let Node::Object(object) = value.node() else {
                        return Err(Error::new(format!("cannot restore struct from: {}", go_kind(value))));
                    };
                    self.deeper(|converter| converter.structure(of, object, value, before))
                }
                // Types with their own JSON decoding are given JSON.
                _ => match value.node() {
                    Node::Raw(_) if !self.as_json => Ok(value.clone()),
                    _ => {
                        let mut text = Vec::new();
                        json::encode(value, &mut text);
                        let decoded = json::decode(named, &text)?;
                        if self.as_json { plain(decoded) } else { Ok(decoded.value) }
                    }
                },
            },
            // Resolved above.
            Shape::Pointer(_) => Ok(Value::NULL),
        }
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Converter) -> Result<Value, Error>) -> Result<Value, Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::new("exceeded max depth"));
        }
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// Converts a value that may be null.
    fn item(&mut self, shape: Shape, value: &Value, before: Option<&Value>) -> Result<Value, Error> {
        if value.is_null() { Ok(zero(shape)) } else { self.value(shape, value, before) }
    }

    fn list(
        &mut self,
        of: Shape,
        items: &[Value],
        whole: &Value,
        before: Option<&Value>,
    ) -> Result<Value, Error> {
        let before = before.and_then(Value::as_list).unwrap_or_default();
        let length = self.path.len();
        let mut list = Vec::with_capacity(items.len());
        let mut same = true;
        for (index, item) in items.iter().enumerate() {
            self.path.push_str(&format!("[{index}]"));
            let new = self.item(of, item, before.get(index))?;
            same &= new.is_same(item);
            list.push(new);
            self.path.truncate(length);
        }
        Ok(if same { whole.clone() } else { Value::list(list) })
    }

    fn map(
        &mut self,
        of: Shape,
        object: &Object,
        whole: &Value,
        before: Option<&Value>,
    ) -> Result<Value, Error> {
        let mut entries = Vec::with_capacity(object.len());
        for (key, value) in object.entries() {
            let before = before.and_then(|before| before.get(key));
            entries.push((key.clone(), self.item(of, value, before)?));
        }
        Ok(if object.layout().is_none() && is_unchanged(&entries, object) {
            whole.clone()
        } else {
            Value::object(Object::from_unsorted(entries))
        })
    }

    fn structure(
        &mut self,
        of: &'static Struct,
        object: &Object,
        whole: &Value,
        before: Option<&Value>,
    ) -> Result<Value, Error> {
        let frame = self.builder.open(of);
        let length = self.path.len();
        let mut found = 0;
        for (index, field) in of.flat.iter().enumerate() {
            let Some(value) = object.get(field.name) else { continue };
            found += 1;
            if value.is_null() {
                continue;
            }
            self.push_field(field.name);
            let before = before.and_then(|before| before.get(field.name));
            let value = self.value(field.shape, value, before)?;
            self.path.truncate(length);
            self.builder.set(frame, index, value);
        }
        if found < object.len() {
            object.keys().filter(|key| of.position(key).is_none()).for_each(|key| self.unknown(key));
        }
        let value = self.builder.close(frame);
        Ok(match value.as_object() {
            Some(new)
                if object.layout().is_some_and(|layout| std::ptr::eq(layout, &of.layout))
                    && is_unchanged(new.entries(), object) =>
            {
                whole.clone()
            }
            _ => value,
        })
    }

    fn push_field(&mut self, name: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }

    fn unknown(&mut self, key: &str) {
        let Some(room) = self.room.checked_sub(self.path.len() + key.len()) else { return };
        self.room = room;
        let dot = if self.path.is_empty() { "" } else { "." };
        self.strict.push(format!("unknown field \"{}{dot}{key}\"", self.path));
    }
}

/// Returns the value if there are no strict errors.
fn plain(decoded: Decoded) -> Result<Value, Error> {
    match decoded.strict.into_iter().next() {
        None => Ok(decoded.value),
        Some(strict) => Err(Error::new(strict)),
    }
}

fn exact_scalar(scalar: Scalar, value: &Value) -> Result<Value, Error> {
    match (scalar, value.node()) {
        (Scalar::Any, _) => Ok(super::from_typed(value)),
        (Scalar::String, Node::String(_)) | (Scalar::Bool, Node::Bool(_)) => Ok(value.clone()),
        (Scalar::Int64, Node::Int(_)) | (Scalar::Float64, Node::Float(_)) => Ok(value.clone()),
        (Scalar::Int32, Node::Int(int)) if i32::try_from(int).is_ok() => Ok(value.clone()),
        (Scalar::Float64, Node::Int(int)) => Ok((int as f64).into()),
        _ => Err(Error::new(format!("unrecognized type: {}", scalar.go_name()))),
    }
}

fn scalar_of(scalar: Scalar, shape: Shape, value: &Value) -> Result<Value, Error> {
    let node = value.node();
    Ok(match (scalar, node) {
        (Scalar::Any, _) => super::from_typed(value),
        (Scalar::String, Node::String(_)) | (Scalar::Bool, Node::Bool(_)) => value.clone(),
        (Scalar::Int64, Node::Int(_)) | (Scalar::Float64, Node::Float(_)) => value.clone(),
        (Scalar::Int32, Node::Int(int)) => i64::from(int as i32).into(),
        (Scalar::Float64, Node::Int(int)) => (int as f64).into(),
        (Scalar::Int32 | Scalar::Int64, Node::Float(float)) if float == float.trunc() => {
            let int = truncate(float);
            if scalar == Scalar::Int32 { i64::from(int as i32) } else { int }.into()
        }
        // The reference asks Go whether the types are convertible, which holds for these.
        (Scalar::Int32 | Scalar::Int64, Node::Float(_)) | (Scalar::String, Node::Int(_)) => {
            return Err(Error::new(format!("cannot convert {} to {}", go_kind(value), shape.go_name())));
        }
        _ => return Err(Error::new(format!("unrecognized type: {}", scalar.go_name()))),
    })
}

/// Converts a float as Go does: an out-of-range value is the least integer.
fn truncate(float: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&float) { float as i64 } else { i64::MIN }
}

fn bytes(value: &Value) -> Result<Value, Error> {
    match value.node() {
        Node::Bytes(_) => Ok(value.clone()),
        Node::Hollow => Ok(Value::bytes([])),
        Node::String(text) => base64::decode(text.as_bytes())
            .map(Value::bytes)
            .map_err(|error| Error::new(format!("error decoding from json: {error}"))),
        Node::List(items) => {
            let mut bytes = Vec::with_capacity(items.len());
            for item in items {
                bytes.push(match item.node() {
                    Node::Null => 0,
                    Node::Int(int) => int as u8,
                    Node::Float(float) if float == float.trunc() => truncate(float) as u8,
                    Node::Float(_) => return Err(Error::new("cannot convert float64 to uint8")),
                    _ => return Err(Error::new("unrecognized type: uint8")),
                });
            }
            Ok(Value::bytes(bytes))
        }
        _ => Err(Error::new(format!("cannot restore slice from {}", go_kind(value)))),
    }
}

/// Returns Go's reflect kind of an untyped value.
fn go_kind(value: &Value) -> &'static str {
    match value.node() {
        Node::Null => "invalid",
        Node::Bool(_) => "bool",
        Node::Int(_) => "int64",
        Node::Float(_) => "float64",
        Node::String(_) | Node::Bytes(_) | Node::Hollow => "string",
        Node::List(_) => "slice",
        Node::Object(_) | Node::Raw(_) => "map",
    }
}
