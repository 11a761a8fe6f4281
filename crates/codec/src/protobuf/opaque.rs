//! Messages of types with their own JSON encoding: times, quantities, durations, raw JSON.

use pintle_meta::quantity::Quantity;
use pintle_meta::time::{MicroTime, Time};
use pintle_meta::{Node, Value, format_duration, parse_duration};
use pintle_schema::{Opaque, Type, find};

use super::decode::{Decoder, text};
use super::encode::{Encoder, mismatch};
use super::wire::{LENGTH, Reader, VARINT, Writer};
use super::wire_shape::{Message, WireShape, message_name};
use crate::Error;

/// Field of a small message.
pub(super) struct SmallField<'r, 'a> {
    pub(super) number: u32,
    wire: u8,
    message: &'r mut Reader<'a>,
}

impl<'a> SmallField<'_, 'a> {
    pub(super) fn bytes(self, name: &str) -> Result<&'a [u8], Error> {
        self.expect(LENGTH, name)?;
        self.message.bytes()
    }

    pub(super) fn varint(self, name: &str) -> Result<u64, Error> {
        self.expect(VARINT, name)?;
        self.message.varint()
    }

    pub(super) fn skip(self) -> Result<(), Error> {
        self.message.skip(self.wire)
    }

    fn expect(&self, wire: u8, name: &str) -> Result<(), Error> {
        if self.wire == wire {
            return Ok(());
        }
        Err(Error::new(format!("proto: wrong wireType = {} for field {name}", self.wire)))
    }
}

/// Visits all fields of a message's occurrences.
pub(super) fn each_field<'a>(
    name: &str,
    pieces: &[&'a [u8]],
    mut visit: impl FnMut(SmallField<'_, 'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    for piece in pieces {
        let mut message = Reader::new(piece);
        while !message.is_empty() {
            let tag = message.tag(name)?;
            visit(SmallField { number: tag.number, wire: tag.wire, message: &mut message })?;
        }
    }
    Ok(())
}

pub(super) fn decode<'a>(
    decoder: &mut Decoder<'a>,
    of: &'static Type,
    kind: Opaque,
    pieces: &[&'a [u8]],
    depth: usize,
) -> Result<Value, Error> {
    match kind {
        Opaque::JSONSchemaPropsOrArray
        | Opaque::JSONSchemaPropsOrBool
        | Opaque::JSONSchemaPropsOrStringArray => schema_or(decoder, of, kind, pieces, depth),
        kind => decode_leaf(message_name(of), kind, pieces),
    }
}

fn decode_leaf(name: &str, kind: Opaque, pieces: &[&[u8]]) -> Result<Value, Error> {
    match kind {
        Opaque::Time => Ok(match timestamp(pieces)? {
            Some((seconds, _)) => time_value(Time::from_unix(seconds, 0)),
            None => Value::NULL,
        }),
        Opaque::MicroTime => Ok(match timestamp(pieces)? {
            Some((seconds, nanos)) => micro_time_value(MicroTime::from_unix(seconds, nanos)),
            None => Value::NULL,
        }),
        Opaque::Duration => {
            let mut nanos = 0;
            each_field(name, pieces, |field| match field.number {
                1 => field.varint("Duration").map(|value| nanos = value as i64),
                _ => field.skip(),
            })?;
            Ok(format_duration(nanos).into())
        }
        Opaque::Quantity => {
            let mut quantity = None;
            each_field(name, pieces, |field| match field.number {
                1 => quantity_text(field.bytes("String_")?).map(|text| quantity = Some(text)),
                _ => field.skip(),
            })?;
            Ok(quantity.unwrap_or(Value::literal("0")))
        }
        Opaque::IntOrString => int_or_string(pieces),
        Opaque::FieldsV1 | Opaque::RawExtension | Opaque::JSON => {
            let mut raw: &[u8] = &[];
            each_field(name, pieces, |field| match field.number {
                1 => field.bytes("Raw").map(|bytes| raw = bytes),
                _ => field.skip(),
            })?;
            Ok(if raw.is_empty() { Value::NULL } else { Value::raw(raw) })
        }
        _ => Err(Error::new(format!("proto: {name} has no message"))),
    }
}

/// Decodes seconds and nanoseconds, or `None` for the zero time. Unlike other messages, a later occurrence replaces
/// an earlier one.
fn timestamp(pieces: &[&[u8]]) -> Result<Option<(i64, i64)>, Error> {
    let mut time = None;
    for piece in pieces {
        let (mut seconds, mut nanos) = (0, 0);
        each_field("Timestamp", &[piece], |field| match field.number {
            1 => field.varint("Seconds").map(|value| seconds = value as i64),
            2 => field.varint("Nanos").map(|value| nanos = value as i32),
            _ => field.skip(),
        })?;
        // Truncated towards zero, as in Go, before the seconds are normalized.
        time = (!piece.is_empty()).then_some((seconds, i64::from(nanos / 1000 * 1000)));
    }
    Ok(time)
}

fn time_value(time: Time) -> Value {
    match time.to_ascii() {
        _ if time.is_zero() => Value::NULL,
        Some(ascii) => Value::string(text(&ascii)),
        None => time.to_string().into(),
    }
}

fn micro_time_value(time: MicroTime) -> Value {
    match time.to_ascii() {
        _ if time.is_zero() => Value::NULL,
        Some(ascii) => Value::string(text(&ascii)),
        None => time.to_string().into(),
    }
}

fn quantity_text(bytes: &[u8]) -> Result<Value, Error> {
    let text = text(bytes);
    if is_canonical_quantity(text.as_bytes()) {
        return Ok(Value::string(text));
    }
    let quantity = Quantity::parse(&text).map_err(|error| Error::new(error.to_string()))?;
    Ok(quantity.to_string().into())
}

/// Recognizes common canonical quantities: up to four digits, not all of them zeros of a larger unit, and a common
/// suffix. `false` says nothing.
pub(super) fn is_canonical_quantity(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, suffix) = text.split_at(digits);
    match (number, suffix) {
        ([b'0'], []) => true,
        ([] | [b'0', ..] | [_, b'0', b'0', b'0'], _) => false,
        ([_, _, _, _, _, ..], _) => false,
        (_, [] | [b'm' | b'k' | b'M' | b'G' | b'T']) => true,
        // From 1024 on a larger unit may fit.
        (number, [b'K' | b'M' | b'G' | b'T', b'i']) => number.len() < 4,
        _ => false,
    }
}

