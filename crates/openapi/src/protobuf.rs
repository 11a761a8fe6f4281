//! Documents as the protobuf messages of gnostic: `openapi.v2.Document`, which older kubectl asks for, and in
//! [`v3`] that of version 3.
//!
//! The message mirrors the JSON: an object is a message whose fields have the JSON names, what has a choice of forms is
//! wrapped in a message per choice, a map is a list of names and values, and `x-` entries are lists of names and YAML.

pub(crate) mod v3;

use pintle_codec::yaml;
use pintle_meta::value::Object;
use pintle_meta::{Node, Value};

/// The fields of a message by their JSON names, sorted by number.
pub(crate) struct Message {
    fields: &'static [(&'static str, u32, Part)],
    /// Where the `x-` entries go.
    extensions: Option<u32>,
}

/// How a field is written. `wrap` are the numbers of the choices that it stands in, outermost first.
enum Part {
    Text,
    Texts,
    Flag,
    Int,
    Double,
    One {
        of: &'static Message,
        wrap: &'static [u32],
    },
    Many {
        of: &'static Message,
    },
    /// A map: a message with names and values at `number`.
    Map {
        of: &'static Message,
        number: u32,
        wrap: &'static [u32],
    },
    Parameters,
    ParameterMap,
    /// The value itself or a reference to it.
    Either {
        of: &'static Message,
        wrap: &'static [u32],
    },
    Eithers {
        of: &'static Message,
    },
    EitherMap {
        of: &'static Message,
        number: u32,
    },
    /// `additionalProperties`: a schema, or whether there may be any.
    Others {
        of: &'static Message,
    },
    /// The same where a schema cannot be a reference.
    SchemaOrBool {
        of: &'static Message,
    },
    /// A number, text or truth; of anything else only that it is there.
    Scalar,
    /// A text in a list in a message.
    Type,
    /// A value of any kind.
    Any,
    /// Values of any kind.
    Anything,
    Security,
}

const fn one(of: &'static Message) -> Part {
    Part::One { of, wrap: &[] }
}

static DOCUMENT: Message = Message {
    fields: &[
        ("swagger", 1, Part::Text),
        ("info", 2, one(&INFO)),
        ("paths", 8, Part::Map { of: &PATH, number: 2, wrap: &[] }),
        ("definitions", 9, Part::Map { of: &SCHEMA, number: 1, wrap: &[] }),
        ("parameters", 10, Part::ParameterMap),
        ("security", 12, Part::Security),
        ("securityDefinitions", 13, Part::Map { of: &API_KEY, number: 1, wrap: &[2] }),
    ],
    extensions: Some(16),
};

static INFO: Message =
    Message { fields: &[("title", 1, Part::Text), ("version", 2, Part::Text)], extensions: Some(7) };

static API_KEY: Message = Message {
    fields: &[
        ("type", 1, Part::Text),
        ("name", 2, Part::Text),
        ("in", 3, Part::Text),
        ("description", 4, Part::Text),
    ],
    extensions: Some(5),
};

static PATH: Message = Message {
    fields: &[
        ("get", 2, one(&OPERATION)),
        ("put", 3, one(&OPERATION)),
        ("post", 4, one(&OPERATION)),
        ("delete", 5, one(&OPERATION)),
        ("options", 6, one(&OPERATION)),
        ("head", 7, one(&OPERATION)),
        ("patch", 8, one(&OPERATION)),
        ("parameters", 9, Part::Parameters),
    ],
    extensions: Some(10),
};

static OPERATION: Message = Message {
    fields: &[
        ("tags", 1, Part::Texts),
        ("description", 3, Part::Text),
        ("operationId", 5, Part::Text),
        ("produces", 6, Part::Texts),
        ("consumes", 7, Part::Texts),
        ("parameters", 8, Part::Parameters),
        ("responses", 9, Part::Map { of: &RESPONSE, number: 1, wrap: &[1] }),
        ("schemes", 10, Part::Texts),
    ],
    extensions: Some(13),
};

static RESPONSE: Message = Message {
    fields: &[("description", 1, Part::Text), ("schema", 2, Part::One { of: &SCHEMA, wrap: &[1] })],
    extensions: Some(5),
};

static SCHEMA: Message = Message {
    fields: &[
        ("$ref", 1, Part::Text),
        ("format", 2, Part::Text),
        ("title", 3, Part::Text),
        ("description", 4, Part::Text),
        ("multipleOf", 6, Part::Double),
        ("maximum", 7, Part::Double),
        ("exclusiveMaximum", 8, Part::Flag),
        ("minimum", 9, Part::Double),
        ("exclusiveMinimum", 10, Part::Flag),
        ("maxLength", 11, Part::Int),
        ("minLength", 12, Part::Int),
        ("pattern", 13, Part::Text),
        ("maxItems", 14, Part::Int),
        ("minItems", 15, Part::Int),
        ("uniqueItems", 16, Part::Flag),
        ("maxProperties", 17, Part::Int),
        ("minProperties", 18, Part::Int),
        ("required", 19, Part::Texts),
        ("enum", 20, Part::Anything),
        ("additionalProperties", 21, Part::SchemaOrBool { of: &SCHEMA }),
        ("type", 22, Part::Type),
        ("items", 23, Part::One { of: &SCHEMA, wrap: &[1] }),
        ("allOf", 24, Part::Many { of: &SCHEMA }),
        ("properties", 25, Part::Map { of: &SCHEMA, number: 1, wrap: &[] }),
        ("externalDocs", 29, one(&EXTERNAL_DOCS)),
        ("example", 30, Part::Any),
    ],
    extensions: Some(31),
};

