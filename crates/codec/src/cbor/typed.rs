//! Decodes items of known types into normal form, as the reference's library fills structs.

use std::collections::HashSet;

use pintle_meta::Value;
use pintle_schema::normal::{Builder, zero};
use pintle_schema::{Scalar, Shape, Struct, Type, TypeKind};

use super::item::{Head, Items, Major};
use super::untyped::{Failure, Read, Reader, duplicate, exact, mismatch, overflow, unknown_field};
use crate::json::base64;
use crate::{Decoded, Error};

/// Decodes an object from checked data, ignoring unknown fields.
pub(super) fn decode_lax(of: &'static Type, data: &[u8]) -> Result<Value, Error> {
    let shape = Shape::Named(of);
    Ok(Decoder::new(data, false).value(shape)?.unwrap_or_else(|| zero(shape)))
}

/// Decodes an object from checked data.
pub(super) fn decode(of: &'static Type, data: &[u8]) -> Result<Decoded, Error> {
    let mut decoder = Decoder::new(data, false);
    let value = decoder.value(Shape::Named(of))?.unwrap_or_else(|| zero(Shape::Named(of)));
    let mut strict = Vec::new();
    if decoder.unknown {
        // The reference decodes a second time too, since it stops at the first unknown field.
        match Decoder::new(data, true).value(Shape::Named(of)) {
            Err(Failure::Unknown(index)) => strict.push(unknown_field(index)),
            Err(failure) => return Err(failure.into()),
            Ok(_) => {}
        }
    }
    Ok(Decoded { value, strict })
}

