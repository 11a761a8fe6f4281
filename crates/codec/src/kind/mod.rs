//! Decodes objects of any encoding and determines their kind: used for every request body and every stored value.
//!
//! Missing parts of an object's type are filled in from a default:
//!
//! ```text
//! says                          default          is
//! apiVersion v1, kind Pod       apps/v1 Scale    v1 Pod         (the caller rejects the other kind)
//! kind Scale                    apps/v1 Scale    apps/v1 Scale
//! (nothing)                     apps/v1 Scale    apps/v1 Scale
//! (nothing)                     -                Object 'Kind' is missing in '{}'
//! ```

mod messages;
mod scheme;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use pintle_meta::gvk::{GroupVersion, GroupVersionKind};
use pintle_meta::quote;
use pintle_schema::{Type, find_kind};

pub use self::messages::{not_convertible, strict_error, warnings, wrong_version};
use self::scheme::Scheme;
use crate::json::{self, head, peek};
use crate::negotiate::Encoding;
use crate::protobuf::{self, envelope};
use crate::{Decoded, Error, cbor, yaml};

/// Object of a built-in kind.
#[derive(Clone, Debug)]
pub struct Typed {
    pub kind: GroupVersionKind,
    pub of: &'static Type,
    pub decoded: Decoded,
}

/// Object without a type, of the kind that it states.
#[derive(Clone, Debug)]
pub struct Untyped {
    pub kind: GroupVersionKind,
    pub decoded: Decoded,
}

/// Decoding error, and the kind as far as it was determined: messages depend on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Unreadable {
    pub kind: Option<GroupVersionKind>,
    pub error: Error,
}

impl From<Error> for Unreadable {
    fn from(error: Error) -> Unreadable {
        Unreadable { kind: None, error }
    }
}

fn unreadable(kind: GroupVersionKind, error: Error) -> Unreadable {
    Unreadable { kind: Some(kind), error }
}

/// Returns the encoding of a stored value; YAML if it is none of the others.
pub fn recognize(bytes: &[u8]) -> Encoding {
    if envelope::is_enveloped(bytes) {
        Encoding::Protobuf
    } else if cbor::is_self_described(bytes) {
        Encoding::Cbor
    } else if bytes.trim_ascii_start().starts_with(b"{") {
        Encoding::Json
    } else {
        Encoding::Yaml
    }
}

/// Returns the kind that a JSON text states.
pub fn of_json(text: &[u8]) -> Result<GroupVersionKind, Error> {
    let head = head(text)
        .map_err(|error| Error::new(format!("couldn't get version/kind; json parse error: {error}")))?;
    let version = GroupVersion::parse(&head.api_version).map_err(Error::new)?;
    Ok(version.with_kind(head.kind))
}

/// Decodes an object of a built-in kind. The tree always has `kind` and `apiVersion`.
pub fn decode(
    encoding: Encoding,
    bytes: &[u8],
    default: Option<&GroupVersionKind>,
) -> Result<Typed, Unreadable> {
    match encoding {
        Encoding::Json => decode_json(bytes, bytes, default),
        Encoding::Yaml => {
            let (json, strict) = yaml::to_json_strict(bytes)?;
            let mut typed = decode_json(&json, bytes, default)?;
            typed.decoded.strict.splice(0..0, strict);
            Ok(typed)
        }
        Encoding::Protobuf => decode_protobuf(bytes, default),
        Encoding::Cbor => decode_cbor(bytes, default),
    }
}

/// Decodes an object without a type, as custom resources are. It must state its kind; there is no default.
pub fn decode_untyped(encoding: Encoding, bytes: &[u8]) -> Result<Untyped, Unreadable> {
    match encoding {
        Encoding::Json => decode_untyped_json(bytes, bytes),
        Encoding::Yaml => {
            let (json, strict) = yaml::to_json_strict(bytes)?;
            let mut untyped = decode_untyped_json(&json, bytes)?;
            untyped.decoded.strict.splice(0..0, strict);
            Ok(untyped)
        }
        // Messages cannot be decoded without a type.
        Encoding::Protobuf => Err(Error::new("an object without a type has no protobuf form").into()),
        Encoding::Cbor => decode_untyped_cbor(bytes),
    }
}

