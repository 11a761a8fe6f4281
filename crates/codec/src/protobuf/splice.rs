//! Sets the resource version in a stored message, which is stored without one: it is the store's revision.

use pintle_meta::Value;
use pintle_schema::Type;

use super::plan::plan;
use super::slot::{NonCanonical, Slot, content, varint};
use super::wire::{LENGTH, push_bytes, push_varint, varint_length};
use super::wire_shape::Message;
use super::{decode, encode};
use crate::Error;

/// Field number in `ObjectMeta`; `ListMeta`, which is never stored, has another.
const RESOURCE_VERSION: u32 = 6;

/// Appends a bare message with the resource version set in its metadata. The bytes around it are copied; a message
/// that is not canonical is decoded and encoded, and the result is canonical.
pub fn with_resource_version(
    of: &'static Type,
    message: &[u8],
    version: &str,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    if let Ok((metadata, field)) = find(of, message) {
        let tail = metadata.after(field).of(message);
        let head = Slot { start: metadata.start, end: field.start }.of(message);
        let spliced = 1 + varint_length(version.len() as u64) + version.len();
        out.reserve(message.len() + version.len() + 16);
        out.push(METADATA);
        push_varint((head.len() + spliced + tail.len()) as u64, out);
        out.extend_from_slice(head);
        push_bytes(RESOURCE_VERSION, version.as_bytes(), out);
        out.extend_from_slice(tail);
        out.extend_from_slice(&message[metadata.end as usize..]);
        return Ok(());
    }
    let mut tree = decode(of, message)?;
    if let Some(metadata) = tree.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion", version);
    }
    encode(of, &tree, out)
}

/// Returns the length of a canonical message once it has a resource version. Reads only the first bytes and cannot
/// tell whether it is canonical; a caller that sends the length first must check it afterwards.
pub fn length_with_resource_version(message: &[u8], version: &str) -> Option<usize> {
    let rest = message.strip_prefix(&[METADATA])?;
    let (metadata, mut digits) = (rest.iter().take(4).enumerate(), 0);
    let mut length = 0;
    for (index, byte) in metadata {
        length |= usize::from(byte & 0x7f) << (7 * index);
        digits = index + 1;
        if *byte < 128 {
            break;
        }
    }
    // The field is present and empty.
    let longer = length + version.len();
    (version.len() < 128).then(|| message.len() + version.len() + varint_length(longer as u64) - digits)
}

/// Tag of an object's metadata, its first field.
const METADATA: u8 = 0x0a;

/// Returns the metadata, which must come first, and the whole field of the resource version in it.
fn find(of: &'static Type, message: &[u8]) -> Result<(Slot, Slot), NonCanonical> {
    let end = u32::try_from(message.len()).map_err(|_| NonCanonical)?;
    let (_, meta_type) = Message::of(of).and_then(|root| plan(root).metadata).ok_or(NonCanonical)?;
    let is_object =
        meta_type.structure.numbered(RESOURCE_VERSION).is_some_and(|field| field.name == "resourceVersion");
    let (metadata, _) = once(message, Slot { start: 0, end }, METADATA.into())?;
    let (_, field) = once(message, metadata, u64::from(RESOURCE_VERSION << 3 | u32::from(LENGTH)))?;
    // Nothing may precede the metadata, whose tag and length are written anew.
    let header = 1 + varint_length(u64::from(metadata.end - metadata.start)) as u32;
    if is_object && metadata.start == header { Ok((metadata, field)) } else { Err(NonCanonical) }
}

/// Returns the content and the whole of a field that occurs exactly once in a message.
fn once(input: &[u8], message: Slot, wanted: u64) -> Result<(Slot, Slot), NonCanonical> {
    let mut found = None;
    let mut at = message.start;
    while at < message.end {
        let (tag, after_tag) = varint(input, at, message.end)?;
        let slot = content(input, (tag & 7) as u8, after_tag, message.end)?;
        if tag == wanted && found.replace((slot, Slot { start: at, end: slot.end })).is_some() {
            return Err(NonCanonical);
        }
        at = slot.end;
    }
    found.ok_or(NonCanonical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::protobuf::envelope;

    #[test]
    fn lengths_of_canonical_messages_are_computed_from_their_first_bytes() {
        let of = pintle_schema::find("core/v1.ConfigMap").unwrap();
        for name in [1, 20, 40, 90, 120, 127, 200, 16_300, 16_380, 16_400, 20_000] {
            let text = format!(r#"{{"metadata":{{"name":"{}"}},"data":{{"k":"v"}}}}"#, "a".repeat(name));
            let (mut message, mut stored) = (Vec::new(), Vec::new());
            encode(of, &json::decode(of, text.as_bytes()).unwrap().value, &mut message).unwrap();
            envelope::write("v1", "ConfigMap", &message, &mut stored);
            assert_eq!(envelope::message(&stored), Some(&message[..]));
            for version in ["1", "12345", "18446744073709551615"] {
                let mut out = Vec::new();
                with_resource_version(of, &message, version, &mut out).unwrap();
                assert_eq!(length_with_resource_version(&message, version), Some(out.len()), "{name}");
            }
        }
        assert_eq!(envelope::message(b"k8s\0"), None);
        assert_eq!(envelope::message(b"k8s\0\x0a\x01a\x12\x05ab"), None);
        assert_eq!(length_with_resource_version(b"", "1"), None);
    }
}
