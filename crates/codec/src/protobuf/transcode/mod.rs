//! Transcodes stored messages to JSON without a tree: the bodies of most responses.
//!
//! A message is scanned once for the positions of its fields, which are then written in JSON's order. That works for
//! canonical messages, as Go and [`super::encode`] write them. Others (fields out of order, repeated or unknown,
//! unsorted keys, invalid UTF-8, any error) fall back to [`super::decode`] and [`json::encode`], which also define
//! the output to the byte.

mod plain;
mod writer;

use pintle_meta::Value;
use pintle_schema::Type;

use self::writer::{Scratch, Writer};
use super::decode;
use super::wire_shape::Message;
use crate::{Error, json};

pub use super::normal::is_normal;

/// Fields that the JSON has in addition to the message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Written first; absent in items of a list.
    pub type_meta: Option<TypeMeta<'a>>,
    /// Set in the metadata; stored objects have none.
    pub resource_version: Option<&'a str>,
}

#[derive(Clone, Copy, Debug)]
pub struct TypeMeta<'a> {
    pub kind: &'a str,
    pub api_version: &'a str,
}

/// Appends the compact JSON of a bare message. For many messages, a [`Transcoder`] reuses its memory.
pub fn to_json(
    of: &'static Type,
    message: &[u8],
    options: &Options<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    Transcoder::default().to_json(of, message, options, out)
}

/// Transcoder that reuses its memory from message to message.
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
        if self.transcode_directly(of, message, options, out) {
            Ok(())
        } else {
            slowly(of, message, options, out)
        }
    }

    /// Transcodes without a tree; returns whether that worked. If not, nothing was written.
    pub(super) fn transcode_directly(
        &mut self,
        of: &'static Type,
        message: &[u8],
        options: &Options<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(root) = Message::of(of) else { return false };
        let before = out.len();
        // JSON is about one and a half times as long.
        out.reserve(message.len() + message.len() / 2 + 64);
        let done = Writer::new(message, &mut self.scratch, out)
            .is_some_and(|writer| writer.root(root, options).is_ok());
        if !done {
            out.truncate(before);
        }
        done
    }
}

/// Transcodes through a tree.
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
