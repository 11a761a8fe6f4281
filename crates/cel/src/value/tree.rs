//! Conversion of a tree's node to a value of its declared type.

use std::sync::Arc;

use base64::Engine;
use pintle_meta::{Node, Value, parse_duration};

use super::{Blob, Error, Key, List, Map, Text, Timestamp, Val};
use crate::types::Type;

/// Converts the node only; its children are converted when they are read.
pub(crate) fn from_tree<'v>(value: &'v Value, of: &Type) -> Result<Val<'v>, Error> {
    let of = if of.is_dyn() { &Type::Dyn } else { of };
    Ok(match (value.node(), of) {
        (Node::Null | Node::Hollow, _) => Val::Null,
        (Node::Bool(value), Type::Bool | Type::Dyn) => Val::Bool(value),
        (Node::Int(value), Type::Double) => Val::Double(value as f64),
        (Node::Int(value), Type::Uint) => u64::try_from(value).map_or(Val::Int(value), Val::Uint),
        (Node::Int(value), Type::Int | Type::Dyn) => Val::Int(value),
        (Node::Float(value), Type::Int) if value.fract() == 0.0 && value.abs() < 9.0e18 => {
            Val::Int(value as i64)
        }
        (Node::Float(value), Type::Double | Type::Dyn) => Val::Double(value),
        (Node::String(text), Type::Timestamp) => Val::Timestamp(time(text)?),
        (Node::String(text), Type::Duration) => match duration(text) {
            Some(nanos) => Val::Duration(nanos),
            None => {
                let problem = format!("unable to parse {text} as duration");
                return Err(Error::new(format!("Invalid duration {text}: {problem}")));
            }
        },
        (Node::String(text), Type::Bytes) => match base64(text) {
            Ok(bytes) => Val::Bytes(bytes.into()),
            Err(at) => {
                let problem = format!("illegal base64 data at input byte {at}");
                return Err(Error::new(format!("Invalid byte formatted string {text}: {problem}")));
            }
        },
        (Node::String(text), Type::String | Type::Dyn) => Val::String(Text::Borrowed(text)),
        (Node::Bytes(bytes), Type::Bytes) => Val::Bytes(Blob::Borrowed(bytes)),
        // As JSON represents it, for readers without the declared type.
        (Node::Bytes(bytes), _) => Val::string(base64::prelude::BASE64_STANDARD.encode(bytes)),
        (Node::Raw(json), _) => match serde_json::from_slice(json) {
            Ok(json) => from_json(&json),
            Err(problem) => return Err(Error::new(problem.to_string())),
        },
        (Node::List(items), Type::List(of)) => Val::List(List::Tree { items, of: Some(Arc::clone(of)) }),
        (Node::List(items), Type::Dyn) => Val::List(List::Tree { items, of: None }),
        (Node::Object(object), Type::Object(of)) => Val::Map(Map::Object { object, of: Arc::clone(of) }),
        (Node::Object(object), Type::Map(of)) => {
            Val::Map(Map::Tree { object, value: (!of.1.is_dyn()).then(|| of.1.clone()) })
        }
        (Node::Object(object), Type::Dyn) => Val::Map(Map::Tree { object, value: None }),
        (node, of) => match mismatch(node, of) {
            Some(mismatch) => return mismatch,
            None => return from_tree(value, &Type::Dyn),
        },
    })
}

/// Decodes bytes of a schema's format `byte`. The reference decodes URL-safe base64 here, though it validates objects
/// against the standard alphabet. The error is the offset.
fn base64(text: &str) -> Result<Vec<u8>, usize> {
    let source = text.as_bytes();
    let mut bytes = Vec::with_capacity(source.len() / 4 * 3);
    let mut symbols = source.iter().enumerate().filter(|(_, symbol)| !matches!(symbol, b'\n' | b'\r'));
    let (mut group, mut count) = (0u32, 0);
    while let Some((at, symbol)) = symbols.next() {
        let value = match symbol {
            b'A'..=b'Z' => symbol - b'A',
            b'a'..=b'z' => symbol - b'a' + 26,
            b'0'..=b'9' => symbol - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            b'=' if count >= 2 => {
                if count == 2 {
                    match symbols.next() {
                        None => return Err(source.len()),
                        Some((_, b'=')) => {}
                        Some((at, _)) => return Err(at - 1),
                    }
                }
                if let Some((at, _)) = symbols.next() {
                    return Err(at);
                }
                let rest = (group << (6 * (4 - count))).to_be_bytes();
                bytes.extend_from_slice(&rest[1..count]);
                return Ok(bytes);
            }
            _ => return Err(at),
        };
        group = group << 6 | u32::from(value);
        count += 1;
        if count == 4 {
            bytes.extend_from_slice(&group.to_be_bytes()[1..]);
            (group, count) = (0, 0);
        }
    }
    if count == 0 { Ok(bytes) } else { Err(source.len() - count) }
}

