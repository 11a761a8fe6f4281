//! The keys that tokens are verified with, and how operators bring them: public keys, private keys and certificates, RSA and
//! ECDSA, several to a file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;

use crate::jwt::der::rsa_spki;
use crate::jwt::{PrivateKey, PublicKey};

/// Never shows what was in the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    #[error("{0}")]
    Read(#[from] std::io::Error),
    #[error("data does not contain any valid RSA or ECDSA public keys")]
    None,
}

/// The keys of which one must have signed a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    keys: Vec<Key>,
    /// The places of keys among all that were given with which nothing can be done, and which are not hidden.
    unusable: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    public: PublicKey,
    /// Whether it is good for older tokens only: others are not told of it.
    hidden: bool,
}

impl Keys {
    /// The same key is kept once.
    pub fn new(keys: impl IntoIterator<Item = PublicKey>) -> Keys {
        let mut all: Vec<Key> = Vec::new();
        for public in keys {
            if !all.iter().any(|key| key.public == public) {
                all.push(Key { public, hidden: false });
            }
        }
        Keys { keys: all, unusable: Vec::new() }
    }

    /// Keys of which some are hidden: good for older tokens, and not shown to others.
    pub fn with_hidden(keys: impl IntoIterator<Item = (PublicKey, bool)>) -> Keys {
        let keys = keys.into_iter().map(|(public, hidden)| Key { public, hidden }).collect();
        Keys { keys, unusable: Vec::new() }
    }

    /// The same, beside keys at these places that no token can be verified with and no document can show.
    #[must_use]
    pub(super) fn beside_unusable(mut self, places: Vec<usize>) -> Keys {
        self.unusable = places;
        self
    }

    pub(super) fn unusable(&self) -> &[usize] {
        &self.unusable
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the keys with the id of a token; all keys if it has none.
    pub(super) fn named(&self, id: Option<&str>) -> impl Iterator<Item = &PublicKey> {
        self.keys.iter().map(|key| &key.public).filter(move |key| id.is_none_or(|id| key.id() == id))
    }

    /// Whether others are not told of a key of this name.
    pub(super) fn hides(&self, id: &str) -> bool {
        self.keys.iter().any(|key| key.hidden && key.public.id() == id)
    }

    /// Returns the keys published for OpenID discovery.
    pub fn published(&self) -> impl Iterator<Item = &PublicKey> {
        self.keys.iter().filter(|key| !key.hidden).map(|key| &key.public)
    }
}

/// Where the keys come from, which may be other ones at any time.
#[async_trait]
pub trait KeySource: Send + Sync + 'static {
    /// The keys as they are.
    fn current(&self) -> Arc<Keys>;

    /// The keys, looked for once more if there is none of this name; called for each token that is verified. Without a
    /// name it is about there being any at all. What cannot be looked for stays as it is.
    async fn knowing(&self, id: Option<&str>) -> Arc<Keys>;

    /// How long others may keep what they are told.
    fn max_age(&self) -> Duration;
}

/// Keys that stay what they are.
#[derive(Clone, Debug, Default)]
pub struct FixedKeys(pub Arc<Keys>);

#[async_trait]
impl KeySource for FixedKeys {
    fn current(&self) -> Arc<Keys> {
        self.0.clone()
    }

    async fn knowing(&self, _: Option<&str>) -> Arc<Keys> {
        self.0.clone()
    }

    fn max_age(&self) -> Duration {
        Duration::from_secs(3600)
    }
}

/// All keys of a PEM file; at least one. Sections of other kinds are passed over.
pub fn read_public_keys(path: &Path) -> Result<Vec<PublicKey>, KeyError> {
    let pem = std::fs::read(path)?;
    let keys: Vec<PublicKey> = Pem::iter_from_buffer(&pem)
        .map_while(Result::ok)
        .filter_map(|section| public_key(&section))
        .collect();
    if keys.is_empty() { Err(KeyError::None) } else { Ok(keys) }
}

fn public_key(section: &Pem) -> Option<PublicKey> {
    let der = section.contents.as_slice();
    match section.label.as_str() {
        "PUBLIC KEY" => PublicKey::from_spki(der),
        "RSA PUBLIC KEY" => PublicKey::from_spki(&rsa_spki(der)),
        "CERTIFICATE" => {
            let (_, certificate) = x509_parser::certificate::X509Certificate::from_der(der).ok()?;
            PublicKey::from_spki(certificate.public_key().raw)
        }
        label => PrivateKey::from_section(label, der).map(|key| key.public().clone()),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, PublicKeyData};

    use super::*;

    fn key(pair: &KeyPair) -> PublicKey {
        PublicKey::from_spki(&pair.subject_public_key_info()).unwrap()
    }

    fn keys_in(text: &str) -> Result<Vec<PublicKey>, KeyError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read_public_keys(file.path())
    }

    #[test]
    fn every_form_of_a_key_gives_the_same_public_key() {
        for algorithm in
            [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384, &rcgen::PKCS_RSA_SHA256]
        {
            let pair = KeyPair::generate_for(algorithm).unwrap();
            let certificate = CertificateParams::default().self_signed(&pair).unwrap();
            let expect = key(&pair);
            for text in [pair.serialize_pem(), pair.public_key_pem(), certificate.pem()] {
                assert_eq!(keys_in(&text).unwrap().as_slice(), std::slice::from_ref(&expect), "{text}");
            }
            let all = [pair.serialize_pem(), certificate.pem()].concat();
            assert_eq!(keys_in(&all).unwrap().len(), 2);
        }
    }

    #[test]
    fn a_bare_rsa_public_key_is_wrapped() {
        let pair = KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).unwrap();
        assert_eq!(rsa_spki(pair.der_bytes()), pair.subject_public_key_info());
    }

    /// The key inside a PKCS #8 envelope, which is what the older forms hold by itself.
    fn inner_key(pkcs8: &[u8]) -> &[u8] {
        // The envelope is a version, an algorithm, and the key in an octet string.
        let (_, envelope) = value(pkcs8);
        let (rest, _) = value(envelope);
        let (rest, _) = value(rest);
        value(rest).1
    }

    /// The content of the first DER value, and what follows it.
    fn value(der: &[u8]) -> (&[u8], &[u8]) {
        let (length, header) = match der[1] {
            short @ 0..0x80 => (usize::from(short), 2),
            long => {
                let count = usize::from(long & 0x7f);
                let length =
                    der[2..2 + count].iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
                (length, 2 + count)
            }
        };
        (&der[header + length..], &der[header..header + length])
    }

    #[test]
    fn the_older_forms_of_private_keys_are_read_too() {
        for (algorithm, label) in
            [(&rcgen::PKCS_RSA_SHA256, "RSA PRIVATE KEY"), (&rcgen::PKCS_ECDSA_P256_SHA256, "EC PRIVATE KEY")]
        {
            let pair = KeyPair::generate_for(algorithm).unwrap();
            let der = pair.serialize_der();
            let base64 = base64(inner_key(&der));
            let pem = format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n");
            assert_eq!(keys_in(&pem).unwrap(), [key(&pair)], "{label}");
        }
    }

    fn base64(bytes: &[u8]) -> String {
        use base64::Engine;
        let text = base64::engine::general_purpose::STANDARD.encode(bytes);
        text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn other_keys_and_garbage_are_refused() {
        let ed25519 = KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        assert!(matches!(keys_in(&ed25519.public_key_pem()), Err(KeyError::None)));
        assert!(matches!(keys_in("not PEM"), Err(KeyError::None)));
    }
}
