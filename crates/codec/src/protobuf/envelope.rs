//! What is around a message: the four bytes `k8s\0` and a `runtime.Unknown`, which says of what kind the message is.

use super::decode::text;
use super::opaque::each_field;
use super::wire::{push_bytes, push_varint, varint_length};
use crate::Error;

/// Every message in an envelope begins with this.
pub const PREFIX: &[u8; 4] = b"k8s\0";

/// What an envelope says and holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
    /// The bare message.
    pub raw: &'a [u8],
    pub content_encoding: &'a str,
    pub content_type: &'a str,
}

/// Whether these bytes are in an envelope, as opposed to JSON or anything else.
pub fn is_enveloped(data: &[u8]) -> bool {
    data.starts_with(PREFIX)
}

/// Opens an envelope; nothing is copied.
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

/// Kinds are looked up by name, and none has a name that is not UTF-8.
fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|_| Error::new(format!("{:?} is not a name", text(bytes))))
}

/// How long the whole will be around a message of a length.
pub fn length(api_version: &str, kind: &str, raw: usize) -> usize {
    let meta = meta_length(api_version, kind);
    PREFIX.len() + field_length(meta) + field_length(raw) + TRAILER.len()
}

/// The message in an envelope that is as [`write`] makes them; `None` in another, which [`open`] may still read.
pub fn message(data: &[u8]) -> Option<&[u8]> {
    let (meta, rest) = data.strip_prefix(PREFIX)?.strip_prefix(&[0x0a])?.split_first()?;
    let rest = rest.get(usize::from(*meta)..).filter(|_| *meta < 128)?.strip_prefix(&[0x12])?;
    let (length, rest) = varint(rest)?;
    rest.get(..length).filter(|raw| rest.len() == raw.len() + TRAILER.len())
}

/// A number, and what is behind it.
fn varint(data: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0;
    for (place, byte) in data.iter().enumerate().take(4) {
        number |= usize::from(byte & 0x7f) << (7 * place);
        if *byte < 128 {
            return Some((number, &data[place + 1..]));
        }
    }
    None
}

/// Content encoding and type, which are written although they are empty.
const TRAILER: &[u8; 4] = &[0x1a, 0, 0x22, 0];

fn field_length(content: usize) -> usize {
    1 + varint_length(content as u64) + content
}

fn meta_length(api_version: &str, kind: &str) -> usize {
    field_length(api_version.len()) + field_length(kind.len())
}

/// All that comes before a message of a length. [`close`] comes after it.
pub fn begin(api_version: &str, kind: &str, raw: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(PREFIX);
    out.push(0x0a);
    push_varint(meta_length(api_version, kind) as u64, out);
    push_bytes(1, api_version.as_bytes(), out);
    push_bytes(2, kind.as_bytes(), out);
    out.push(0x12);
    push_varint(raw as u64, out);
}

/// All that comes after the message.
pub fn close(out: &mut Vec<u8>) {
    out.extend_from_slice(TRAILER);
}

/// Puts an envelope around a message.
pub fn write(api_version: &str, kind: &str, raw: &[u8], out: &mut Vec<u8>) {
    out.reserve(length(api_version, kind, raw.len()));
    begin(api_version, kind, raw.len(), out);
    out.extend_from_slice(raw);
    close(out);
}
