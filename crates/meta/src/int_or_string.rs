//! `intstr.IntOrString`: a port or its name, a number of pods or a percentage of them.

use std::fmt;
use std::num::IntErrorKind;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::quote;

/// A JSON number or string; a string of digits stays a string.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum IntOrString {
    Int(i32),
    String(String),
}

/// Parse error in the reference's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl IntOrString {
    /// Parses a flag's value: an integer if it looks like one.
    pub fn parse(text: &str) -> IntOrString {
        match text.parse() {
            Ok(number) => IntOrString::Int(number),
            Err(_) => IntOrString::String(text.to_owned()),
        }
    }

    /// Parses a bare JSON number: `1.0` and `1e3` are not integers.
    pub fn from_json_number(literal: &str) -> Result<IntOrString, Error> {
        match literal.parse() {
            Ok(number) => Ok(IntOrString::Int(number)),
            Err(_) => Err(not_an_int(&format!("number {literal}"))),
        }
    }

    /// Returns the number, also of a numeric string; 0 for other strings, the nearest `i64` for numbers out of range.
    pub fn int_value(&self) -> i64 {
        match self {
            IntOrString::Int(number) => i64::from(*number),
            IntOrString::String(text) => match atoi(text) {
                Ok(number) => number,
                Err("value out of range") if text.starts_with('-') => i64::MIN,
                Err("value out of range") => i64::MAX,
                Err(_) => 0,
            },
        }
    }

    /// Returns the number, or that percentage of `total`; strings must be percentages.
    pub fn scaled_value(&self, total: i64, round_up: bool) -> Result<i64, Error> {
        let invalid = |why: String| Error(format!("invalid value for IntOrString: {why}"));
        let text = match self {
            IntOrString::Int(number) => return Ok(i64::from(*number)),
            IntOrString::String(text) => text,
        };
        let Some(number) = text.strip_suffix('%') else {
            return Err(invalid("invalid type: string is not a percentage".to_owned()));
        };
        let percent = atoi(number).map_err(|why| {
            invalid(format!("invalid value {}: strconv.Atoi: parsing {}: {why}", quote(text), quote(number)))
        })?;
        let share = percent as f64 * total as f64 / 100.0;
        Ok(if round_up { share.ceil() } else { share.floor() } as i64)
    }
}

impl Default for IntOrString {
    fn default() -> IntOrString {
        IntOrString::Int(0)
    }
}

impl From<i32> for IntOrString {
    fn from(number: i32) -> IntOrString {
        IntOrString::Int(number)
    }
}

impl From<&str> for IntOrString {
    fn from(text: &str) -> IntOrString {
        IntOrString::String(text.to_owned())
    }
}

impl fmt::Display for IntOrString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntOrString::Int(number) => write!(f, "{number}"),
            IntOrString::String(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl Serialize for IntOrString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            IntOrString::Int(number) => serializer.serialize_i32(*number),
            IntOrString::String(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<IntOrString, D::Error> {
        deserializer.deserialize_any(Literal)
    }
}

/// Parses an integer like `strconv.Atoi`, with Go's message. If the digits exceed 64 bits before an invalid
/// character, both Go and the standard library report the overflow first; but Go counts unsigned.
fn atoi(text: &str) -> Result<i64, &'static str> {
    const SYNTAX: &str = "invalid syntax";
    const RANGE: &str = "value out of range";
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(SYNTAX);
    }
    match digits.parse::<u64>() {
        Ok(_) => text.parse().map_err(|_| RANGE),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Err(RANGE),
        Err(_) => Err(SYNTAX),
    }
}

fn not_an_int(what: &str) -> Error {
    Error(format!("json: cannot unmarshal {what} into Go value of type int32"))
}

struct Literal;