fn int_or_string(pieces: &[&[u8]]) -> Result<Value, Error> {
    let (mut kind, mut number, mut string): (i64, i32, &[u8]) = (0, 0, &[]);
    each_field("IntOrString", pieces, |field| match field.number {
        1 => field.varint("Type").map(|value| kind = value as i64),
        2 => field.varint("IntVal").map(|value| number = value as i32),
        3 => field.bytes("StrVal").map(|value| string = value),
        _ => field.skip(),
    })?;
    match kind {
        0 => Ok(i64::from(number).into()),
        1 => Ok(Value::string(text(string))),
        _ => Err(Error::new("impossible IntOrString.Type")),
    }
}

/// Returns `JSONSchemaProps` of the same version as the union type.
pub(super) fn schema_of(of: &'static Type) -> Result<Message, Error> {
    let package = of.name.rsplit_once('.').map_or("", |(package, _)| package);
    let found = find(&format!("{package}.JSONSchemaProps")).and_then(Message::of);
    found.ok_or_else(|| Error::new(format!("{} has no schema to be of", of.name)))
}

/// Contents of a schema union's message.
#[derive(Default)]
struct SchemaOr<'a> {
    schema: Vec<&'a [u8]>,
    items: Vec<&'a [u8]>,
    allows: bool,
}

