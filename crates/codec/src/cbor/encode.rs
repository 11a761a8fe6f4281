//! Encodes trees as CBOR.

use pintle_meta::{Node, Value};

use super::SELF_DESCRIBED;
use crate::json;

const POSITIVE: u8 = 0x00;
const NEGATIVE: u8 = 0x20;
const BYTES: u8 = 0x40;
const ARRAY: u8 = 0x80;
const MAP: u8 = 0xa0;
const TAG: u8 = 0xc0;

/// Encodes a self-described item. [Hollow](Value::hollow) fields are left out.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(&SELF_DESCRIBED);
    item(value, out);
}

/// Encodes a watch event: its type, and the object as encoded by [`encode`].
pub fn encode_event(kind: &str, object: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&SELF_DESCRIBED);
    head(MAP, 2, out);
    string("type", out);
    string(kind, out);
    string("object", out);
    out.extend_from_slice(object);
}

fn item(value: &Value, out: &mut Vec<u8>) {
    match value.node() {
        Node::Null => out.push(0xf6),
        Node::Bool(false) => out.push(0xf4),
        Node::Bool(true) => out.push(0xf5),
        Node::Int(value) if value < 0 => head(NEGATIVE, !value as u64, out),
        Node::Int(value) => head(POSITIVE, value as u64, out),
        Node::Float(value) => float(value, out),
        Node::String(text) => string(text, out),
        Node::Bytes(bytes) => {
            head(TAG, super::item::TAG_BASE64, out);
            head(BYTES, bytes.len() as u64, out);
            out.extend_from_slice(bytes);
        }
        Node::Hollow => out.extend_from_slice(&[0xd6, BYTES]),
        // Invalid JSON can only come from protobuf; JSON answers have null there too.
        Node::Raw(raw) => match json::decode_any(raw) {
            Ok(decoded) => item(&decoded.value, out),
            Err(_) => out.push(0xf6),
        },
        Node::List(items) => {
            head(ARRAY, items.len() as u64, out);
            for value in items {
                item(value, out);
            }
        }
        Node::Object(object) => {
            let shown = object.iter().filter(|(_, value)| !matches!(value.node(), Node::Hollow));
            let mut entries: Vec<_> = shown.collect();
            // The length is part of a key's first bytes, so shorter keys come first.
            entries.sort_unstable_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
            head(MAP, entries.len() as u64, out);
            for (key, value) in entries {
                string(key, out);
                item(value, out);
            }
        }
    }
}

fn head(major: u8, argument: u64, out: &mut Vec<u8>) {
    let bytes = argument.to_be_bytes();
    let (info, width) = match argument {
        0..24 => return out.push(major | bytes[7]),
        24..0x100 => (24, 1),
        0x100..0x1_0000 => (25, 2),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 8),
    };
    out.push(major | info);
    out.extend_from_slice(&bytes[8 - width..]);
}

fn string(text: &str, out: &mut Vec<u8>) {
    head(BYTES, text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// Encodes the narrowest float of the same value. Decoders yield neither NaN nor infinities; null would keep the rest
/// of the document readable.
fn float(value: f64, out: &mut Vec<u8>) {
    if !value.is_finite() {
        return out.push(0xf6);
    }
    let single = value as f32;
    if f64::from(single) != value {
        out.push(0xfb);
        out.extend_from_slice(&value.to_be_bytes());
    } else if let Some(half) = half(single) {
        out.push(0xf9);
        out.extend_from_slice(&half.to_be_bytes());
    } else {
        out.push(0xfa);
        out.extend_from_slice(&single.to_be_bytes());
    }
}

/// Converts to a half-precision float of the same value.
fn half(value: f32) -> Option<u16> {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    if value == 0.0 {
        return Some(sign);
    }
    let exponent = (bits >> 23 & 0xff) as i32 - 127;
    let fraction = bits & 0x7f_ffff;
    match exponent {
        // Ten bits of the fraction remain.
        -14..=15 if fraction & 0x1fff == 0 => {
            Some(sign | ((exponent + 15) as u16) << 10 | (fraction >> 13) as u16)
        }
        // Subnormal: the leading one moves into the fraction.
        -24..=-15 => {
            let (whole, shift) = (fraction | 0x80_0000, (-1 - exponent) as u32);
            (whole & ((1 << shift) - 1) == 0).then(|| sign | (whole >> shift) as u16)
        }
        _ => None,
    }
}
