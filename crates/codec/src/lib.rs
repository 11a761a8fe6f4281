//! Objects to bytes and back: JSON, YAML, protobuf and CBOR, all directed by the type graph, all yielding and taking the
//! same normal [`pintle_meta::Value`]; and the views of objects that clients ask for instead of them.
//!
//! Decoders take hostile input: sizes and depths are bounded, what is wrong becomes an [`Error`] in the reference's words, and
//! what only a strict reader minds is collected in the same pass ([`Decoded::strict`]).

pub mod cbor;
pub mod frame;
pub mod json;
pub mod kind;
pub mod negotiate;
pub mod partial;
pub mod protobuf;
pub mod scan;
pub mod table;
pub mod unstructured;
pub mod yaml;

use pintle_meta::Value;

/// How deep lists and objects may lie in each other. Go allows 10,000; with ours a tree is walked on the 2 MB stack of a
/// request's thread, also without optimisation.
pub const MAX_DEPTH: usize = 500;

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    pub value: Value,
    /// What `fieldValidation` is about, in the order of the input: `unknown field "spec.foo"`, `duplicate field "kind"`.
    pub strict: Vec<String>,
}

/// Why something could not be read or written, in the words that clients of the reference know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    pub fn new(message: impl Into<String>) -> Error {
        Error(message.into())
    }
}
