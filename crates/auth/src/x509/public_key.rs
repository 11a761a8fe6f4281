//! Public keys as Go's `crypto/x509` parses them, and proofs that someone has the private key.

use aws_lc_rs::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use aws_lc_rs::signature::{self, EcdsaVerificationAlgorithm, ParsedPublicKey};
use x509_parser::num_bigint::BigUint;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey as Parsed;
use x509_parser::x509::SubjectPublicKeyInfo;

const RSA: &str = "1.2.840.113549.1.1.1";
const DSA: &str = "1.2.840.10040.4.1";
const EC: &str = "1.2.840.10045.2.1";
const ED25519: &str = "1.3.101.112";
const X25519: &str = "1.3.101.110";

/// A named elliptic curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    P224,
    P256,
    P384,
    P521,
}

impl Curve {
    fn of(id: &str) -> Option<Curve> {
        Some(match id {
            "1.3.132.0.33" => Curve::P224,
            "1.2.840.10045.3.1.7" => Curve::P256,
            "1.3.132.0.34" => Curve::P384,
            "1.3.132.0.35" => Curve::P521,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Curve::P224 => "P-224",
            Curve::P256 => "P-256",
            Curve::P384 => "P-384",
            Curve::P521 => "P-521",
        }
    }

    /// Returns the algorithm of signatures of SHA-256 digests, which the smallest curve has none of here.
    fn algorithm(self) -> Option<&'static EcdsaVerificationAlgorithm> {
        Some(match self {
            Curve::P224 => return None,
            Curve::P256 => &signature::ECDSA_P256_SHA256_ASN1,
            Curve::P384 => &signature::ECDSA_P384_SHA256_ASN1,
            Curve::P521 => &signature::ECDSA_P521_SHA256_ASN1,
        })
    }
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    Ed25519(Vec<u8>),
    Ecdsa {
        curve: Curve,
        point: Vec<u8>,
    },
    Rsa {
        modulus: BigUint,
        exponent: BigUint,
    },
    /// Of an algorithm without signatures, or of one that is no longer used.
    Other,
}

impl PublicKey {
    /// Parses a `SubjectPublicKeyInfo`, the form that is called PKIX.
    pub fn parse(der: &[u8]) -> Option<PublicKey> {
        let (rest, info) = SubjectPublicKeyInfo::from_der(der).ok()?;
        if rest.is_empty() { PublicKey::of(&info) } else { None }
    }

    pub(crate) fn of(info: &SubjectPublicKeyInfo<'_>) -> Option<PublicKey> {
        let bytes = || info.subject_public_key.data.to_vec();
        let parameters = info.algorithm.parameters.as_ref();
        match info.algorithm.algorithm.to_id_string().as_str() {
            RSA => {
                parameters.filter(|found| found.as_null().is_ok())?;
                let Ok(Parsed::RSA(key)) = info.parsed() else { return None };
                let (modulus, exponent) =
                    (BigUint::from_bytes_be(key.modulus), BigUint::from_bytes_be(key.exponent));
                (modulus.bits() > 0 && exponent.bits() > 0).then_some(PublicKey::Rsa { modulus, exponent })
            }
            EC => {
                let curve = Curve::of(&parameters?.as_oid().ok()?.to_id_string())?;
                // Compressed points are not accepted.
                let point = bytes();
                let is_point = point.first() == Some(&4)
                    && curve.algorithm().is_none_or(|known| ParsedPublicKey::new(known, &point).is_ok());
                is_point.then_some(PublicKey::Ecdsa { curve, point })
            }
            ED25519 if parameters.is_none() && bytes().len() == 32 => Some(PublicKey::Ed25519(bytes())),
            DSA | X25519 => Some(PublicKey::Other),
            _ => None,
        }
    }

    /// Returns the size of an RSA key in bits, in whole bytes.
    pub fn rsa_bits(&self) -> Option<u64> {
        match self {
            PublicKey::Rsa { modulus, .. } => Some(modulus.bits().div_ceil(8) * 8),
            _ => None,
        }
    }

    /// Verifies the signature of a message: of its SHA-256 digest, but for Ed25519, and by PSS for RSA.
    pub fn verify(&self, message: &[u8], proof: &[u8]) -> bool {
        match self {
            PublicKey::Ed25519(key) => {
                signature::UnparsedPublicKey::new(&signature::ED25519, key).verify(message, proof).is_ok()
            }
            PublicKey::Ecdsa { curve, point } => curve.algorithm().is_some_and(|algorithm| {
                signature::UnparsedPublicKey::new(algorithm, point).verify(message, proof).is_ok()
            }),
            PublicKey::Rsa { modulus, exponent } => verify_pss(modulus, exponent, message, proof),
            PublicKey::Other => false,
        }
    }
}

/// Verifies a signature by RSASSA-PSS with SHA-256 and a salt of any length (RFC 8017, 9.1.2). The library that verifies all else
/// takes only salts of the digest's length, and Go's signatures have the longest that fits.
fn verify_pss(modulus: &BigUint, exponent: &BigUint, message: &[u8], proof: &[u8]) -> bool {
    let size = usize::try_from(modulus.bits().div_ceil(8)).unwrap_or_default();
    let number = BigUint::from_bytes_be(proof);
    if proof.len() != size || number >= *modulus {
        return false;
    }
    let bits = usize::try_from(modulus.bits() - 1).unwrap_or_default();
    let length = bits.div_ceil(8);
    let raw = number.modpow(exponent, modulus).to_bytes_be();
    if raw.len() > length || length < 2 * SHA256_OUTPUT_LEN + 2 {
        return false;
    }
    let mut encoded = vec![0; length - raw.len()];
    encoded.extend(raw);
    let Some((0xbc, encoded)) = encoded.split_last().map(|(last, rest)| (*last, rest)) else { return false };
    let (masked, hash) = encoded.split_at(length - SHA256_OUTPUT_LEN - 1);
    let unused = 8 * length - bits;
    if u32::from(masked[0]).leading_zeros() - 24 < u32::try_from(unused).unwrap_or(8) {
        return false;
    }
    let mut block: Vec<u8> =
        masked.iter().zip(mask(hash, masked.len())).map(|(byte, mask)| byte ^ mask).collect();
    block[0] &= 0xff >> unused;
    let Some(start) = block.iter().position(|byte| *byte != 0) else { return false };
    if block[start] != 1 {
        return false;
    }
    let salted = [&[0; 8], digest(&SHA256, message).as_ref(), &block[start + 1..]].concat();
    digest(&SHA256, &salted).as_ref() == hash
}

/// Returns the mask that a hash generates (MGF1).
fn mask(seed: &[u8], length: usize) -> impl Iterator<Item = u8> {
    let counters = 0..u32::try_from(length.div_ceil(SHA256_OUTPUT_LEN)).unwrap_or_default();
    let seed = seed.to_vec();
    let blocks = counters.map(move |counter| digest(&SHA256, &[&seed[..], &counter.to_be_bytes()].concat()));
    blocks.flat_map(|block| block.as_ref().to_vec()).take(length)
}