pub(crate) static EXTERNAL_DOCS: Message =
    Message { fields: &[("description", 1, Part::Text), ("url", 2, Part::Text)], extensions: Some(3) };

static REFERENCE: Message = Message { fields: &[("$ref", 1, Part::Text)], extensions: None };

static BODY: Message = Message {
    fields: &[
        ("description", 1, Part::Text),
        ("name", 2, Part::Text),
        ("in", 3, Part::Text),
        ("required", 4, Part::Flag),
        ("schema", 5, one(&SCHEMA)),
    ],
    extensions: Some(6),
};

static QUERY: Message = Message {
    fields: &[
        ("required", 1, Part::Flag),
        ("in", 2, Part::Text),
        ("description", 3, Part::Text),
        ("name", 4, Part::Text),
        ("type", 6, Part::Text),
        ("uniqueItems", 20, Part::Flag),
    ],
    extensions: Some(23),
};

static IN_PATH: Message = Message {
    fields: &[
        ("required", 1, Part::Flag),
        ("in", 2, Part::Text),
        ("description", 3, Part::Text),
        ("name", 4, Part::Text),
        ("type", 5, Part::Text),
        ("uniqueItems", 19, Part::Flag),
    ],
    extensions: Some(22),
};

/// The bytes of a document of version 2.
pub(crate) fn encode(document: &Value) -> Vec<u8> {
    message(&DOCUMENT, document)
}

/// A path of version 2, to stand in a document as bytes.
pub(crate) fn path(item: &Value) -> Vec<u8> {
    message(&PATH, item)
}

/// A schema of version 2, to stand in a document as bytes.
pub(crate) fn schema(schema: &Value) -> Vec<u8> {
    message(&SCHEMA, schema)
}

pub(crate) fn message(of: &Message, value: &Value) -> Vec<u8> {
    if let Some(done) = value.as_bytes() {
        return done.to_vec();
    }
    let mut out = Vec::new();
    let Some(object) = value.as_object() else { return out };
    for (key, number, part) in of.fields {
        if let Some(value) = object.get(key) {
            field(*number, part, value, &mut out);
        }
    }
    if let Some(number) = of.extensions {
        extensions(object, number, &mut out);
    }
    out
}

