//! Types with their own JSON decoding, each by the rules of its `UnmarshalJSON`.

use pintle_meta::time::{MicroTime, Time};
use pintle_meta::{Value, format_duration, parse_duration, quantity::Quantity};
use pintle_schema::{Opaque, Scalar, Shape, Struct, Type, find};

use super::path::{Path, Segment, wrong_type};
use super::typed::{At, Decoder, Stop, json_type, refused};
use crate::Error;

const STRING: Shape = Shape::Scalar(Scalar::String);

/// Error of a type's own decoding.
#[cold]
fn refuse(error: impl ToString) -> Stop {
    refused(Error::new(error.to_string()))
}

/// Returns whether the type is a union with a schema, which is an object.
pub(super) fn is_schema(opaque: Opaque) -> bool {
    matches!(
        opaque,
        Opaque::JSONSchemaPropsOrArray | Opaque::JSONSchemaPropsOrBool | Opaque::JSONSchemaPropsOrStringArray
    )
}

impl Decoder<'_> {
    #[inline(never)]
    pub(super) fn opaque(
        &mut self,
        opaque: Opaque,
        named: &'static Type,
        first: u8,
        at: At<'_>,
    ) -> Result<Option<Value>, Stop> {
        match opaque {
            Opaque::Time | Opaque::MicroTime if first == b'n' => {
                self.reader.literal()?;
                Ok(Some(Value::NULL))
            }
            Opaque::Time => {
                let text = self.text(first, at)?;
                let time = Time::parse(&text).map_err(refuse)?;
                Ok(Some(if time.is_zero() {
                    Value::NULL
                } else if is_canonical(&text, b"0000-00-00T00:00:00Z") {
                    text.as_ref().into()
                } else {
                    time.to_string().into()
                }))
            }
            Opaque::MicroTime => {
                let text = self.text(first, at)?;
                let time = MicroTime::parse(&text).map_err(refuse)?;
                Ok(Some(if time.is_zero() {
                    Value::NULL
                } else if is_canonical(&text, b"0000-00-00T00:00:00.000000Z") {
                    text.as_ref().into()
                } else {
                    time.to_string().into()
                }))
            }
            Opaque::Duration => {
                let nanos = parse_duration(&self.text(first, at)?).map_err(refuse)?;
                Ok(Some(format_duration(nanos).into()))
            }
            Opaque::Quantity => {
                let literal = self.reader.raw()?;
                let quantity = Quantity::from_json(&String::from_utf8_lossy(literal)).map_err(refuse)?;
                Ok(Some(quantity.to_string().into()))
            }
            Opaque::IntOrString => self.int_or_string(first, at).map(Some),
            Opaque::FieldsV1 | Opaque::RawExtension | Opaque::JSON => match self.reader.raw()? {
                b"null" => Ok(None),
                json => Ok(Some(Value::raw(json))),
            },
            Opaque::JSONSchemaPropsOrBool => match first {
                b't' | b'f' => {
                    self.reader.literal()?;
                    Ok(Some((first == b't').into()))
                }
                _ => Err(refuse("boolean or JSON schema expected")),
            },
            Opaque::JSONSchemaPropsOrArray | Opaque::JSONSchemaPropsOrStringArray => {
                self.schema_or_list(opaque, named, first, at)
            }
            Opaque::GroupVersion => Ok(Some(self.text(first, at)?.as_ref().into())),
        }
    }

    /// Decodes a string; null is the empty one.
    fn text(&mut self, first: u8, at: At<'_>) -> Result<std::borrow::Cow<'_, str>, Stop> {
        match first {
            b'"' => Ok(self.reader.string()?),
            b'n' => {
                self.reader.literal()?;
                Ok("".into())
            }
            _ => Err(refused(wrong_type(json_type(first), "string", at))),
        }
    }

    fn int_or_string(&mut self, first: u8, at: At<'_>) -> Result<Value, Stop> {
        match first {
            b'"' => Ok(self.reader.string()?.as_ref().into()),
            b'n' => {
                self.reader.literal()?;
                Ok(self.before().filter(|old| old.as_i64().is_some()).unwrap_or_else(|| 0i64.into()))
            }
            b'-' | b'0'..=b'9' => {
                let literal = self.reader.number()?;
                let refuse = || refused(wrong_type(&format!("number {literal}"), "int32", at));
                literal.parse::<i32>().map(Value::from).map_err(|_| refuse())
            }
            _ => Err(refused(wrong_type(json_type(first), "int32", at))),
        }
    }

    /// Decodes the schema of a union type.
    #[inline(never)]
    pub(super) fn schema(&mut self, named: &'static Type, at: At<'_>) -> Result<Option<Value>, Stop> {
        let of = schema_beside(named)?;
        self.before();
        let path = Path { before: at, segment: Segment::Inside };
        let outside = self.enter();
        let value = self.structure(of, Some(&path))?;
        self.leave(outside)?;
        Ok(value)
    }

    /// Decodes a schema or a list; Go decodes anything else, and an empty list, to nil.
    fn schema_or_list(
        &mut self,
        opaque: Opaque,
        named: &'static Type,
        first: u8,
        at: At<'_>,
    ) -> Result<Option<Value>, Stop> {
        if first != b'[' {
            self.reader.skip()?;
            return Ok(Some(Value::NULL));
        }
        let is_texts = opaque == Opaque::JSONSchemaPropsOrStringArray;
        let item = if is_texts { STRING } else { Shape::Named(schema_beside(named)?.0) };
        self.before();
        let path = Path { before: at, segment: Segment::Inside };
        let outside = self.enter();
        let list = self.list(item, Some(&path))?;
        self.leave(outside)?;
        let is_empty = list.as_ref().and_then(Value::as_list).is_some_and(<[Value]>::is_empty);
        Ok(if is_empty { Some(Value::NULL) } else { list })
    }
}

/// Returns `JSONSchemaProps` of the same version.
#[inline(never)]
fn schema_beside(of: &'static Type) -> Result<(&'static Type, &'static Struct), Stop> {
    let package = of.name.rsplit_once('.').map_or("", |(package, _)| package);
    let found = find(&format!("{package}.JSONSchemaProps"));
    match found.and_then(|found| Some((found, found.structure()?))) {
        Some(found) => Ok(found),
        None => Err(refuse(format_args!("{} has no schema type beside it", of.name))),
    }
}

/// Returns whether a text has digits where the pattern has zeros, and the pattern's other characters.
fn is_canonical(text: &str, pattern: &[u8]) -> bool {
    text.len() == pattern.len()
        && text.bytes().zip(pattern).all(|(byte, want)| match want {
            b'0' => byte.is_ascii_digit(),
            want => byte == *want,
        })
}
