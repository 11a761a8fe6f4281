//! YAML as the reference decodes and encodes it: YAML 1.1 converted to JSON, and JSON converted to YAML.
//!
//! [`to_json`] converts the first document of a text and ignores the rest. Scalars follow YAML 1.1 (`yes` is true,
//! `010` is 8), keys become strings, `<<` merges, and aliases are resolved unless they make up nearly all of the
//! document. Errors have libyaml's messages, which users know, with the line numbers of the reference.
//!
//! Scanner and parser are our own: the existing Rust crates are `unsafe`, quadratic in open flow levels, or word
//! errors differently, and none has the reference's limits.

mod decode;
mod directive;
mod encode;
mod go;
mod order;
mod parser;
mod reader;
mod resolve;
mod scalar;
mod scanner;
mod token;
mod untyped;

pub use encode::encode;
pub use untyped::decode_untyped;

use crate::Error;

/// Converts a document to JSON; an empty one is null.
pub fn to_json(text: &[u8]) -> Result<Vec<u8>, Error> {
    to_json_strict(text).map(|(json, _)| json)
}

/// Converts a document to JSON and returns its strict error: one message with all duplicate keys, of which the last
/// one wins. The JSON does not contain duplicates any more.
pub fn to_json_strict(text: &[u8]) -> Result<(Vec<u8>, Vec<String>), Error> {
    let input = reader::read(text);
    let Some(document) = parser::parse(&input)? else { return Ok((b"null".to_vec(), Vec::new())) };
    let mut decoder = decode::Decoder::new(&document);
    let root = decoder.root()?;
    let mut json = Vec::with_capacity(text.len());
    decode::write_json(&root, &mut json)?;
    let strict = match decoder.duplicates.as_slice() {
        [] => Vec::new(),
        duplicates => vec![format!("yaml: unmarshal errors:\n  {}", duplicates.join("\n  "))],
    };
    Ok((json, strict))
}

#[cfg(test)]
mod tests;
