//! Conversion of values to trees, and numbers as Go prints them.

use base64::Engine;
use pintle_meta::{Object, Value};

use super::{Error, Val};

/// Limit of a tree's parts: an expression can share a part many times over, a tree copies it.
pub(super) const MOST_PARTS: usize = 1_000_000;

impl Val<'_> {
    /// Converts to a tree as JSON represents it: bytes in base64, times and durations as text. Values that JSON
    /// cannot represent are an error.
    pub fn to_value(&self) -> Result<Value, Error> {
        self.counted(&mut { MOST_PARTS })
    }

    pub(super) fn counted(&self, left: &mut usize) -> Result<Value, Error> {
        *left = left.checked_sub(1).ok_or_else(|| Error::new("result is too large"))?;
        Ok(match self {
            Val::Null => Value::NULL,
            Val::Bool(value) => Value::from(*value),
            Val::Int(value) => Value::from(*value),
            Val::Uint(value) => match i64::try_from(*value) {
                Ok(value) => Value::from(value),
                Err(_) => Value::from(*value as f64),
            },
            Val::Double(value) => Value::from(*value),
            Val::String(text) => Value::string(&**text),
            Val::Bytes(bytes) => Value::from(base64::prelude::BASE64_STANDARD.encode(&**bytes)),
            Val::Timestamp(at) => Value::from(at.to_string()),
            Val::Duration(nanos) => Value::from(seconds(*nanos)),
            Val::List(list) => {
                let items: Result<Vec<Value>, Error> = list.iter().map(|item| item?.counted(left)).collect();
                Value::from(items?)
            }
            Val::Map(map) => {
                let mut object = Object::new();
                for key in map.keys() {
                    let value = map.find(&key)?.unwrap_or(Val::Null).counted(left)?;
                    object.insert(key.to_string(), value);
                }
                Value::from(object)
            }
            Val::Optional(Some(value)) => value.counted(left)?,
            Val::Optional(None) => Value::NULL,
            Val::Type(_) | Val::Other(_) => {
                return Err(Error::new(format!(
                    "unsupported value of type {}",
                    self.type_of().runtime_name()
                )));
            }
        })
    }
}

/// Formats a duration as CEL does.
pub(crate) fn seconds(nanos: i64) -> String {
    // As in Go: whole seconds and the rest are added as floats.
    let seconds = (nanos / 1_000_000_000) as f64 + (nanos % 1_000_000_000) as f64 / 1e9;
    format!("{seconds}s")
}

/// Formats the shortest text that parses as the same number (`%g`).
pub(crate) fn shortest(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
