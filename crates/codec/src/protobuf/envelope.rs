//! Envelope of a message: the four bytes `k8s\0` and a `runtime.Unknown` with the message's kind.

use super::decode::text;
use super::opaque::each_field;
use super::wire::{push_bytes, push_varint, varint_length};
use crate::Error;

/// Prefix of every envelope.
pub const PREFIX: &[u8; 4] = b"k8s\0";

/// Parsed envelope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
    /// The bare message.
    pub raw: &'a [u8],
    pub content_encoding: &'a str,
    pub content_type: &'a str,
}

/// Returns whether data starts with an envelope's prefix.
pub fn is_enveloped(data: &[u8]) -> bool {
    data.starts_with(PREFIX)
}

/// Parses an envelope without copying.
pub fn open(data: &[u8]) -> Result<Envelope<'_>, Error> {
    if data.is_empty() {
        return Err(Error::new("empty data"));
    }
    let Some(unknown) = data.strip_prefix(PREFIX) else {
        return Err(Error::new(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ));
    };
    if unknown.is_empty() {
        return Err(Error::new("empty body"));
    }
    let mut envelope = Envelope::default();
    each_field("Unknown", &[unknown], |field| {
        match field.number {
            1 => {
                let meta = field.bytes("TypeMeta")?;
                each_field("TypeMeta", &[meta], |field| {
                    match field.number {
                        1 => envelope.api_version = utf8(field.bytes("APIVersion")?)?,
                        2 => envelope.kind = utf8(field.bytes("Kind")?)?,
                        _ => field.skip()?,
                    }
                    Ok(())
                })?;
            }
            2 => envelope.raw = field.bytes("Raw")?,
            3 => envelope.content_encoding = utf8(field.bytes("ContentEncoding")?)?,
            4 => envelope.content_type = utf8(field.bytes("ContentType")?)?,
            _ => field.skip()?,
        }
        Ok(())
    })?;
    Ok(envelope)
}

/// Kind names are UTF-8.
fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|_| Error::new(format!("{:?} is not a name", text(bytes))))
}

/// Returns the length of an envelope with a message of a length.
pub fn length(api_version: &str, kind: &str, raw: usize) -> usize {
    let meta = meta_length(api_version, kind);
    PREFIX.len() + field_length(meta) + field_length(raw) + TRAILER.len()
}

/// Returns the message of an envelope in the layout of [`write`]; `None` for others, which [`open`] may still parse.
pub fn message(data: &[u8]) -> Option<&[u8]> {
    let (meta, rest) = data.strip_prefix(PREFIX)?.strip_prefix(&[0x0a])?.split_first()?;
    let rest = rest.get(usize::from(*meta)..).filter(|_| *meta < 128)?.strip_prefix(&[0x12])?;
    let (length, rest) = varint(rest)?;
    rest.get(..length).filter(|raw| rest.len() == raw.len() + TRAILER.len())
}

/// Reads a varint; returns it with the rest.
fn varint(data: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0;
    for (index, byte) in data.iter().enumerate().take(4) {
        number |= usize::from(byte & 0x7f) << (7 * index);
        if *byte < 128 {
            return Some((number, &data[index + 1..]));
        }
    }
    None
}

/// Content encoding and type, which are written although empty.
const TRAILER: &[u8; 4] = &[0x1a, 0, 0x22, 0];

fn field_length(content: usize) -> usize {
    1 + varint_length(content as u64) + content
}

fn meta_length(api_version: &str, kind: &str) -> usize {
    field_length(api_version.len()) + field_length(kind.len())
}

/// Writes everything before a message of a length; [`close`] completes the envelope.
pub fn begin(api_version: &str, kind: &str, raw: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(PREFIX);
    out.push(0x0a);
    push_varint(meta_length(api_version, kind) as u64, out);
    push_bytes(1, api_version.as_bytes(), out);
    push_bytes(2, kind.as_bytes(), out);
    out.push(0x12);
    push_varint(raw as u64, out);
}

/// Writes everything after the message.
pub fn close(out: &mut Vec<u8>) {
    out.extend_from_slice(TRAILER);
}

/// Writes a message in an envelope.
pub fn write(api_version: &str, kind: &str, raw: &[u8], out: &mut Vec<u8>) {
    out.reserve(length(api_version, kind, raw.len()));
    begin(api_version, kind, raw.len(), out);
    out.extend_from_slice(raw);
    close(out);
}