fn field(number: u32, part: &Part, value: &Value, out: &mut Vec<u8>) {
    let texts = || value.as_list().unwrap_or_default().iter().filter_map(Value::as_str);
    match part {
        Part::Text => {
            if let Some(text) = value.as_str().filter(|text| !text.is_empty()) {
                bytes(number, text.as_bytes(), out);
            }
        }
        Part::Texts => texts().for_each(|text| bytes(number, text.as_bytes(), out)),
        Part::Flag => {
            if value.as_bool() == Some(true) {
                varint(u64::from(number) << 3, out);
                out.push(1);
            }
        }
        Part::Int => {
            if let Some(value) = value.as_i64().filter(|value| *value != 0) {
                varint(u64::from(number) << 3, out);
                // Negative numbers are written as the largest ones, as protobuf has it.
                varint(value as u64, out);
            }
        }
        Part::Double => {
            if let Some(value) = value.as_f64().filter(|value| *value != 0.0) {
                varint(u64::from(number) << 3 | 1, out);
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
        Part::One { of, wrap } => bytes(number, &wrapped(wrap, message(of, value)), out),
        Part::Many { of } => {
            value
                .as_list()
                .unwrap_or_default()
                .iter()
                .for_each(|item| bytes(number, &message(of, item), out));
        }
        Part::Map { of, number: inner, wrap } => {
            bytes(number, &named(value, *inner, |value| wrapped(wrap, message(of, value))), out);
        }
        Part::Parameters => {
            for item in value.as_list().unwrap_or_default() {
                let item = match item.get("$ref") {
                    Some(_) => wrapped(&[2], message(&REFERENCE, item)),
                    None => wrapped(&[1], parameter(item)),
                };
                bytes(number, &item, out);
            }
        }
        Part::ParameterMap => bytes(number, &named(value, 1, parameter), out),
        Part::Either { of, wrap } => bytes(number, &wrapped(wrap, either(of, value)), out),
        Part::Eithers { of } => {
            value.as_list().unwrap_or_default().iter().for_each(|item| bytes(number, &either(of, item), out));
        }
        Part::EitherMap { of, number: inner } => {
            bytes(number, &named(value, *inner, |value| either(of, value)), out);
        }
        Part::Others { of } => match value.as_bool() {
            Some(any) => bytes(number, &[2 << 3, u8::from(any)], out),
            None => bytes(number, &wrapped(&[1], either(of, value)), out),
        },
        Part::SchemaOrBool { of } => match value.as_bool() {
            Some(any) => bytes(number, &[2 << 3, u8::from(any)], out),
            None => bytes(number, &wrapped(&[1], message(of, value)), out),
        },
        Part::Any => bytes(number, &any(value), out),
        Part::Scalar => bytes(number, &scalar(value), out),
        Part::Type => bytes(number, &wrapped(&[1], value.as_str().unwrap_or_default().into()), out),
        Part::Anything => {
            value.as_list().unwrap_or_default().iter().for_each(|item| bytes(number, &any(item), out));
        }
        Part::Security => {
            for item in value.as_list().unwrap_or_default() {
                let scopes = |scopes: &Value| {
                    let mut out = Vec::new();
                    field(1, &Part::Texts, scopes, &mut out);
                    out
                };
                bytes(number, &named(item, 1, scopes), out);
            }
        }
    }
}

fn either(of: &Message, value: &Value) -> Vec<u8> {
    match value.get("$ref") {
        Some(_) => wrapped(&[2], message(&REFERENCE, value)),
        None => wrapped(&[1], message(of, value)),
    }
}

/// One of a number, a truth and a text. Which one it is is told even by a zero.
fn scalar(value: &Value) -> Vec<u8> {
    let number = |number: f64| [&[1 << 3 | 1][..], &number.to_le_bytes()].concat();
    match value.node() {
        Node::Int(value) => number(value as f64),
        Node::Float(value) => number(value),
        Node::Bool(value) => vec![2 << 3, u8::from(value)],
        Node::String(value) => wrapped(&[3], value.as_bytes().to_vec()),
        _ => Vec::new(),
    }
}

fn parameter(value: &Value) -> Vec<u8> {
    match value.text_at(&["in"]) {
        "body" => wrapped(&[1], message(&BODY, value)),
        "query" => wrapped(&[2, 3], message(&QUERY, value)),
        _ => wrapped(&[2, 4], message(&IN_PATH, value)),
    }
}

/// Names and values of a map, each pair a message.
fn named(value: &Value, number: u32, encode: impl Fn(&Value) -> Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    if let Node::Object(object) = value.node() {
        for (name, value) in object.iter() {
            pair(number, name, &encode(value), &mut out);
        }
    }
    out
}

fn pair(number: u32, name: &str, value: &[u8], out: &mut Vec<u8>) {
    let mut pair = Vec::with_capacity(name.len() + value.len() + 8);
    bytes(1, name.as_bytes(), &mut pair);
    bytes(2, value, &mut pair);
    bytes(number, &pair, out);
}

fn extensions(object: &Object, number: u32, out: &mut Vec<u8>) {
    for (name, value) in object.iter().filter(|(name, _)| name.starts_with("x-")) {
        pair(number, name, &any(value), out);
    }
}

/// A value of any kind is its YAML.
fn any(value: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    yaml::encode(value, &mut text);
    wrapped(&[2], text)
}

fn wrapped(wrap: &[u32], content: Vec<u8>) -> Vec<u8> {
    wrap.iter().rev().fold(content, |content, number| {
        let mut out = Vec::with_capacity(content.len() + 8);
        bytes(*number, &content, &mut out);
        out
    })
}

fn bytes(number: u32, content: &[u8], out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | 2, out);
    varint(content.len() as u64, out);
    out.extend_from_slice(content);
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use pintle_codec::json::decode_any;

    use super::*;

    fn encoded(of: &Message, json: &str) -> Vec<u8> {
        message(of, &decode_any(json.as_bytes()).unwrap().value)
    }

    #[test]
    fn a_schema_is_a_message_with_its_choices_wrapped() {
        assert_eq!(encoded(&SCHEMA, r#"{"type":"string"}"#), b"\xb2\x01\x08\x0a\x06string");
        let items = r##"{"items":{"$ref":"#/a"}}"##;
        assert_eq!(encoded(&SCHEMA, items), b"\xba\x01\x07\x0a\x05\x0a\x03#/a");
    }

    #[test]
    fn extensions_are_yaml_by_name() {
        let schema = encoded(&SCHEMA, r#"{"x-kubernetes-list-type":"atomic"}"#);
        let mut value = Vec::new();
        bytes(2, b"atomic\n", &mut value);
        let mut expected = Vec::new();
        pair(31, "x-kubernetes-list-type", &value, &mut expected);
        assert_eq!(schema, expected);
    }

    #[test]
    fn parameters_differ_by_their_place() {
        let parameters = r##"{"parameters":[{"$ref":"#/p"},{"in":"query","name":"a","uniqueItems":true}]}"##;
        let path = encoded(&PATH, parameters);
        let mut expected = Vec::new();
        bytes(9, &wrapped(&[2, 1], b"#/p".to_vec()), &mut expected);
        bytes(9, &wrapped(&[1, 2, 3], b"\x12\x05query\x22\x01a\xa0\x01\x01".to_vec()), &mut expected);
        assert_eq!(path, expected);
    }
}
