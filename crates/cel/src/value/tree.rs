//! What a node of a tree is as a value, given the type that was declared for it.

use std::sync::Arc;

use base64::Engine;
use pintle_meta::{Node, Value, parse_duration};

use super::{Blob, Error, Key, List, Map, Text, Timestamp, Val};
use crate::types::Type;

/// Only the node is converted; what is below, when it is looked at.
pub(crate) fn from_tree<'v>(value: &'v Value, of: &Type) -> Result<Val<'v>, Error> {
    Ok(match (value.node(), of) {
        (Node::Null | Node::Hollow, _) => Val::Null,
        (Node::Bool(value), _) => Val::Bool(value),
        (Node::Int(value), Type::Double) => Val::Double(value as f64),
        (Node::Int(value), Type::Uint) => u64::try_from(value).map_or(Val::Int(value), Val::Uint),
        (Node::Int(value), _) => Val::Int(value),
        (Node::Float(value), Type::Int) if value.fract() == 0.0 && value.abs() < 9.0e18 => {
            Val::Int(value as i64)
        }
        (Node::Float(value), _) => Val::Double(value),
        (Node::String(text), Type::Timestamp) => match Timestamp::parse(text).or_else(|| date(text)) {
            Some(at) => Val::Timestamp(at?),
            None => return Err(Error::new(format!("Invalid date formatted string {text}"))),
        },
        (Node::String(text), Type::Duration) => match parse_duration(text) {
            Ok(nanos) => Val::Duration(nanos),
            Err(problem) => return Err(Error::new(format!("Invalid duration {text}: {problem}"))),
        },
        (Node::String(text), Type::Bytes) => match base64::prelude::BASE64_STANDARD.decode(text) {
            Ok(bytes) => Val::Bytes(bytes.into()),
            Err(problem) => {
                return Err(Error::new(format!("Invalid byte formatted string {text}: {problem}")));
            }
        },
        (Node::String(text), _) => Val::String(Text::Borrowed(text)),
        (Node::Bytes(bytes), Type::Bytes) => Val::Bytes(Blob::Borrowed(bytes)),
        // As JSON has it, which is what somebody who does not know the type sees.
        (Node::Bytes(bytes), _) => Val::string(base64::prelude::BASE64_STANDARD.encode(bytes)),
        (Node::Raw(json), _) => match serde_json::from_slice(json) {
            Ok(json) => from_json(&json),
            Err(problem) => return Err(Error::new(problem.to_string())),
        },
        (Node::List(items), Type::List(of)) => Val::List(List::Tree { items, of: Some(Arc::clone(of)) }),
        (Node::List(items), _) => Val::List(List::Tree { items, of: None }),
        (Node::Object(object), Type::Object(of)) => Val::Map(Map::Object { object, of: Arc::clone(of) }),
        (Node::Object(object), Type::Map(of)) => {
            Val::Map(Map::Tree { object, value: (!of.1.is_dyn()).then(|| of.1.clone()) })
        }
        (Node::Object(object), _) => Val::Map(Map::Tree { object, value: None }),
    })
}

/// A day, which a schema may call a time.
fn date(text: &str) -> Option<Result<Timestamp, Error>> {
    if text.len() == 10 { Timestamp::parse(&format!("{text}T00:00:00Z")) } else { None }
}

/// Parts that nobody has looked into have their own copy once somebody does.
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
