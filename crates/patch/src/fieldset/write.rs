//! Encodes `FieldsV1` byte for byte as the reference does.

use pintle_codec::json::write;
use pintle_meta::{Node, Value};

use super::{Element, Set};

impl Set {
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32 * self.entries().len() + 2);
        self.write_json(&mut out);
        out
    }

    pub fn write_json(&self, out: &mut Vec<u8>) {
        contents(self, false, &mut Vec::new(), out);
    }
}

impl Element {
    /// Writes a key of `FieldsV1`: `f:spec`, `k:{"name":"a"}`, `v:"x"`, `i:3`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Element::Field(name) => {
                out.extend_from_slice(b"f:");
                out.extend_from_slice(name.as_bytes());
            }
            Element::Key(fields) => {
                out.extend_from_slice(b"k:{");
                for (place, (name, value)) in fields.iter().enumerate() {
                    if place > 0 {
                        out.push(b',');
                    }
                    string(name.as_bytes(), false, out);
                    out.push(b':');
                    scalar(value, out);
                }
                out.push(b'}');
            }
            Element::Value(value) => {
                out.extend_from_slice(b"v:");
                scalar(value, out);
            }
            Element::Index(place) => {
                out.extend_from_slice(b"i:");
                write::int(*place, out);
            }
        }
    }
}

fn contents(set: &Set, is_member: bool, buffer: &mut Vec<u8>, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut first = true;
    if is_member && !set.is_empty() {
        out.extend_from_slice(b"\".\":{}");
        first = false;
    }
    for entry in set.entries() {
        if !first {
            out.push(b',');
        }
        first = false;
        buffer.clear();
        entry.element.write(buffer);
        string(buffer, false, out);
        out.push(b':');
        contents(&entry.children, entry.member, buffer, out);
    }
    out.push(b'}');
}

/// Writes a value inside of a key. Objects and lists occur only if a client made them up.
fn scalar(value: &Value, out: &mut Vec<u8>) {
    match value.node() {
        Node::Bool(true) => out.extend_from_slice(b"true"),
        Node::Bool(false) => out.extend_from_slice(b"false"),
        Node::Int(value) => write::int(value, out),
        Node::Float(value) => float(value, out),
        Node::String(text) => string(text.as_bytes(), true, out),
        Node::List(items) => {
            out.push(b'[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                scalar(item, out);
            }
            out.push(b']');
        }
        Node::Object(object) => {
            out.push(b'{');
            for (place, (name, value)) in object.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                string(name.as_bytes(), true, out);
                out.push(b':');
                scalar(value, out);
            }
            out.push(b'}');
        }
        Node::Null | Node::Bytes(_) | Node::Hollow | Node::Raw(_) => out.extend_from_slice(b"null"),
    }
}

/// Exponents have at least two digits here.
fn float(value: f64, out: &mut Vec<u8>) {
    let start = out.len();
    write::float(value, out);
    let exponent = out[start..].iter().position(|byte| *byte == b'e').map(|found| start + found + 2);
    if let Some(digits) = exponent.filter(|digits| digits + 1 == out.len()) {
        out.insert(digits, b'0');
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Writes a string by the rules of the reference's encoder of field sets, which differ from its other JSON: short
/// escapes only for line breaks and tabs, and no HTML escaping in names.
fn string(text: &[u8], html: bool, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text;
    let unclean = |byte: &u8| match byte {
        0..0x20 | b'"' | b'\\' => true,
        b'<' | b'>' | b'&' | 0xE2 => html,
        _ => false,
    };
    while let Some(found) = rest.iter().position(unclean) {
        out.extend_from_slice(&rest[..found]);
        let byte = rest[found];
        rest = &rest[found + 1..];
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0xE2 => match rest {
                [0x80, last @ (0xA8 | 0xA9), ..] => {
                    out.extend_from_slice(if *last == 0xA8 { b"\\u2028" } else { b"\\u2029" });
                    rest = &rest[2..];
                }
                _ => out.push(byte),
            },
            _ => {
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
        }
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