pub(super) struct Decoder<'a> {
    pub(super) reader: Reader<'a>,
    builder: Builder,
    /// Whether an unknown field is an error.
    strict: bool,
    /// Whether an unknown field was found.
    unknown: bool,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(data: &'a [u8], strict: bool) -> Decoder<'a> {
        Decoder { reader: Reader::new(data), builder: Builder::default(), strict, unknown: false }
    }

    /// Decodes the next item; `None` if it is null and the shape is not nullable.
    pub(super) fn value(&mut self, shape: Shape) -> Read<Option<Value>> {
        pintle_work::check();
        let mut shape = shape;
        while let Shape::Pointer(to) = shape {
            if self.reader.items.is_nil() {
                self.reader.items.skip()?;
                return Ok(Some(Value::NULL));
            }
            shape = *to;
        }
        let tags = self.reader.later.len();
        let value = self.tagged(shape);
        self.reader.later.truncate(tags);
        value
    }

    fn tagged(&mut self, shape: Shape) -> Read<Option<Value>> {
        match shape.underlying() {
            Shape::Scalar(Scalar::Any) => self.reader.any().map(Some),
            // Opaque types are given their data with its tags.
            Shape::Named(named) if matches!(named.kind, TypeKind::Opaque(_)) => self.opaque(named),
            underlying => {
                let found = self.reader.strip_tags()?;
                self.untagged(shape, underlying, found)
            }
        }
    }

    fn untagged(&mut self, shape: Shape, underlying: Shape, found: Major) -> Read<Option<Value>> {
        if self.reader.items.initial() == 0xf6 {
            self.reader.items.skip()?;
            return Ok(match underlying {
                Shape::List(_) | Shape::Map(..) | Shape::Bytes => Some(Value::NULL),
                _ => None,
            });
        }
        match (underlying, found) {
            (Shape::Scalar(scalar), _) => self.scalar(scalar, shape, found).map(Some),
            (Shape::Bytes, Major::Bytes) => self.bytes().map(Some),
            (Shape::Bytes, Major::Array) => self.byte_list().map(Some),
            (Shape::List(of), Major::Array) => self.list(*of).map(Some),
            (Shape::Map(_, of), Major::Map) => self.map(*of).map(Some),
            (Shape::Named(named), Major::Map) => match &named.kind {
                TypeKind::Struct(of) => self.structure(named_of(shape, named), of).map(Some),
                _ => self.reader.refuse(found, shape.go_name()),
            },
            (Shape::Named(_), Major::Array) => {
                self.reader.items.skip()?;
                let more = "cannot decode CBOR array to struct without toarray option".into();
                Err(Failure::Type { found, wanted: shape.go_name(), field: None, more })
            }
            _ => self.reader.refuse(found, shape.go_name()),
        }
    }

    fn scalar(&mut self, scalar: Scalar, shape: Shape, found: Major) -> Read<Value> {
        let initial = self.reader.items.initial();
        match (scalar, found) {
            (Scalar::String, Major::Text) => Ok(self.reader.text()?.into()),
            (Scalar::String, Major::Bytes) => Ok(self.reader.byte_string_text()?.into()),
            (Scalar::Bool, Major::Simple) if matches!(initial, 0xf4 | 0xf5) => {
                self.reader.items.skip()?;
                Ok((initial == 0xf5).into())
            }
            (Scalar::Float64, Major::Simple) if (0xf9..=0xfb).contains(&initial) => {
                Ok(self.reader.items.head()?.float().unwrap_or_default().into())
            }
            (Scalar::Int32 | Scalar::Int64 | Scalar::Float64, Major::Positive | Major::Negative) => {
                let head = self.reader.items.head()?;
                number(scalar, shape, head)
            }
            _ => self.reader.refuse(found, shape.go_name()),
        }
    }

    /// Decodes base64, or raw bytes if a tag says so.
    fn bytes(&mut self) -> Read<Value> {
        let bytes = self.reader.bytes()?;
        if !self.reader.later.is_empty() {
            return Ok(Value::bytes(bytes));
        }
        let failed = |error| Error::new(format!("cbor: failed to decode base64 from byte string: {error}"));
        Ok(base64::decode(&bytes).map(Value::bytes).map_err(failed)?)
    }

    fn byte_list(&mut self) -> Read<Value> {
        let head = self.reader.items.head()?;
        let (mut bytes, mut first, mut left) = (Vec::new(), None, head.argument);
        while self.reader.more(head, &mut left)? {
            match self.byte() {
                Ok(byte) => bytes.push(byte),
                Err(failure) => {
                    first.get_or_insert(failure);
                }
            }
        }
        first.map_or_else(|| Ok(Value::bytes(bytes)), Err)
    }

    fn byte(&mut self) -> Read<u8> {
        const GO_NAME: &str = "uint8";
        let tags = self.reader.later.len();
        let found = self.reader.strip_tags();
        self.reader.later.truncate(tags);
        match found? {
            Major::Positive => {
                let head = self.reader.items.head()?;
                u8::try_from(head.argument).map_err(|_| overflow(head.major, GO_NAME, exact(head), GO_NAME))
            }
            Major::Simple if self.reader.items.initial() == 0xf6 => {
                self.reader.items.skip()?;
                Ok(0)
            }
            found => self.reader.refuse(found, GO_NAME),
        }
    }

    // Functions on the path of a deep document use plain loops, since their stack frames add up.

    pub(super) fn list(&mut self, of: Shape) -> Read<Value> {
        let head = self.reader.items.head()?;
        let (mut items, mut first, mut left) = (Vec::new(), None, head.argument);
        while self.reader.more(head, &mut left)? {
            match self.value(of) {
                Ok(value) => items.push(value.unwrap_or_else(|| zero(of))),
                Err(failure) => {
                    first.get_or_insert(failure);
                }
            }
        }
        first.map_or_else(|| Ok(Value::list(items)), Err)
    }

    fn map(&mut self, of: Shape) -> Read<Value> {
        // `Reader::map` handles keys; values are decoded here.
        let mut reader = Reader { items: self.reader.items, later: std::mem::take(&mut self.reader.later) };
        let value = reader.map(|reader| {
            std::mem::swap(&mut self.reader, reader);
            let value = self.value(of);
            std::mem::swap(&mut self.reader, reader);
            value.map(|value| value.unwrap_or_else(|| zero(of)))
        });
        self.reader = reader;
        value
    }

    fn structure(&mut self, named: &'static Type, of: &'static Struct) -> Read<Value> {
        let head = self.reader.items.head()?;
        let frame = self.builder.open(of);
        let mut first: Option<Failure> = None;
        let mut others: HashSet<String> = HashSet::new();
        let (mut left, mut index) = (head.argument, 0);
        while self.reader.more(head, &mut left)? {
            let ended = match self.field_name()? {
                Ok(name) => match of.position(&name) {
                    Some(position) if self.builder.is_set(frame, position) => {
                        Some(duplicate(&name, index).into())
                    }
                    Some(position) => {
                        let read = self.value(of.flat[position].shape);
                        let value = read.unwrap_or_else(|failure| {
                            let field = || format!("{}.{name}", named.go_name());
                            first.get_or_insert_with(|| inside(failure, field));
                            None
                        });
                        self.builder.set(frame, position, value.unwrap_or(Value::NULL));
                        None
                    }
                    None => self.unknown(name, &mut others, index)?,
                },
                Err(None) => self.unknown(String::new(), &mut others, index)?,
                Err(Some(failure)) => {
                    self.reader.items.skip()?;
                    first.get_or_insert(failure);
                    None
                }
            };
            if let Some(failure) = ended {
                self.reader.skip_rest(head, left)?;
                first = Some(failure);
                break;
            }
            index += 1;
        }
        let value = self.builder.close(frame);
        first.map_or(Ok(value), Err)
    }

    /// Decodes the name of a field. An integer names no field.
    fn field_name(&mut self) -> Result<Result<String, Option<Failure>>, Error> {
        let found = self.reader.items.major();
        Ok(match found {
            Major::Text => self.reader.text().map_err(|error| Some(error.into())),
            // Tags around a name are ignored.
            Major::Bytes => self
                .reader
                .bytes()
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .map_err(|error| Some(error.into())),
            Major::Positive | Major::Negative => {
                self.reader.items.skip()?;
                Err(None)
            }
            _ => {
                self.reader.items.skip()?;
                let kind = found.name();
                let more = format!("map key is of type {kind} and cannot be used to match struct field name");
                Err(Some(Failure::Type { found, wanted: "string".into(), field: None, more }))
            }
        })
    }

    /// Skips the value of an unknown field; fails if it is repeated, or if decoding is strict.
    fn unknown(
        &mut self,
        name: String,
        others: &mut HashSet<String>,
        index: usize,
    ) -> Result<Option<Failure>, Error> {
        self.unknown = true;
        self.reader.items.skip()?;
        if self.strict {
            return Ok(Some(Failure::Unknown(index)));
        }
        if !name.is_empty() && !others.insert(name.clone()) {
            return Ok(Some(duplicate(&name, index).into()));
        }
        Ok(None)
    }

    /// Returns the data of the next item without the self-described tag, and skips it.
    pub(super) fn raw(&mut self) -> Result<&'a [u8], Error> {
        loop {
            let mut ahead: Items<'_> = self.reader.items;
            if ahead.major() != Major::Tag || ahead.head()?.argument != 55799 {
                return self.reader.raw();
            }
            self.reader.items = ahead;
        }
    }
}

