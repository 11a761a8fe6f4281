//! CBOR (RFC 8949), as the reference reads and writes `application/cbor`.
//!
//! Writing is deterministic: shortest integers and floats, keys sorted as encoded (by length, then bytewise), strings as byte
//! strings (nobody has to check them for UTF-8), bytes as byte strings with tag 22 (base64 is expected when they become
//! text), and the whole in the tag that marks CBOR.
//!
//! Reading takes what others write too: text strings, indefinite lengths, tags. What JSON could not express is refused, and so
//! are keys that occur twice. Well-formedness is checked before anything is read, so that what is read afterwards has the
//! lengths that it claims.
//!
//! In a sequence (`application/cbor-seq`), items follow each other without anything between; [`item_length`] finds their ends.

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

/// What everything written begins with: the head of tag 55799, which means nothing but that this is CBOR.
pub const SELF_DESCRIBED: [u8; 3] = [0xd9, 0xd9, 0xf7];

/// Whether data says that it is CBOR.
pub fn is_self_described(data: &[u8]) -> bool {
    data.starts_with(&SELF_DESCRIBED)
}

/// The `apiVersion` and the `kind` that an object says; empty where it does not.
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

/// Reads an object of a type into normal form. There is at most one strict error, about the first unknown field.
pub fn decode(of: &'static Type, data: &[u8]) -> Result<Decoded, Error> {
    item::check_whole(data)?;
    typed::decode(of, data)
}

/// Reads an object without a type, by the rules of [`crate::json::decode_untyped`].
pub fn decode_untyped(data: &[u8]) -> Result<Decoded, Error> {
    item::check_whole(data)?;
    let value = untyped::decode_map(data)?;
    let value = if value.is_null() { Value::object(Object::new()) } else { value };
    Ok(Decoded { value, strict: Vec::new() })
}

#[cfg(test)]
mod tests;
