//! JSON, encoded and decoded as the reference does.
//!
//! Decoding is one pass over the bytes, directed by the type graph, into normal form ([`decode`]), or without a type
//! by the rules of `Unstructured` ([`decode_untyped`]). Errors are Go's: the first syntax error anywhere, else the
//! first error that stops decoding (an invalid quantity), else the first value of a wrong type. Encoding is directed
//! by the tree alone ([`encode`]), since a normal tree has the right fields in order.

pub(crate) mod base64;
mod encode;
mod head;
mod indent;
mod opaque;
mod open;
mod ownership;
mod path;
mod read;
mod record;
mod scan;
#[cfg(test)]
mod tests;
mod typed;
mod untyped;
pub mod write;

pub use encode::{encode, encode_pretty};
pub(crate) use head::{head, peek};
pub use indent::Indenter;
pub(crate) use ownership::ownership;
use pintle_meta::Value;
use pintle_schema::Type;
pub use record::Record;
pub(crate) use scan::scan;

use crate::{Decoded, Error};

/// Decodes an object of a type into normal form. No defaults are applied.
pub fn decode(of: &'static Type, text: &[u8]) -> Result<Decoded, Error> {
    typed::decode(of, text)
}

/// Decodes an object without a type: keys sorted, integers that fit in 64 bits kept apart from floats, nulls kept.
pub fn decode_untyped(text: &[u8]) -> Result<Decoded, Error> {
    typed::decode_untyped(text)
}

/// Decodes any JSON value by the rules of [`decode_untyped`].
pub fn decode_any(text: &[u8]) -> Result<Decoded, Error> {
    typed::decode_any(text)
}

/// Returns the strict errors of a list of structs that are no API types; fails if the text is no such list.
pub fn strict_records(of: &'static Record, text: &[u8]) -> Result<Vec<String>, Error> {
    record::strict_records(of, text)
}

/// Decodes the outermost list or object and leaves its children as raw JSON ([`Value::raw`]), nulls aside. The whole
/// text is validated. Of duplicate fields the last one wins.
pub fn open(text: &[u8]) -> Result<Value, Error> {
    open::open(text)
}

/// Checks that a text is exactly one JSON value; the error is Go's.
pub fn validate(text: &[u8]) -> Result<(), Error> {
    read::validate(text)
}