fn number(scalar: Scalar, shape: Shape, head: Head) -> Read<Value> {
    let (value, wanted) = (exact(head), shape.go_name());
    match scalar {
        Scalar::Float64 => Ok((value as f64).into()),
        Scalar::Int32 if i32::try_from(value).is_err() && i64::try_from(value).is_ok() => {
            Err(overflow(head.major, &wanted, value, &wanted))
        }
        _ => match i64::try_from(value) {
            Ok(value) => Ok(value.into()),
            Err(_) if head.major == Major::Negative => {
                Err(overflow(head.major, &wanted, value, "Go's int64"))
            }
            Err(_) => Err(overflow(head.major, &wanted, value, &wanted)),
        },
    }
}

/// Adds the struct's name to a failure; the outermost one wins.
fn inside(failure: Failure, name: impl FnOnce() -> String) -> Failure {
    match failure {
        Failure::Type { found, wanted, more, .. } => {
            Failure::Type { found, wanted, field: Some(name()), more }
        }
        other => other,
    }
}

/// Returns the type that Go reports for a struct: the first one, if a type is declared as another.
fn named_of(shape: Shape, underlying: &'static Type) -> &'static Type {
    match shape {
        Shape::Named(named) => named,
        _ => underlying,
    }
}

/// Decodes data that is a single string or null.
pub(super) fn lone_string(data: &[u8]) -> Read<Option<String>> {
    let mut reader = Reader::new(data);
    if reader.items.is_nil() {
        return Ok(None);
    }
    match reader.strip_tags()? {
        Major::Text => Ok(Some(reader.text()?)),
        Major::Bytes => Ok(Some(reader.byte_string_text()?)),
        Major::Simple if reader.items.initial() == 0xf6 => Ok(Some(String::new())),
        found => reader.refuse(found, "string"),
    }
}

/// Decodes data that is a single 32-bit integer.
pub(super) fn lone_int(data: &[u8]) -> Read<Value> {
    let shape = Shape::Scalar(Scalar::Int32);
    match Decoder::new(data, true).value(shape)? {
        Some(value) => Ok(value),
        None => Err(mismatch(Major::Simple, "int32")),
    }
}
