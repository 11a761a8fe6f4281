//! Encodings of objects: JSON, YAML, protobuf and CBOR, all directed by the type graph and all of the same normal
//! [`pintle_meta::Value`]; and the Table and PartialObjectMetadata views.
//!
//! Decoders bound sizes and depths of hostile input, report an [`Error`] in the reference's words, and collect strict
//! errors in the same pass ([`Decoded::strict`]).

pub mod cbor;
pub mod frame;
pub mod json;
pub mod kind;
pub mod negotiate;
pub mod ownership;
pub mod partial;
pub mod protobuf;
pub mod scan;
pub mod table;
pub mod unstructured;
pub mod yaml;

use pintle_meta::Value;

/// Maximal nesting of lists and objects. Go allows 10,000; with this limit a tree can be walked on the 2 MB stack of
/// a request's thread, also without optimization.
pub const MAX_DEPTH: usize = 500;

/// Decoded object with its strict errors.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    pub value: Value,
    /// Errors for `fieldValidation`, in the order of the input: `unknown field "spec.foo"`, `duplicate field "kind"`.
    pub strict: Vec<String>,
}

/// Encoding or decoding error in the reference's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    pub fn new(message: impl Into<String>) -> Error {
        Error(message.into())
    }
}
