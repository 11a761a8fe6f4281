//! Private keys of authorities, and their signatures as certificates have them.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, ECDSA_P521_SHA512_ASN1_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
};

use crate::x509::PublicKey;

/// The object identifiers of signature algorithms in DER; that of RSA with its parameters.
const RSA_SHA256: &[u8] = &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 11, 5, 0];
const ECDSA_SHA256: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
const ECDSA_SHA384: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3];
const ECDSA_SHA512: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4];
const ED25519: &[u8] = &[6, 3, 0x2b, 0x65, 0x70];

/// Curves with the digest that Go's signatures have on them.
const CURVES: [(&EcdsaSigningAlgorithm, &[u8]); 3] = [
    (&ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_SHA256),
    (&ECDSA_P384_SHA384_ASN1_SIGNING, ECDSA_SHA384),
    (&ECDSA_P521_SHA512_ASN1_SIGNING, ECDSA_SHA512),
];

/// A private key.
pub(super) enum Key {
    Rsa(rsa::KeyPair),
    Ecdsa(EcdsaKeyPair, &'static [u8]),
    Ed25519(Ed25519KeyPair),
}

impl Key {
    /// Reads the content of a PEM block by its label.
    pub(super) fn read(label: &str, der: &[u8]) -> Option<Key> {
        match label {
            "RSA PRIVATE KEY" => rsa::KeyPair::from_der(der).ok().map(Key::Rsa),
            "EC PRIVATE KEY" => CURVES.into_iter().find_map(|(curve, algorithm)| {
                Some(Key::Ecdsa(EcdsaKeyPair::from_private_key_der(curve, der).ok()?, algorithm))
            }),
            "PRIVATE KEY" => {
                let rsa = rsa::KeyPair::from_pkcs8(der).ok().map(Key::Rsa);
                let ecdsa = || {
                    CURVES.into_iter().find_map(|(curve, algorithm)| {
                        Some(Key::Ecdsa(EcdsaKeyPair::from_pkcs8(curve, der).ok()?, algorithm))
                    })
                };
                rsa.or_else(ecdsa).or_else(|| Ed25519KeyPair::from_pkcs8(der).ok().map(Key::Ed25519))
            }
            _ => None,
        }
    }

    /// Returns the public key.
    pub(super) fn public(&self) -> Option<PublicKey> {
        let spki: PublicKeyX509Der<'_> = match self {
            Key::Rsa(pair) => pair.public_key().as_der().ok()?,
            Key::Ecdsa(pair, _) => pair.public_key().as_der().ok()?,
            Key::Ed25519(pair) => return Some(PublicKey::Ed25519(pair.public_key().as_ref().to_vec())),
        };
        PublicKey::parse(spki.as_ref())
    }

    /// Returns the content of the algorithm identifier of signatures.
    pub(super) fn algorithm(&self) -> &'static [u8] {
        match self {
            Key::Rsa(_) => RSA_SHA256,
            Key::Ecdsa(_, algorithm) => algorithm,
            Key::Ed25519(_) => ED25519,
        }
    }

    /// Returns the signature of a message; `None` if the key is too small for one.
    pub(super) fn sign(&self, random: &SystemRandom, message: &[u8]) -> Option<Vec<u8>> {
        match self {
            Key::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, random, message, &mut signature).ok()?;
                Some(signature)
            }
            Key::Ecdsa(pair, _) => Some(pair.sign(random, message).ok()?.as_ref().to_vec()),
            Key::Ed25519(pair) => Some(pair.sign(message).as_ref().to_vec()),
        }
    }
}
