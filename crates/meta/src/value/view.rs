//! Typed views: structs deserialized from a tree, for logic that would otherwise use string keys; and serialization
//! of a tree like its JSON.

use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::ser::{self, SerializeMap};
use serde::{Serialize, Serializer, forward_to_deserialize_any};

use super::{Node, Object, Value};

/// The tree does not match the view's type.
#[derive(Debug)]
pub struct ViewError(String);

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ViewError {}

impl de::Error for ViewError {
    fn custom<T: fmt::Display>(message: T) -> ViewError {
        ViewError(message.to_string())
    }
}

impl Value {
    /// Deserializes a typed struct from the tree like from the tree's JSON.
    pub fn view<T: DeserializeOwned>(&self) -> Result<T, ViewError> {
        T::deserialize(self)
    }
}

impl<'de> Deserializer<'de> for &'de Value {
    type Error = ViewError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ViewError> {
        match self.node() {
            Node::Null | Node::Hollow => visitor.visit_unit(),
            Node::Bool(value) => visitor.visit_bool(value),
            Node::Int(value) => visitor.visit_i64(value),
            Node::Float(value) => visitor.visit_f64(value),
            Node::String(value) => visitor.visit_borrowed_str(value),
            Node::Bytes(value) => visitor.visit_string(base64(value)),
            Node::Raw(value) => {
                let mut json = serde_json::Deserializer::from_slice(value);
                json.deserialize_any(visitor).map_err(de::Error::custom)
            }
            Node::List(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Node::Object(object) => visitor.visit_map(fields(object)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ViewError> {
        match self.node() {
            Node::Null | Node::Hollow => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ViewError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ViewError> {
        match self.node() {
            Node::String(value) => {
                let value: de::value::StrDeserializer<'_, ViewError> = value.into_deserializer();
                value.deserialize_enum(name, variants, visitor)
            }
            _ => Err(de::Error::custom(format_args!("a {name} is a string"))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, ViewError> for &'de Value {
    type Deserializer = &'de Value;

    fn into_deserializer(self) -> &'de Value {
        self
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.node() {
            Node::Null | Node::Hollow => serializer.serialize_unit(),
            Node::Bool(value) => serializer.serialize_bool(value),
            Node::Int(value) => serializer.serialize_i64(value),
            Node::Float(value) => serializer.serialize_f64(value),
            Node::String(value) => serializer.serialize_str(value),
            Node::Bytes(value) => serializer.serialize_str(&base64(value)),
            Node::Raw(value) => {
                let parsed: serde_json::Value = serde_json::from_slice(value).map_err(ser::Error::custom)?;
                parsed.serialize(serializer)
            }
            Node::List(items) => serializer.collect_seq(items),
            Node::Object(object) => {
                let mut map = serializer.serialize_map(None)?;
                for (key, value) in json_fields(object) {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

type Fields<'de> = MapDeserializer<'de, Box<dyn Iterator<Item = (&'de str, &'de Value)> + 'de>, ViewError>;

fn fields(object: &Object) -> Fields<'_> {
    MapDeserializer::new(Box::new(json_fields(object)))
}

/// Returns the fields that JSON has.
fn json_fields(object: &Object) -> impl Iterator<Item = (&str, &Value)> {
    object.iter().filter(|(_, value)| !matches!(value.node(), Node::Hollow))
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
