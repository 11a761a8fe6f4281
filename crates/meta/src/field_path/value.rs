//! Formatting of invalid values in field errors.

use std::fmt;

use serde::Serialize;

use crate::push_quoted;

/// Value of a field error, formatted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Not printed, nor is the colon before it.
    Omitted,
    /// Printed text.
    Printed(String),
}

impl Value {
    /// Formats a value as Go's `json.Marshal` does: structs, lists, maps, and strings of a named type (enums), which
    /// are printed as JSON and not as `%q`. A value that cannot be encoded is `null`.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Value {
        let json = serde_json::to_string(value).unwrap_or_else(|_| "null".into());
        Value::Printed(escape_html(json))
    }

    pub fn null() -> Value {
        Value::Printed("null".into())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Omitted => Ok(()),
            Value::Printed(text) => f.write_str(text),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        let mut shown = String::with_capacity(text.len() + 2);
        push_quoted(&mut shown, text);
        Value::Printed(shown)
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        text.as_str().into()
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        text.as_str().into()
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Printed(value.to_string())
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Value {
        Value::Printed(value.to_string())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Printed(value.to_string())
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Value {
        Value::Printed(value.to_string())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Printed(float(value))
    }
}

/// Formats a float as `%v`: the shortest digits, with an exponent below 1e-4 and from a million on.
fn float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    let scientific = format!("{value:e}");
    match scientific.split_once('e').map(|(digits, exponent)| (digits, exponent.parse::<i32>())) {
        Some((digits, Ok(exponent))) if value != 0.0 && !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => value.to_string(),
    }
}

/// Escapes three ASCII characters and two line separators, as Go does to make JSON safe in HTML. None of them occurs
/// in JSON outside of strings.
fn escape_html(json: String) -> String {
    const SPECIAL: [char; 5] = ['<', '>', '&', '\u{2028}', '\u{2029}'];
    if !json.contains(SPECIAL) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_values_are_printed_as_in_go() {
        let cases: [(Value, &str); 12] = [
            ("a\n\"b\"".into(), r#""a\n\"b\"""#),
            (true.into(), "true"),
            ((-3i32).into(), "-3"),
            (i64::MAX.into(), "9223372036854775807"),
            (1.5.into(), "1.5"),
            (3.0.into(), "3"),
            (0.0.into(), "0"),
            (999999.5.into(), "999999.5"),
            (1000000.0.into(), "1e+06"),
            (0.0001.into(), "0.0001"),
            (0.000012.into(), "1.2e-05"),
            (f64::NEG_INFINITY.into(), "-Inf"),
        ];
        for (value, want) in cases {
            assert_eq!(value.to_string(), want);
        }
    }

    #[test]
    fn other_values_are_printed_as_gos_json() {
        let cases = [
            (Value::json(&["a", "b"]), r#"["a","b"]"#),
            (Value::json("<a&b>\u{2028}"), r#""\u003ca\u0026b\u003e\u2028""#),
            (Value::json(&None::<String>), "null"),
            (Value::json(&std::collections::BTreeMap::from([("k", 1)])), r#"{"k":1}"#),
            (Value::null(), "null"),
            (Value::Omitted, ""),
        ];
        for (value, want) in cases {
            assert_eq!(value.to_string(), want);
        }
    }
}