impl<'de> Visitor<'de> for Literal {
    type Value = IntOrString;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer or a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<IntOrString, E> {
        Ok(IntOrString::from(text))
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<IntOrString, E> {
        Ok(IntOrString::String(text))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<IntOrString, E> {
        IntOrString::from_json_number(&number.to_string()).map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<IntOrString, E> {
        IntOrString::from_json_number(&number.to_string()).map_err(E::custom)
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<IntOrString, E> {
        // Debug formatting keeps the decimal point, which explains the error.
        Err(E::custom(not_an_int(&format!("number {number:?}"))))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<IntOrString, E> {
        Ok(IntOrString::default())
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<IntOrString, E> {
        Err(E::custom(not_an_int("bool")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<IntOrString, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Err(serde::de::Error::custom(not_an_int("array")))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<IntOrString, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Err(serde::de::Error::custom(not_an_int("object")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_types_round_trip_in_json() {
        let cases = [
            ("8080", IntOrString::Int(8080), "8080"),
            ("-1", IntOrString::Int(-1), "-1"),
            ("\"8080\"", IntOrString::from("8080"), "\"8080\""),
            ("\"50%\"", IntOrString::from("50%"), "\"50%\""),
            ("\"\"", IntOrString::from(""), "\"\""),
            ("null", IntOrString::Int(0), "0"),
        ];
        for (literal, value, printed) in cases {
            let read: IntOrString = serde_json::from_str(literal).unwrap();
            assert_eq!(read, value);
            assert_eq!(serde_json::to_string(&read).unwrap(), printed);
        }
    }

    #[test]
    fn other_json_has_gos_messages() {
        let cases = [
            ("2147483648", "number 2147483648"),
            ("18446744073709551615", "number 18446744073709551615"),
            ("1.5", "number 1.5"),
            ("true", "bool"),
            ("[1]", "array"),
            ("{\"a\":1}", "object"),
        ];
        for (literal, what) in cases {
            let error = serde_json::from_str::<IntOrString>(literal).unwrap_err().to_string();
            let expected = format!("json: cannot unmarshal {what} into Go value of type int32");
            assert!(error.starts_with(&expected), "{error}");
        }
        for literal in ["1e3", "1.0", "-2147483649"] {
            let error = IntOrString::from_json_number(literal).unwrap_err().to_string();
            assert_eq!(error, format!("json: cannot unmarshal number {literal} into Go value of type int32"));
        }
    }

    #[test]
    fn flag_values_are_integers_if_they_fit() {
        assert_eq!(IntOrString::parse("80"), IntOrString::Int(80));
        assert_eq!(IntOrString::parse("+80"), IntOrString::Int(80));
        assert_eq!(IntOrString::parse("2147483648"), IntOrString::from("2147483648"));
        assert_eq!(IntOrString::parse("http"), IntOrString::from("http"));
        assert_eq!(IntOrString::from("42").int_value(), 42);
        assert_eq!(IntOrString::from("http").int_value(), 0);
        assert_eq!(IntOrString::from("-99999999999999999999").int_value(), i64::MIN);
        assert_eq!(IntOrString::Int(7).to_string(), "7");
        assert_eq!(IntOrString::from("http").to_string(), "http");
    }

    #[test]
    fn percentages_are_scaled_by_the_total() {
        let cases = [
            (IntOrString::Int(123), 100, true, 123),
            (IntOrString::from("90%"), 100, true, 90),
            (IntOrString::from("90%"), 95, true, 86),
            (IntOrString::from("90%"), 95, false, 85),
            (IntOrString::from("-10%"), 15, true, -1),
            (IntOrString::from("-10%"), 15, false, -2),
            (IntOrString::from("0%"), 10, true, 0),
        ];
        for (value, total, round_up, expected) in cases {
            assert_eq!(value.scaled_value(total, round_up), Ok(expected), "{value}");
        }
    }

    #[test]
    fn invalid_percentages_have_the_references_message() {
        let cases = [
            ("90", "invalid type: string is not a percentage"),
            ("", "invalid type: string is not a percentage"),
            ("%", r#"invalid value "%": strconv.Atoi: parsing "": invalid syntax"#),
            ("1.5%", r#"invalid value "1.5%": strconv.Atoi: parsing "1.5": invalid syntax"#),
            ("+-1%", r#"invalid value "+-1%": strconv.Atoi: parsing "+-1": invalid syntax"#),
            ("50%%", r#"invalid value "50%%": strconv.Atoi: parsing "50%": invalid syntax"#),
            (
                "9223372036854775808%",
                r#"invalid value "9223372036854775808%": strconv.Atoi: parsing "9223372036854775808": value out of range"#,
            ),
            (
                "9223372036854775808x%",
                r#"invalid value "9223372036854775808x%": strconv.Atoi: parsing "9223372036854775808x": invalid syntax"#,
            ),
        ];
        for (text, why) in cases {
            let error = IntOrString::from(text).scaled_value(10, true).map_err(|error| error.to_string());
            assert_eq!(error, Err(format!("invalid value for IntOrString: {why}")));
        }
    }
}
