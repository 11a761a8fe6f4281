//! Sets of public keys as JSON (RFC 7517): those of identity providers are read, our own is written.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pintle_codec::json::write;
use pintle_meta::Value;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey as Parsed;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::der::without_leading_zeros;
use super::{Kind, PublicKey};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JwkError {
    #[error("{0}")]
    Json(pintle_codec::Error),
    #[error("not a JSON object with a list of keys")]
    NoSet,
    #[error("key {0} is not a valid {1} key")]
    Key(usize, &'static str),
}

/// The keys of a set that tokens can be verified with, each under the name that the set gives it, which may be none. Keys
/// of other types (symmetric, Ed25519, other curves) are passed over; one that is broken fails the set.
pub fn read_set(text: &[u8]) -> Result<Vec<PublicKey>, JwkError> {
    let set = pintle_codec::json::decode_any(text).map_err(JwkError::Json)?.value;
    let keys = set.get("keys").and_then(Value::as_list).ok_or(JwkError::NoSet)?;
    let mut found = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        let id = key.text_at(&["kid"]);
        let read = match key.text_at(&["kty"]) {
            "RSA" => rsa(key).ok_or(JwkError::Key(at, "RSA"))?,
            "EC" => {
                let kind = match key.text_at(&["crv"]) {
                    "P-256" => Kind::P256,
                    "P-384" => Kind::P384,
                    "P-521" => Kind::P521,
                    _ => continue,
                };
                ec(key, kind).ok_or(JwkError::Key(at, "EC"))?
            }
            _ => continue,
        };
        found.push(read.with_id(id));
    }
    Ok(found)
}

fn rsa(key: &Value) -> Option<PublicKey> {
    PublicKey::rsa(&number(key, "n")?, &number(key, "e")?)
}

fn ec(key: &Value, kind: Kind) -> Option<PublicKey> {
    let mut point = vec![4];
    for coordinate in ["x", "y"] {
        let bytes = number(key, coordinate)?;
        let bytes = without_leading_zeros(&bytes);
        point.resize(point.len() + kind.coordinate().checked_sub(bytes.len())?, 0);
        point.extend_from_slice(bytes);
    }
    PublicKey::ec(kind, &point)
}

fn number(key: &Value, name: &str) -> Option<Vec<u8>> {
    // Some issuers pad, which the format does not allow and other readers accept.
    URL_SAFE_NO_PAD.decode(key.get(name)?.as_str()?.trim_end_matches('=')).ok()
}

/// A set of keys, each with its name and the algorithm that its owner signs with.
pub fn write_set<'a>(keys: impl IntoIterator<Item = &'a PublicKey>) -> Vec<u8> {
    let mut out = br#"{"keys":["#.to_vec();
    for (at, key) in keys.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_key(key, &mut out);
    }
    out.extend_from_slice(b"]}");
    out
}

fn write_key(key: &PublicKey, out: &mut Vec<u8>) {
    let mut field = |name: &str, value: &str| {
        out.push(if out.last() == Some(&b'"') { b',' } else { b'{' });
        write::string(name, out);
        out.push(b':');
        write::string(value, out);
    };
    let curve = match key.kind() {
        Kind::Rsa => None,
        Kind::P256 => Some("P-256"),
        Kind::P384 => Some("P-384"),
        Kind::P521 => Some("P-521"),
    };
    field("use", "sig");
    field("kty", if curve.is_some() { "EC" } else { "RSA" });
    field("kid", key.id());
    if let Some(curve) = curve {
        field("crv", curve);
    }
    field("alg", key.kind().algorithm().name());
    let parsed = SubjectPublicKeyInfo::from_der(key.spki()).ok();
    match parsed.as_ref().and_then(|(_, parsed)| parsed.parsed().ok()) {
        Some(Parsed::RSA(rsa)) => {
            field("n", &URL_SAFE_NO_PAD.encode(without_leading_zeros(rsa.modulus)));
            field("e", &URL_SAFE_NO_PAD.encode(without_leading_zeros(rsa.exponent)));
        }
        Some(Parsed::EC(point)) => {
            let (x, y) = point.data().split_at(1 + key.kind().coordinate());
            field("x", &URL_SAFE_NO_PAD.encode(&x[1..]));
            field("y", &URL_SAFE_NO_PAD.encode(y));
        }
        _ => {}
    }
    out.push(b'}');
}