/// Parses a date or time as the reference's formats do.
fn time(text: &str) -> Result<Timestamp, Error> {
    if text.is_empty() {
        return Ok(Timestamp::new(0, 0));
    }
    let whole = match text.len() {
        10 => Some(format!("{text}T00:00:00Z")),
        // A time without a zone is in UTC.
        _ if text.len() >= 19 && text.is_ascii() && !text[19..].contains(['Z', '+', '-']) => {
            Some(format!("{text}Z"))
        }
        _ => None,
    };
    if let Some(at) = Timestamp::parse(text).or_else(|| Timestamp::parse(&whole?)) {
        return at;
    }
    let problem =
        pintle_meta::time::Time::parse(text).err().map(|error| error.to_string()).unwrap_or_default();
    let problem = problem.replace("05Z07:00", "05");
    Err(Error::new(format!("Invalid date-time formatted string {text}: {problem}")))
}

/// Parses Go's durations, or numbers with units such as `2 weeks`.
fn duration(text: &str) -> Option<i64> {
    if let Ok(nanos) = parse_duration(text) {
        return Some(nanos);
    }
    // The last name of each unit is a prefix.
    const UNITS: [(&[&str], i64); 8] = [
        (&["ns", "nano"], 1),
        (&["us", "µs", "micro"], 1_000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], SECOND),
        (&["m", "min"], 60 * SECOND),
        (&["h", "hr", "hour"], 3_600 * SECOND),
        (&["d", "day"], 86_400 * SECOND),
        (&["w", "wk", "week"], 7 * 86_400 * SECOND),
    ];
    const SECOND: i64 = 1_000_000_000;
    let mut total = None;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = &rest[start..];
        let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let after = digits[length..].trim_start_matches(['\t', '\n', '\x0c', '\r', ' ']);
        let end = after.find(|c: char| !(c.is_ascii_alphabetic() || c == 'µ')).unwrap_or(after.len());
        rest = &after[end..];
        if end == 0 {
            continue;
        }
        let factor: i64 = digits[..length].parse().ok()?;
        let unit = after[..end].to_lowercase();
        for (names, multiplier) in UNITS {
            for (index, name) in names.iter().enumerate() {
                if unit == *name || (index + 1 == names.len() && unit.starts_with(name)) {
                    total = Some(total.unwrap_or(0_i64).wrapping_add(factor.wrapping_mul(multiplier)));
                }
            }
        }
    }
    total
}

/// Converts a node whose JSON type is not that of its declaration.
fn mismatch<'v>(node: Node<'_>, of: &Type) -> Option<Result<Val<'v>, Error>> {
    let got = match node {
        Node::Bool(_) => "bool",
        Node::Int(_) => "int64",
        Node::Float(_) => "float64",
        Node::String(_) => "string",
        Node::List(_) => "[]interface {}",
        Node::Object(_) => "map[string]interface {}",
        Node::Null | Node::Hollow | Node::Bytes(_) | Node::Raw(_) => return None,
    };
    let text = match of {
        Type::List(_) => "invalid data, expected an array for the provided schema with type=array".to_owned(),
        Type::Map(_) | Type::Object(_) => {
            "invalid data, expected a map for the provided schema with type=object".to_owned()
        }
        Type::String | Type::Bytes | Type::Timestamp | Type::Duration => {
            format!("invalid data, expected string, got {got}")
        }
        Type::Int => format!("invalid data, expected int, got {got}"),
        Type::Double => format!("invalid data, expected float, got {got}"),
        Type::Bool => format!("invalid data, expected bool, got {got}"),
        _ => return None,
    };
    Some(Err(Error::new(text)))
}

/// Converts embedded JSON that is not part of the tree; the value is a copy.
fn from_json<'v>(json: &serde_json::Value) -> Val<'v> {
    match json {
        serde_json::Value::Null => Val::Null,
        serde_json::Value::Bool(value) => Val::Bool(*value),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(value) => Val::Int(value),
            None => Val::Double(number.as_f64().unwrap_or_default()),
        },
        serde_json::Value::String(text) => Val::string(text.clone()),
        serde_json::Value::Array(items) => Val::list(items.iter().map(from_json).collect()),
        serde_json::Value::Object(fields) => {
            let entry = |(key, value): (&String, &serde_json::Value)| {
                let key = Text::from(key.clone());
                (Key::String(key.clone()), (Val::String(key), from_json(value)))
            };
            Val::Map(Map::Entries(Arc::new(fields.iter().map(entry).collect())))
        }
    }
}