/// Decodes a stored object without a type: CBOR if it is self-described, otherwise JSON. Other encodings are not
/// tried.
pub fn decode_untyped_stored(bytes: &[u8]) -> Result<Untyped, Unreadable> {
    if cbor::is_self_described(bytes) {
        return decode_untyped_cbor(bytes);
    }
    said_in_json(json::decode_untyped(bytes)?, bytes)
}

/// Returns the kind that CBOR data states. An invalid version counts as missing.
fn of_cbor(bytes: &[u8]) -> Result<GroupVersionKind, Error> {
    let (api_version, kind) = cbor::type_meta(bytes)?;
    Ok(GroupVersionKind::from_api_version(&api_version, &kind))
}

fn decode_cbor(bytes: &[u8], default: Option<&GroupVersionKind>) -> Result<Typed, Unreadable> {
    let kind = with_default(of_cbor(bytes)?, default);
    let kind = complete(kind, || cbor::diagnose(bytes).into())?;
    let of = registered(&kind, default)?;
    match cbor::decode(of, bytes) {
        Ok(decoded) => Ok(typed(kind, of, decoded)),
        Err(error) => Err(unreadable(kind, error)),
    }
}

/// Unlike in JSON, the version is required.
fn decode_untyped_cbor(bytes: &[u8]) -> Result<Untyped, Unreadable> {
    let decoded = match cbor::decode_untyped(bytes) {
        Ok(decoded) => decoded,
        Err(error) => return Err(unreadable(of_cbor(bytes)?, error)),
    };
    let kind = complete(decoded.value.group_version_kind(), || cbor::diagnose(bytes).into())?;
    Ok(Untyped { kind, decoded })
}

/// Returns the kind in an envelope, completed by the default.
fn enveloped_kind(envelope: &envelope::Envelope<'_>, default: Option<&GroupVersionKind>) -> GroupVersionKind {
    let mut kind = GroupVersionKind::from_api_version(envelope.api_version, envelope.kind);
    if let Some(default) = default {
        if kind.kind.is_empty() {
            kind.kind.clone_from(&default.kind);
        }
        if kind.version.is_empty() && !default.version.is_empty() {
            kind.group.clone_from(&default.group);
            kind.version.clone_from(&default.version);
        }
    }
    kind
}

/// Returns the error of decoding protobuf without a type.
pub fn untyped_protobuf(bytes: &[u8], default: &GroupVersionKind) -> Unreadable {
    match envelope::open(bytes) {
        Ok(envelope) => {
            unreadable(enveloped_kind(&envelope, Some(default)), missing_kind("object has no kind field "))
        }
        Err(error) => error.into(),
    }
}

fn decode_protobuf(bytes: &[u8], default: Option<&GroupVersionKind>) -> Result<Typed, Unreadable> {
    let envelope = envelope::open(bytes)?;
    let kind = enveloped_kind(&envelope, default);
    let kind = complete(kind, || {
        let (version, kind) = (quote(envelope.api_version), quote(envelope.kind));
        format!("runtime.TypeMeta{{APIVersion:{version}, Kind:{kind}}}").into()
    })?;
    let of = registered(&kind, default)?;
    match protobuf::decode(of, envelope.raw) {
        Ok(value) => Ok(typed(kind, of, Decoded { value, strict: Vec::new() })),
        Err(error) => Err(unreadable(kind, error)),
    }
}

