//! Types with their own CBOR decoding, each by the rules of its `UnmarshalCBOR`, or of its `UnmarshalJSON` if it has
//! only that.

use pintle_meta::quantity::Quantity;
use pintle_meta::time::{MicroTime, Time};
use pintle_meta::{Node, Value};
use pintle_schema::{Opaque, Scalar, Shape, Type, TypeKind, find};

use super::item::Major;
use super::typed::{Decoder, lone_int, lone_string};
use super::untyped::{Failure, Read, decode_any, decode_map};
use crate::{Error, json};

fn refused(error: impl ToString) -> Failure {
    Failure::Other(Error::new(error.to_string()))
}

impl Decoder<'_> {
    pub(super) fn opaque(&mut self, named: &'static Type) -> Read<Option<Value>> {
        let TypeKind::Opaque(opaque) = named.kind else { return Ok(None) };
        let data = self.raw()?;
        match opaque {
            Opaque::Time => Ok(Some(match lone_string(data)? {
                Some(text) => {
                    let time = Time::parse(&text).map_err(refused)?;
                    if time.is_zero() { Value::NULL } else { time.to_string().into() }
                }
                None => Value::NULL,
            })),
            Opaque::MicroTime => Ok(Some(match lone_string(data)? {
                Some(text) => {
                    let time = MicroTime::parse(&text).map_err(refused)?;
                    if time.is_zero() { Value::NULL } else { time.to_string().into() }
                }
                None => Value::NULL,
            })),
            Opaque::Quantity => match lone_string(data)? {
                Some(text) => {
                    let quantity = Quantity::parse(text.trim()).map_err(refused)?;
                    Ok(Some(quantity.to_string().into()))
                }
                None => Ok(None),
            },
            Opaque::IntOrString => match lone_string(data) {
                // Null decodes to an empty string here, though to zero in JSON.
                Ok(text) => Ok(Some(text.unwrap_or_default().into())),
                Err(_) => lone_int(data).map(Some),
            },
            Opaque::FieldsV1 => {
                let failed = |error| {
                    refused(format_args!(
                        "failed to transcode FieldsV1 to JSON: metav1.FieldsV1 cbor invalid: {error}"
                    ))
                };
                Ok(Some(raw_json(&decode_map(data).map_err(failed)?)))
            }
            Opaque::RawExtension => {
                let failed =
                    |error| refused(format_args!("failed to transcode RawExtension to JSON: {error}"));
                Ok(Some(raw_json(&decode_any(data).map_err(failed)?)))
            }
            Opaque::JSON => Ok(Some(raw_json(&decode_any(data)?))),
            Opaque::JSONSchemaPropsOrBool => match data.first() {
                Some(0xf4) => Ok(Some(false.into())),
                Some(0xf5) => Ok(Some(true.into())),
                Some(initial) if Major::of(*initial) == Major::Map => schema(named, data).map(Some),
                _ => Err(refused("boolean or JSON schema expected")),
            },
            Opaque::JSONSchemaPropsOrArray | Opaque::JSONSchemaPropsOrStringArray => {
                schema_or_list(opaque, named, data).map(Some)
            }
            Opaque::Duration | Opaque::GroupVersion => {
                let failed =
                    |error| refused(format_args!("cbor: cannot transcode from cbor to json: {error}"));
                let mut text = Vec::new();
                json::encode(&decode_any(data).map_err(failed)?, &mut text);
                Ok(Some(json::decode(named, &text)?.value))
            }
        }
    }
}

/// Returns raw JSON; a null is no value.
fn raw_json(value: &Value) -> Value {
    if let Node::Null = value.node() {
        return Value::NULL;
    }
    let mut text = Vec::new();
    json::encode(value, &mut text);
    Value::raw(text)
}

/// Returns the shape of `JSONSchemaProps` of the same version.
fn schema_shape(of: &'static Type) -> Result<Shape, Failure> {
    let package = of.name.rsplit_once('.').map_or("", |(package, _)| package);
    match find(&format!("{package}.JSONSchemaProps")) {
        Some(found) => Ok(Shape::Named(found)),
        None => Err(refused(format_args!("{} has no schema type beside it", of.name))),
    }
}

/// Decodes a schema, in which unknown fields are always errors.
fn schema(of: &'static Type, data: &[u8]) -> Read<Value> {
    Ok(Decoder::new(data, true).value(schema_shape(of)?)?.unwrap_or(Value::NULL))
}

/// Decodes a schema or a list; Go decodes anything else, and an empty list, to nil.
fn schema_or_list(opaque: Opaque, of: &'static Type, data: &[u8]) -> Read<Value> {
    match data.first().map(|initial| Major::of(*initial)) {
        Some(Major::Map) => schema(of, data),
        Some(Major::Array) => {
            let item = match opaque {
                Opaque::JSONSchemaPropsOrStringArray => Shape::Scalar(Scalar::String),
                _ => schema_shape(of)?,
            };
            let list = Decoder::new(data, true).list(item)?;
            Ok(if list.as_list().is_some_and(<[Value]>::is_empty) { Value::NULL } else { list })
        }
        _ => Ok(Value::NULL),
    }
}