impl<'a> SchemaOr<'a> {
    fn read(name: &str, kind: Opaque, pieces: &[&'a [u8]]) -> Result<SchemaOr<'a>, Error> {
        let mut found = SchemaOr::default();
        each_field(name, pieces, |field| match (kind, field.number) {
            (Opaque::JSONSchemaPropsOrBool, 1) => {
                field.varint("Allows").map(|value| found.allows = value != 0)
            }
            (Opaque::JSONSchemaPropsOrBool, 2) | (_, 1) => {
                field.bytes("Schema").map(|bytes| found.schema.push(bytes))
            }
            (Opaque::JSONSchemaPropsOrArray, 2) => {
                field.bytes("JSONSchemas").map(|bytes| found.items.push(bytes))
            }
            (Opaque::JSONSchemaPropsOrStringArray, 2) => {
                field.bytes("Property").map(|bytes| found.items.push(bytes))
            }
            _ => field.skip(),
        })?;
        Ok(found)
    }
}

/// Converts to JSON's view: items before a schema, a schema before a bool.
fn schema_or<'a>(
    decoder: &mut Decoder<'a>,
    of: &'static Type,
    kind: Opaque,
    pieces: &[&'a [u8]],
    depth: usize,
) -> Result<Value, Error> {
    let found = SchemaOr::read(message_name(of), kind, pieces)?;
    if !found.items.is_empty() {
        let shape = match kind {
            Opaque::JSONSchemaPropsOrArray => WireShape::Struct(schema_of(of)?),
            _ => WireShape::String,
        };
        let mut items = Vec::with_capacity(found.items.len());
        for item in found.items {
            items.push(decoder.value(shape, &[item], depth + 1)?);
        }
        return Ok(Value::list(items));
    }
    match (found.schema.is_empty(), kind) {
        (false, _) => decoder.message(schema_of(of)?, &found.schema, depth),
        (true, Opaque::JSONSchemaPropsOrBool) => Ok(found.allows.into()),
        (true, _) => Ok(Value::NULL),
    }
}

/// Writes the content of a value's message, without its length; nothing for the zero value of most types.
pub(super) fn encode<'v>(
    encoder: &mut Encoder<'v>,
    of: &'static Type,
    kind: Opaque,
    value: Node<'v>,
    depth: usize,
) -> Result<(), Error> {
    match (kind, value) {
        (Opaque::JSONSchemaPropsOrBool, Node::Object(_)) => {
            let mark = encoder.out.written();
            encoder.message(schema_of(of)?, value, depth)?;
            encoder.out.close(2, mark);
            encoder.out.varint_field(1, 1);
            Ok(())
        }
        (Opaque::JSONSchemaPropsOrArray | Opaque::JSONSchemaPropsOrStringArray, Node::Object(_)) => {
            let mark = encoder.out.written();
            encoder.message(schema_of(of)?, value, depth)?;
            encoder.out.close(1, mark);
            Ok(())
        }
        (Opaque::JSONSchemaPropsOrArray, Node::List(items)) => {
            let schema = schema_of(of)?;
            for item in items.iter().rev() {
                let mark = encoder.out.written();
                encoder.message(schema, item.node(), depth + 1)?;
                encoder.out.close(2, mark);
            }
            Ok(())
        }
        (kind, value) => encode_leaf(&mut encoder.out, of, kind, value),
    }
}

fn encode_leaf(out: &mut Writer, of: &'static Type, kind: Opaque, value: Node<'_>) -> Result<(), Error> {
    let wrong = |error: &dyn std::fmt::Display| Error::new(error.to_string());
    match (kind, value) {
        (Opaque::Time | Opaque::MicroTime, Node::Null) => {}
        (Opaque::Time, Node::String(text)) => {
            let time = Time::parse(text).map_err(|error| wrong(&error))?;
            if !time.is_zero() {
                out.varint_field(2, 0);
                out.varint_field(1, time.unix_seconds() as u64);
            }
        }
        (Opaque::MicroTime, Node::String(text)) => {
            let time = MicroTime::parse(text).map_err(|error| wrong(&error))?;
            if !time.is_zero() {
                out.varint_field(2, u64::from(time.subsecond_nanos()));
                out.varint_field(1, time.unix_seconds() as u64);
            }
        }
        (Opaque::Duration, Node::Null) => out.varint_field(1, 0),
        (Opaque::Duration, Node::String(text)) => {
            let nanos = parse_duration(text).map_err(|error| wrong(&error))?;
            out.varint_field(1, nanos as u64);
        }
        (Opaque::Quantity, Node::Null) => out.bytes_field(1, b"0"),
        // A normal tree has canonical quantities.
        (Opaque::Quantity, Node::String(text)) => out.bytes_field(1, text.as_bytes()),
        (Opaque::IntOrString, Node::Null | Node::Int(_)) => {
            out.bytes_field(3, b"");
            out.varint_field(2, if let Node::Int(number) = value { int32(number)? } else { 0 });
            out.varint_field(1, 0);
        }
        (Opaque::IntOrString, Node::String(text)) => {
            out.bytes_field(3, text.as_bytes());
            out.varint_field(2, 0);
            out.varint_field(1, 1);
        }
        (Opaque::FieldsV1 | Opaque::RawExtension | Opaque::JSON, Node::Null) => {}
        (Opaque::FieldsV1, Node::Raw([])) => {}
        (Opaque::FieldsV1 | Opaque::RawExtension | Opaque::JSON, Node::Raw(json)) => out.bytes_field(1, json),
        (Opaque::JSONSchemaPropsOrBool, Node::Null) => out.varint_field(1, 0),
        (Opaque::JSONSchemaPropsOrBool, Node::Bool(allows)) => out.varint_field(1, u64::from(allows)),
        (Opaque::JSONSchemaPropsOrArray | Opaque::JSONSchemaPropsOrStringArray, Node::Null) => {}
        (Opaque::JSONSchemaPropsOrStringArray, Node::List(items)) => {
            for item in items.iter().rev() {
                out.bytes_field(2, item.as_str().ok_or_else(|| mismatch(item.node(), "string"))?.as_bytes());
            }
        }
        (_, value) => return Err(mismatch(value, of.go_name())),
    }
    Ok(())
}

pub(super) fn int32(number: i64) -> Result<u64, Error> {
    match i32::try_from(number) {
        Ok(_) => Ok(number as u64),
        Err(_) => Err(Error::new(format!("{number} does not fit into int32"))),
    }
}
