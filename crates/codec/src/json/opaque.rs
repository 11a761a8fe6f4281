//! The types that read their own JSON, each by the rules of its `UnmarshalJSON`.

use pintle_meta::time::{MicroTime, Time};
use pintle_meta::{Value, format_duration, parse_duration, quantity::Quantity};
use pintle_schema::{Opaque, Scalar, Shape, Type, find};

use super::path::wrong_type;
use super::typed::{At, Decoder, Stop, json_type};
use crate::Error;

const STRING: Shape = Shape::Scalar(Scalar::String);

fn refused(error: impl ToString) -> Stop {
    Stop::Refused(Error::new(error.to_string()))
}

impl Decoder<'_> {
    pub(super) fn opaque(
        &mut self,
        opaque: Opaque,
        named: &'static Type,
        first: u8,
        seed: Option<Value>,
        at: At<'_>,
    ) -> Result<Option<Value>, Stop> {
        match opaque {
            Opaque::Time | Opaque::MicroTime if first == b'n' => {
                self.reader.literal()?;
                Ok(Some(Value::NULL))
            }
            Opaque::Time => {
                let text = self.text(first, at)?;
                let time = Time::parse(&text).map_err(refused)?;
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
                let time = MicroTime::parse(&text).map_err(refused)?;
                Ok(Some(if time.is_zero() {
                    Value::NULL
                } else if is_canonical(&text, b"0000-00-00T00:00:00.000000Z") {
                    text.as_ref().into()
                } else {
                    time.to_string().into()
                }))
            }
            Opaque::Duration => {
                let nanos = parse_duration(&self.text(first, at)?).map_err(refused)?;
                Ok(Some(format_duration(nanos).into()))
            }
            Opaque::Quantity => {
                let literal = self.reader.raw()?;
                let quantity = Quantity::from_json(&String::from_utf8_lossy(literal)).map_err(refused)?;
                Ok(Some(quantity.to_string().into()))
            }
            Opaque::IntOrString => self.int_or_string(first, seed, at).map(Some),
            Opaque::FieldsV1 | Opaque::RawExtension | Opaque::JSON => match self.reader.raw()? {
                b"null" => Ok(None),
                json => Ok(Some(Value::raw(json))),
            },
            Opaque::JSONSchemaPropsOrBool => match first {
                b'{' => self.schema(named, at).map(Some),
                b't' | b'f' => {
                    self.reader.literal()?;
                    Ok(Some((first == b't').into()))
                }
                _ => Err(refused("boolean or JSON schema expected")),
            },
            Opaque::JSONSchemaPropsOrArray | Opaque::JSONSchemaPropsOrStringArray => {
                self.schema_or_list(opaque, named, first, at).map(Some)
            }
            Opaque::GroupVersion => Ok(Some(self.text(first, at)?.as_ref().into())),
        }
    }

    /// A string; a null is the empty one.
    fn text(&mut self, first: u8, at: At<'_>) -> Result<std::borrow::Cow<'_, str>, Stop> {
        match first {
            b'"' => Ok(self.reader.string()?),
            b'n' => {
                self.reader.literal()?;
                Ok("".into())
            }
            _ => Err(Stop::Refused(wrong_type(json_type(first), "string", at))),
        }
    }

    fn int_or_string(&mut self, first: u8, seed: Option<Value>, at: At<'_>) -> Result<Value, Stop> {
        match first {
            b'"' => Ok(self.reader.string()?.as_ref().into()),
            b'n' => {
                self.reader.literal()?;
                Ok(seed.filter(|old| old.as_i64().is_some()).unwrap_or_else(|| 0i64.into()))
            }
            b'-' | b'0'..=b'9' => {
                let literal = self.reader.number()?;
                let refuse = || Stop::Refused(wrong_type(&format!("number {literal}"), "int32", at));
                literal.parse::<i32>().map(Value::from).map_err(|_| refuse())
            }
            _ => Err(Stop::Refused(wrong_type(json_type(first), "int32", at))),
        }
    }

    /// A schema in one of the types that may be one.
    fn schema(&mut self, of: &'static Type, at: At<'_>) -> Result<Value, Stop> {
        let shape = schema_shape(of)?;
        self.inside(at, |decoder, at| Ok(decoder.value(shape, at)?.unwrap_or(Value::NULL)))
    }

    /// Go takes a schema or a list, and anything else for nothing at all; an empty list is lost too.
    fn schema_or_list(
        &mut self,
        opaque: Opaque,
        named: &'static Type,
        first: u8,
        at: At<'_>,
    ) -> Result<Value, Stop> {
        match first {
            b'{' => self.schema(named, at),
            b'[' => {
                let is_texts = opaque == Opaque::JSONSchemaPropsOrStringArray;
                let item = if is_texts { STRING } else { schema_shape(named)? };
                let list = self.inside(at, |decoder, at| decoder.list(item, None, at))?;
                Ok(if list.as_list().is_some_and(<[Value]>::is_empty) { Value::NULL } else { list })
            }
            _ => {
                self.reader.skip()?;
                Ok(Value::NULL)
            }
        }
    }
}

/// `JSONSchemaProps` of the same version.
fn schema_shape(of: &'static Type) -> Result<Shape, Stop> {
    let package = of.name.rsplit_once('.').map_or("", |(package, _)| package);
    match find(&format!("{package}.JSONSchemaProps")) {
        Some(found) => Ok(Shape::Named(found)),
        None => Err(refused(format_args!("{} has no schema type beside it", of.name))),
    }
}

/// Whether a text has digits where the pattern has zeros, and the pattern's other characters.
fn is_canonical(text: &str, pattern: &[u8]) -> bool {
    text.len() == pattern.len()
        && text.bytes().zip(pattern).all(|(byte, want)| match want {
            b'0' => byte.is_ascii_digit(),
            want => byte == *want,
        })
}
