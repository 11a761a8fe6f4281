//! Keys that signatures are checked with.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ParsedPublicKey, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use x509_parser::oid_registry::{
    OID_EC_P256, OID_KEY_TYPE_EC_PUBLIC_KEY, OID_NIST_EC_P384, OID_NIST_EC_P521,
};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey as Parsed;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::Algorithm;
use super::der::{rsa_key, rsa_spki, spki, without_leading_zeros};

/// The type of a key, which decides about its algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Rsa,
    P256,
    P384,
    P521,
}

impl Kind {
    /// Returns the default algorithm of such a key.
    pub fn algorithm(self) -> Algorithm {
        match self {
            Kind::Rsa => Algorithm::Rs256,
            Kind::P256 => Algorithm::Es256,
            Kind::P384 => Algorithm::Es384,
            Kind::P521 => Algorithm::Es512,
        }
    }

    /// Bytes of a coordinate; nothing for RSA.
    pub(super) fn coordinate(self) -> usize {
        match self {
            Kind::Rsa => 0,
            Kind::P256 => 32,
            Kind::P384 => 48,
            Kind::P521 => 66,
        }
    }

    /// The algorithm identifier of a curve's keys, in DER.
    fn curve(self) -> &'static [u8] {
        match self {
            Kind::Rsa => &[],
            Kind::P256 => {
                &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]
            }
            Kind::P384 => &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 5, 0x2b, 0x81, 4, 0, 0x22],
            Kind::P521 => &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 5, 0x2b, 0x81, 4, 0, 0x23],
        }
    }
}

/// A key that tokens can be verified with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    id: String,
    kind: Kind,
    spki: Vec<u8>,
}

impl PublicKey {
    /// Out of a `SubjectPublicKeyInfo` in DER; `None` if it is not a usable RSA or ECDSA key.
    pub fn from_spki(der: &[u8]) -> Option<PublicKey> {
        let (rest, parsed) = SubjectPublicKeyInfo::from_der(der).ok()?;
        if !rest.is_empty() {
            return None;
        }
        match parsed.parsed().ok()? {
            Parsed::RSA(rsa) => PublicKey::rsa(rsa.modulus, rsa.exponent),
            Parsed::EC(point) if parsed.algorithm.algorithm == OID_KEY_TYPE_EC_PUBLIC_KEY => {
                let curve = parsed.algorithm.parameters.as_ref()?.as_oid().ok()?;
                let kind = if curve == OID_EC_P256 {
                    Kind::P256
                } else if curve == OID_NIST_EC_P384 {
                    Kind::P384
                } else if curve == OID_NIST_EC_P521 {
                    Kind::P521
                } else {
                    return None;
                };
                PublicKey::ec(kind, point.data())
            }
            _ => None,
        }
    }

    /// Out of modulus and exponent, both big-endian.
    pub(super) fn rsa(modulus: &[u8], exponent: &[u8]) -> Option<PublicKey> {
        // 8192 bits are the most that signatures are checked with; an exponent of Go's fits 31 bits.
        let (modulus, exponent) = (without_leading_zeros(modulus), without_leading_zeros(exponent));
        if modulus.len() > 1024 || exponent.len() > 4 || exponent.is_empty() {
            return None;
        }
        PublicKey::checked(Kind::Rsa, rsa_spki(&rsa_key(modulus, exponent)))
    }

    /// Out of an uncompressed point.
    pub(super) fn ec(kind: Kind, point: &[u8]) -> Option<PublicKey> {
        let uncompressed = point.first() == Some(&4) && point.len() == 1 + 2 * kind.coordinate();
        if !uncompressed {
            return None;
        }
        PublicKey::checked(kind, spki(kind.curve(), point))
    }

    /// The way that the key is written is always the same by now, whatever it was read from; so is its name.
    fn checked(kind: Kind, spki: Vec<u8>) -> Option<PublicKey> {
        ParsedPublicKey::new(kind.algorithm().verification(), &spki).ok()?;
        let id = URL_SAFE_NO_PAD.encode(digest(&SHA256, &spki));
        Some(PublicKey { id, kind, spki })
    }

    /// Returns the same key with another id.
    #[must_use]
    pub fn with_id(self, id: impl Into<String>) -> PublicKey {
        PublicKey { id: id.into(), ..self }
    }

    /// By what name tokens speak of it: a digest of the key, unless it was given another.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// `SubjectPublicKeyInfo` in DER.
    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    pub(super) fn has_signed(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(algorithm.verification(), &self.spki).verify(message, signature).is_ok()
    }
}

/// Whether a `SubjectPublicKeyInfo` in DER is of a key that signs with Ed25519.
pub(crate) fn is_ed25519(der: &[u8]) -> bool {
    // Such keys have no parameters, and so only one way to be written.
    const BEFORE: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];
    der.strip_prefix(&BEFORE).is_some_and(|key| key.len() == 32)
}
