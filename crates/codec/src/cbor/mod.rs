//! CBOR (RFC 8949), as the reference encodes and decodes `application/cbor`.
//!
//! Encoding is deterministic: shortest integers and floats, keys in bytewise order of their encoding, strings as byte
//! strings (which need no UTF-8 check), bytes as byte strings with tag 22 (expected conversion to base64), and the
//! whole in the self-described tag.
//!
//! Decoding accepts the encodings of other writers too: text strings, indefinite lengths, tags. Values that JSON
//! cannot express and duplicate keys are rejected. Well-formedness is checked first, so the decoders can rely on
//! lengths.
//!
//! In a sequence (`application/cbor-seq`) items follow each other without separators; [`item_length`] finds their
//! ends.

mod diagnose;
mod encode;
mod item;
mod opaque;
mod scan;
mod typed;
mod untyped;

pub use diagnose::diagnose;
pub use encode::{encode, encode_event};
pub use item::item_length;
pub(crate) use scan::scan;

use pintle_meta::{Object, Value};
use pintle_schema::{Type, find};

use crate::{Decoded, Error};

/// Prefix of all encoded data: the head of tag 55799, self-described CBOR.
pub const SELF_DESCRIBED: [u8; 3] = [0xd9, 0xd9, 0xf7];

/// Returns whether data starts with the self-described tag.
pub fn is_self_described(data: &[u8]) -> bool {
    data.starts_with(&SELF_DESCRIBED)
}

/// Returns an object's `apiVersion` and `kind`; empty if absent.
pub fn type_meta(data: &[u8]) -> Result<(String, String), Error> {
    let read = || {
        item::check_whole(data)?;
        match find("meta/v1.TypeMeta") {
            Some(of) => typed::decode_lax(of, data),
            None => untyped::decode_map(data),
        }
    };
    let value = read()
        .map_err(|error: Error| Error::new(format!("unable to determine group/version/kind: {error}")))?;
    Ok((value.text_at(&["apiVersion"]).into(), value.text_at(&["kind"]).into()))
}

/// Decodes an object of a type into normal form. There is at most one strict error, about the first unknown field.
pub fn decode(of: &'static Type, data: &[u8]) -> Result<Decoded, Error> {
    item::check_whole(data)?;
    typed::decode(of, data)
}

/// Decodes an object without a type, by the rules of [`crate::json::decode_untyped`].
pub fn decode_untyped(data: &[u8]) -> Result<Decoded, Error> {
    item::check_whole(data)?;
    let value = untyped::decode_map(data)?;
    let value = if value.is_null() { Value::object(Object::new()) } else { value };
    Ok(Decoded { value, strict: Vec::new() })
}

#[cfg(test)]
mod tests;
