//! JSON of quantities: a string; bare numbers are accepted too.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use super::{Error, Quantity};

impl Quantity {
    /// Parses a JSON literal. The reference parses the raw bytes: white space in the quotes is ignored, escapes are
    /// not decoded, a bare number keeps its notation, null is zero.
    pub fn from_json(literal: &str) -> Result<Quantity, Error> {
        if literal == "null" {
            return Ok(Quantity::default());
        }
        let inner = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        Quantity::parse(inner.unwrap_or(literal).trim())
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Quantity, D::Error> {
        deserializer.deserialize_any(Literal)
    }
}

struct Literal;

impl Visitor<'_> for Literal {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity as a string or a number")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Quantity, E> {
        Quantity::parse(text.trim()).map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Quantity, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Quantity, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Quantity, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Quantity, E> {
        Ok(Quantity::default())
    }
}