/// `original` is the text that the JSON was converted from, for messages.
fn decode_json(
    text: &[u8],
    original: &[u8],
    default: Option<&GroupVersionKind>,
) -> Result<Typed, Unreadable> {
    // Mostly the two fields come first and once, which saves reading the whole text for them. If they are repeated,
    // or spelled in another case, strict decoding reports it.
    if let Some(head) = peek(text)
        && let Ok(version) = GroupVersion::parse(&head.api_version)
        && let kind = with_default(version.with_kind(head.kind), default)
        && let Some(of) = type_of(&kind, default)
        && let Ok(decoded) = json::decode(of, text)
        && (decoded.strict.is_empty() || of_json(text).is_ok_and(|said| with_default(said, default) == kind))
    {
        return Ok(typed(kind, of, decoded));
    }
    let kind = with_default(of_json(text)?, default);
    let kind = complete(kind, || String::from_utf8_lossy(original))?;
    let of = registered(&kind, default)?;
    match json::decode(of, text) {
        Ok(decoded) => Ok(typed(kind, of, decoded)),
        Err(error) => Err(unreadable(kind, error)),
    }
}

fn typed(kind: GroupVersionKind, of: &'static Type, mut decoded: Decoded) -> Typed {
    // Unversioned kinds get their type from the request, not from their fields.
    if let Some(object) = decoded.value.as_object_mut()
        && of.structure().is_some_and(|of| of.position("kind").is_some())
    {
        object.insert("kind", &*kind.kind);
        object.insert("apiVersion", kind.api_version());
    }
    Typed { kind, of, decoded }
}

fn decode_untyped_json(text: &[u8], original: &[u8]) -> Result<Untyped, Unreadable> {
    let found = of_json(text)?;
    let decoded = match json::decode_untyped(text) {
        Ok(decoded) => decoded,
        Err(error) => return Err(unreadable(found, error)),
    };
    said_in_json(decoded, original)
}

/// Returns an object with the kind that it states. A version is not required.
fn said_in_json(decoded: Decoded, original: &[u8]) -> Result<Untyped, Unreadable> {
    let kind = decoded.value.group_version_kind();
    if kind.kind.is_empty() {
        let error = missing_kind(&String::from_utf8_lossy(original));
        return Err(unreadable(kind, error));
    }
    Ok(Untyped { kind, decoded })
}

/// Completes a kind by the default. A missing version only if the group is the same.
fn with_default(mut kind: GroupVersionKind, default: Option<&GroupVersionKind>) -> GroupVersionKind {
    let Some(default) = default else { return kind };
    if kind.kind.is_empty() {
        kind.kind.clone_from(&default.kind);
    }
    if kind.version.is_empty() && (kind.group.is_empty() || kind.group == default.group) {
        kind.group.clone_from(&default.group);
        kind.version.clone_from(&default.version);
    }
    kind
}

/// Returns a kind with a version, or the error of the missing part.
fn complete<'a>(
    kind: GroupVersionKind,
    original: impl FnOnce() -> Cow<'a, str>,
) -> Result<GroupVersionKind, Unreadable> {
    if kind.kind.is_empty() {
        return Err(unreadable(kind, missing_kind(&original())));
    }
    if kind.version.is_empty() {
        let error = Error::new(format!("Object 'apiVersion' is missing in '{}'", original()));
        return Err(unreadable(kind, error));
    }
    Ok(kind)
}

fn missing_kind(original: &str) -> Error {
    Error::new(format!("Object 'Kind' is missing in '{original}'"))
}

fn registered(
    kind: &GroupVersionKind,
    default: Option<&GroupVersionKind>,
) -> Result<&'static Type, Unreadable> {
    type_of(kind, default).ok_or_else(|| unreadable(kind.clone(), not_registered(kind, default)))
}

fn type_of(kind: &GroupVersionKind, default: Option<&GroupVersionKind>) -> Option<&'static Type> {
    match default {
        Some(default) => Scheme::of(default).find(kind),
        None => find_kind(&kind.group, &kind.version, &kind.kind),
    }
}

fn not_registered(kind: &GroupVersionKind, default: Option<&GroupVersionKind>) -> Error {
    let scheme = quote(default.map_or(Scheme::Builtin, Scheme::of).name());
    let name = quote(&kind.kind);
    Error::new(match &*kind.version {
        "__internal" => {
            let group = quote(&kind.group);
            format!(
                "no kind {name} is registered for the internal version of group {group} in scheme {scheme}"
            )
        }
        _ => {
            let version = quote(&kind.api_version());
            format!("no kind {name} is registered for version {version} in scheme {scheme}")
        }
    })
}
