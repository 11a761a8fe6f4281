//! Stored messages to JSON without a tree between: the answer to most requests.
//!
//! A message is gone through once to note where each field is, and the fields are then written in JSON's order. That works
//! for messages as Go and [`super::encode`] write them. Whatever is not like that (fields out of order, repeated or
//! unknown, keys not sorted, text that is not UTF-8, anything broken) is left to [`super::decode`] and [`json::encode`], which are also
//! the definition of what comes out here, to the byte.

mod plain;
mod writer;

use pintle_meta::Value;
use pintle_schema::Type;

use self::writer::{Scratch, Writer};
use super::decode;
use super::form::Message;
use crate::{Error, json};

pub use super::normal::is_normal;

/// What the JSON has beside what the message says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Written first; items of a list do without.
    pub type_meta: Option<TypeMeta<'a>>,
    /// Set in the metadata; stored objects have none.
    pub resource_version: Option<&'a str>,
}

#[derive(Clone, Copy, Debug)]
pub struct TypeMeta<'a> {
    pub kind: &'a str,
    pub api_version: &'a str,
}

/// Appends the compact JSON of a bare message. For many of them, a [`Transcoder`] keeps its memory.
pub fn to_json(
    of: &'static Type,
    message: &[u8],
    options: &Options<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    Transcoder::default().to_json(of, message, options, out)
}

/// Keeps its memory from one message to the next.
#[derive(Debug, Default)]
pub struct Transcoder {
    scratch: Scratch,
}

impl Transcoder {
    /// See [`to_json`].
    pub fn to_json(
        &mut self,
        of: &'static Type,
        message: &[u8],
        options: &Options<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if self.quickly(of, message, options, out) { Ok(()) } else { slowly(of, message, options, out) }
    }

    /// Whether it could be done without a tree; nothing was written if not.
    pub(super) fn quickly(
        &mut self,
        of: &'static Type,
        message: &[u8],
        options: &Options<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(root) = Message::of(of) else { return false };
        let before = out.len();
        // Most objects grow by half.
        out.reserve(message.len() + message.len() / 2 + 64);
        let done = Writer::new(message, &mut self.scratch, out)
            .is_some_and(|writer| writer.root(root, options).is_ok());
        if !done {
            out.truncate(before);
        }
        done
    }
}

/// The same by way of a tree.
fn slowly(of: &'static Type, message: &[u8], options: &Options<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
    let mut tree = decode(of, message)?;
    if let Some(object) = tree.as_object_mut() {
        if let Some(TypeMeta { kind, api_version }) = options.type_meta {
            object.insert("kind", kind);
            object.insert("apiVersion", api_version);
        }
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        if let (Some(version), Some(metadata)) = (options.resource_version, metadata) {
            metadata.insert("resourceVersion", version);
        }
    }
    json::encode(&tree, out);
    Ok(())
}
