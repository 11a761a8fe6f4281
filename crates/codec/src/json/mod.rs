//! JSON, read and written as the reference does it.
//!
//! Reading is one pass over the bytes, directed by the type graph, straight into normal form ([`decode`]), or without a type
//! by the rules of `Unstructured` ([`decode_untyped`]). What Go would say about bad input is said here too: the first
//! error of syntax wherever it stands, else the first error that ends the reading (a bad quantity), else the first value of
//! a wrong type. Writing is directed by the tree alone ([`encode`]), since a normal tree has the right fields in order.

pub(crate) mod base64;
mod encode;
mod head;
mod indent;
mod opaque;
mod open;
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
use pintle_meta::Value;
use pintle_schema::Type;
pub use record::Record;
pub(crate) use scan::scan;

use crate::{Decoded, Error};

/// Reads an object of a type into normal form. Nothing is defaulted.
pub fn decode(of: &'static Type, text: &[u8]) -> Result<Decoded, Error> {
    typed::decode(of, text)
}

/// Reads an object without a type: keys sorted, integers that fit in 64 bits kept apart from floats, nulls kept.
pub fn decode_untyped(text: &[u8]) -> Result<Decoded, Error> {
    typed::decode_untyped(text)
}

/// Reads any JSON value by the rules of [`decode_untyped`].
pub fn decode_any(text: &[u8]) -> Result<Decoded, Error> {
    typed::decode_any(text)
}

/// What a strict reader minds about a list of structs that are no API types; an error where it is none.
pub fn strict_records(of: &'static Record, text: &[u8]) -> Result<Vec<String>, Error> {
    record::strict_records(of, text)
}

/// Reads the outermost list or object and leaves what is in it as it is written ([`Value::raw`]), apart from nulls. All of the
/// text is checked. Of fields with the same name the last stays.
pub fn open(text: &[u8]) -> Result<Value, Error> {
    open::open(text)
}

/// Whether a text is one JSON value and nothing else; the error is Go's.
pub fn validate(text: &[u8]) -> Result<(), Error> {
    read::validate(text)
}
