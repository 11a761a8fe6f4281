//! JSON as Go's `encoding/json` writes it, compact or indented, for values in messages. Served objects are encoded by
//! the codec.

use std::fmt::Write;

use pintle_meta::field_path;
use pintle_meta::{Node, Value};

use super::tree::Go;

pub(super) fn write(value: &Go, out: &mut String) {
    match value {
        Go::Null => out.push_str("null"),
        Go::List(items) => list(items, out, write),
        Go::Struct(fields) => object(fields.iter().map(|(name, value)| (*name, value)), out, write),
        Go::Map(entries) => object(entries.iter().map(|(key, value)| (key.as_str(), value)), out, write),
        Go::Tree(value) => write_tree(value, out),
        Go::Decoded(value) => write_decoded(value, out),
    }
}

pub(super) fn write_tree(value: &Value, out: &mut String) {
    match value.node() {
        Node::Null => out.push_str("null"),
        Node::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Node::Int(value) => push(out, value),
        Node::Float(value) => float(value, out),
        Node::String(value) => string(value, out),
        Node::Bytes(value) => base64(value, out),
        Node::Hollow => out.push_str("\"\""),
        Node::Raw(value) => compact(&String::from_utf8_lossy(value), out),
        Node::List(items) => list(items, out, write_tree),
        // JSON omits hollow bytes.
        Node::Object(fields) => {
            object(fields.iter().filter(|(_, value)| value.node() != Node::Hollow), out, write_tree);
        }
    }
}

/// Writes JSON that Go decoded into an `interface{}`.
fn write_decoded(value: &Value, out: &mut String) {
    match value.node() {
        Node::Raw(text) => match serde_json::from_slice::<serde_json::Value>(text) {
            Ok(decoded) => write_any(&decoded, out),
            Err(_) => write_tree(value, out),
        },
        _ => write_tree(value, out),
    }
}

fn write_any(value: &serde_json::Value, out: &mut String) {
    match value {
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => push(out, number),
            (None, Some(number)) => float(number, out),
            (None, None) => push(out, number),
        },
        serde_json::Value::String(text) => string(text, out),
        serde_json::Value::Array(items) => list(items, out, write_any),
        serde_json::Value::Object(map) => {
            let mut entries: Vec<(&str, &serde_json::Value)> =
                map.iter().map(|(key, value)| (key.as_str(), value)).collect();
            entries.sort_by_key(|(key, _)| *key);
            object(entries.into_iter(), out, write_any);
        }
        serde_json::Value::Null | serde_json::Value::Bool(_) => push(out, value),
    }
}

fn list<T>(items: &[T], out: &mut String, write: impl Fn(&T, &mut String)) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}

fn object<'a, T: 'a>(
    fields: impl Iterator<Item = (&'a str, &'a T)>,
    out: &mut String,
    write: impl Fn(&T, &mut String),
) {
    out.push('{');
    for (index, (name, value)) in fields.enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(name, out);
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

fn push(out: &mut String, value: impl std::fmt::Display) {
    // Writing to a string does not fail.
    let _ = write!(out, "{value}");
}

fn string(text: &str, out: &mut String) {
    push(out, field_path::Value::json(text));
}

/// Writes the shortest digits of a float, with an exponent below 1e-6 and from 1e21 on.
fn float(value: f64, out: &mut String) {
    if value != 0.0 && !(1e-6..1e21).contains(&value.abs()) {
        let text = format!("{value:e}");
        match text.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => {
                push(out, format_args!("{digits}e+{exponent}"));
            }
            _ => out.push_str(&text),
        }
    } else {
        push(out, value);
    }
}

fn base64(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.push('"');
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for index in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * index) & 63) as usize];
            out.push(if index <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out.push('"');
}

/// Writes the output of a type's own `MarshalJSON` without white space and escaped for HTML, as Go does.
fn compact(json: &str, out: &mut String) {
    let (mut quoted, mut escaped) = (false, false);
    for c in json.chars() {
        if !quoted && c.is_ascii_whitespace() {
            continue;
        }
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => push(out, format_args!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
    }
}

/// Indents compact JSON by one space per level.
pub(super) fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    let mut characters = json.chars().peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', depth));
    };
    while let Some(c) = characters.next() {
        if quoted {
            out.push(c);
        } else {
            match c {
                '{' | '[' => {
                    out.push(c);
                    // Empty objects and lists stay on one line.
                    if let Some(close) = characters.next_if(|next| matches!(next, '}' | ']')) {
                        out.push(close);
                    } else {
                        depth += 1;
                        line(&mut out, depth);
                    }
                }
                '}' | ']' => {
                    depth = depth.saturating_sub(1);
                    line(&mut out, depth);
                    out.push(c);
                }
                ',' => {
                    out.push(c);
                    line(&mut out, depth);
                }
                ':' => out.push_str(": "),
                c => out.push(c),
            }
        }
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json_of(value: Value) -> String {
        let mut out = String::new();
        write_tree(&value, &mut out);
        out
    }

    #[test]
    fn trees_are_encoded_as_in_go() {
        let cases: [(Value, &str); 12] = [
            (Value::NULL, "null"),
            (true.into(), "true"),
            ((-3i64).into(), "-3"),
            (1.0.into(), "1"),
            (0.5.into(), "0.5"),
            (1e21.into(), "1e+21"),
            (1e20.into(), "100000000000000000000"),
            (1.5e-7.into(), "1.5e-7"),
            ("a\"<\n\u{1}é".into(), r#""a\"\u003c\n\u0001é""#),
            (Value::bytes(*b"hello"), "\"aGVsbG8=\""),
            (Value::bytes(*b"hell"), "\"aGVsbA==\""),
            (Value::raw(*b" {\"a b\" : [1, \"\\\" <\"]} "), r#"{"a b":[1,"\" \u003c"]}"#),
        ];
        for (value, want) in cases {
            assert_eq!(json_of(value), want);
        }
    }

    #[test]
    fn decoded_json_is_encoded_again() {
        let mut out = String::new();
        let text = *b"{\"b\": 1.0, \"a\": [1e3, null, 9223372036854775808, \"x\", true]}";
        write(&Go::Decoded(Value::raw(text)), &mut out);
        assert_eq!(out, r#"{"a":[1000,null,9223372036854776000,"x",true],"b":1}"#);
    }

    #[test]
    fn indented_json_has_a_line_for_every_value() {
        let json = r#"{"a":[],"b":{},"c":[1,"x:,{\"y"],"d":{"e":null}}"#;
        let want = "{\n \"a\": [],\n \"b\": {},\n \"c\": [\n  1,\n  \"x:,{\\\"y\"\n ],\n \"d\": {\n  \"e\": null\n }\n}";
        assert_eq!(indented(json), want);
    }
}
