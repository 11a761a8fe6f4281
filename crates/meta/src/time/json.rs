//! JSON of times: strings, and null if unset.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::{MicroTime, Time};

macro_rules! json {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if self.is_zero() { serializer.serialize_unit() } else { serializer.collect_str(self) }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                match deserializer.deserialize_any(Literal)? {
                    Some(text) => $name::parse(&text).map_err(D::Error::custom),
                    None => Ok($name::default()),
                }
            }
        }
    };
}

json!(Time);
json!(MicroTime);

/// Visitor of a text or null; all else has Go's error.
struct Literal;

fn not_a_string<E: serde::de::Error>(what: &str) -> E {
    E::custom(format!("json: cannot unmarshal {what} into Go value of type string"))
}

impl<'de> Visitor<'de> for Literal {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Option<String>, E> {
        Ok(Some(text.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Option<String>, E> {
        Ok(Some(text))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<Option<String>, E> {
        Err(not_a_string("bool"))
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<Option<String>, E> {
        Err(not_a_string("number"))
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<Option<String>, E> {
        Err(not_a_string("number"))
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Option<String>, E> {
        Err(not_a_string("number"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Option<String>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Err(not_a_string("array"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<String>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Err(not_a_string("object"))
    }
}
