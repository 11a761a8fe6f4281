//! YAML, as the reference reads and writes it: YAML 1.1 that becomes JSON, and JSON that becomes YAML.
//!
//! [`to_json`] takes the first document of a text and what follows is not looked at. Scalars mean what YAML 1.1 says (`yes` is
//! true, `010` is 8), keys become strings, `<<` merges, and aliases are followed as long as they don't make up nearly all
//! of the document. Errors are in the words of libyaml, whose messages users know, with the lines that the reference names.
//!
//! Scanner and parser are our own: what exists in Rust either is `unsafe`, looks at every open flow level for each
//! token, or words its errors differently, and none has the reference's limits.

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

/// A document as JSON; an empty one is null.
pub fn to_json(text: &[u8]) -> Result<Vec<u8>, Error> {
    to_json_strict(text).map(|(json, _)| json)
}

/// A document as JSON, and what a strict reader minds about it: one message that has all the keys that were set twice. Of
/// equal keys the last counts. The JSON does not have them any more.
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
