//! Keys that tokens are signed with.

use std::path::Path;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair, RSA_PKCS1_SHA256,
};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use pintle_meta::Value;
use pintle_meta::value::{Key, Object};
use x509_parser::pem::Pem;

use super::PublicKey;

/// A private key, and what others check its signatures with.
pub struct PrivateKey {
    pair: Pair,
    public: PublicKey,
    rng: SystemRandom,
}

enum Pair {
    Rsa(rsa::KeyPair),
    Ecdsa(EcdsaKeyPair),
}

/// Never shows what was in the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivateKeyError {
    #[error("{0}")]
    Read(#[from] std::io::Error),
    #[error("data does not contain a valid RSA or ECDSA private key")]
    None,
    #[error("a key could not be made")]
    Generate,
    #[error("signing failed")]
    Sign,
}

impl PrivateKey {
    /// The first private key of a PEM file. Sections of other kinds are passed over.
    pub fn read(path: &Path) -> Result<PrivateKey, PrivateKeyError> {
        PrivateKey::from_pem(&std::fs::read(path)?)
    }

    pub fn from_pem(pem: &[u8]) -> Result<PrivateKey, PrivateKeyError> {
        Pem::iter_from_buffer(pem)
            .map_while(Result::ok)
            .find_map(|section| PrivateKey::from_section(&section.label, &section.contents))
            .ok_or(PrivateKeyError::None)
    }

    /// A PEM section's content by its label.
    pub(crate) fn from_section(label: &str, der: &[u8]) -> Option<PrivateKey> {
        let rsa = match label {
            "RSA PRIVATE KEY" => rsa::KeyPair::from_der(der).ok(),
            "PRIVATE KEY" => rsa::KeyPair::from_pkcs8(der).ok(),
            "EC PRIVATE KEY" => None,
            _ => return None,
        };
        if let Some(pair) = rsa {
            let public: PublicKeyX509Der<'_> = pair.public_key().as_der().ok()?;
            let public = PublicKey::from_spki(public.as_ref())?;
            return Some(PrivateKey { pair: Pair::Rsa(pair), public, rng: SystemRandom::new() });
        }
        let curves: [&EcdsaSigningAlgorithm; 3] = [
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            &ECDSA_P384_SHA384_FIXED_SIGNING,
            &ECDSA_P521_SHA512_FIXED_SIGNING,
        ];
        curves.into_iter().find_map(|curve| {
            let pair = match label {
                "EC PRIVATE KEY" => EcdsaKeyPair::from_private_key_der(curve, der),
                _ => EcdsaKeyPair::from_pkcs8(curve, der),
            };
            PrivateKey::ecdsa(pair.ok()?)
        })
    }

    fn ecdsa(pair: EcdsaKeyPair) -> Option<PrivateKey> {
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().ok()?;
        let public = PublicKey::from_spki(public.as_ref())?;
        Some(PrivateKey { pair: Pair::Ecdsa(pair), public, rng: SystemRandom::new() })
    }

    /// A new ECDSA key on P-256, and its PEM. An RSA key would take a hundred times as long to make.
    pub fn generate() -> Result<(PrivateKey, String), PrivateKeyError> {
        let failed = |_| PrivateKeyError::Generate;
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map_err(failed)?;
        let der = pair.to_pkcs8v1().map_err(failed)?;
        let mut pem = "-----BEGIN PRIVATE KEY-----\n".to_owned();
        for line in STANDARD.encode(der).as_bytes().chunks(64) {
            pem.extend(line.iter().map(|byte| char::from(*byte)));
            pem.push('\n');
        }
        pem.push_str("-----END PRIVATE KEY-----\n");
        Ok((PrivateKey::ecdsa(pair).ok_or(PrivateKeyError::Generate)?, pem))
    }

    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// A token that says `claims`.
    pub fn sign(&self, claims: &Value) -> Result<String, PrivateKeyError> {
        let header: Vec<(Key, Value)> = vec![
            (Key::new("alg"), Value::literal(self.public.kind().algorithm().name())),
            (Key::new("kid"), Value::string(self.public.id())),
        ];
        let mut token = String::new();
        append(&Value::object(Object::from_unsorted(header)), &mut token);
        token.push('.');
        append(claims, &mut token);
        let signature = match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &self.rng, token.as_bytes(), &mut signature)
                    .map_err(|_| PrivateKeyError::Sign)?;
                signature
            }
            Pair::Ecdsa(pair) => {
                let signature = pair.sign(&self.rng, token.as_bytes()).map_err(|_| PrivateKeyError::Sign)?;
                signature.as_ref().to_vec()
            }
        };
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }
}

fn append(value: &Value, token: &mut String) {
    let mut json = Vec::new();
    pintle_codec::json::encode(value, &mut json);
    URL_SAFE_NO_PAD.encode_string(json, token);
}
