//! The source of data keys, as it is stored with every value: what the plugin made of it, and under which of its keys.

use aws_lc_rs::digest::{Context as Digest, SHA256};
use pintle_meta::field_path::{Path, aggregate};
use pintle_meta::validation::fully_qualified_domain_name;
use zeroize::Zeroizing;

use super::messages::EncryptedObject;
use crate::failure::Failure;
use crate::providers::{AesGcm, ExtendedNonceGcm};

/// The types of sources. The source is the data key itself (what releases up to 1.28 write)...
pub(crate) const AES_GCM_KEY: i32 = 0;
/// ...or a seed of data keys.
pub(crate) const SEED: i32 = 1;

const MOST_ANNOTATIONS: usize = 32 * 1024;
const LONGEST_KEY_ID: usize = 1024;
const LONGEST_SOURCE: usize = 1024;

/// Checks a key id; the error begins with its code in metrics.
pub(crate) fn validate_key_id(key_id: &str) -> Result<(), (&'static str, String)> {
    match key_id.len() {
        0 => Err(("empty", "keyID is empty".into())),
        length if length > LONGEST_KEY_ID => {
            let why = format!("keyID is {length} bytes, which exceeds the max size of {LONGEST_KEY_ID}");
            Err(("too_long", why))
        }
        _ => Ok(()),
    }
}

impl EncryptedObject {
    /// Checks everything but the data.
    pub(crate) fn validate_source(&self) -> Result<(), String> {
        if ![AES_GCM_KEY, SEED].contains(&self.encrypted_dek_source_type) {
            return Err(format!("unknown encryptedDEKSourceType: {}", self.encrypted_dek_source_type));
        }
        let source = |why: &str| Err(format!("failed to validate encrypted DEK source: {why}"));
        match self.encrypted_dek_source.len() {
            0 => return source("encrypted DEK source is empty"),
            length if length > LONGEST_SOURCE => {
                return source(&format!(
                    "encrypted DEK source is {length} bytes, which exceeds the max size of {LONGEST_SOURCE}"
                ));
            }
            _ => {}
        }
        validate_key_id(&self.key_id).map_err(|(_, why)| format!("failed to validate key id: {why}"))?;
        self.validate_annotations().map_err(|why| format!("failed to validate annotations: {why}"))
    }

    fn validate_annotations(&self) -> Result<(), String> {
        let mut errors = Vec::new();
        let mut size = 0_usize;
        for (name, value) in &self.annotations {
            let path = Path::new("annotations");
            errors.extend(fully_qualified_domain_name(&path, name).map(|error| error.to_string()));
            size = size.saturating_add(name.len() + value.len());
        }
        if size > MOST_ANNOTATIONS {
            errors.push(format!(
                "total size of annotations is {size}, which exceeds the max size of {MOST_ANNOTATIONS}"
            ));
        }
        if errors.is_empty() { Ok(()) } else { Err(aggregate(&errors)) }
    }

    /// Checks a stored value.
    pub(crate) fn validate(&self) -> Result<(), String> {
        if ![AES_GCM_KEY, SEED].contains(&self.encrypted_dek_source_type) {
            return self.validate_source();
        }
        if self.encrypted_data.is_empty() {
            return Err("encrypted data is empty".into());
        }
        self.validate_source()
    }

    /// Returns the digest of the source and all that the plugin needs to decrypt it.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut digest = Digest::new(&SHA256);
        let mut add = |bytes: &[u8]| {
            digest.update(&(bytes.len() as u64).to_be_bytes());
            digest.update(bytes);
        };
        add(&self.encrypted_dek_source_type.to_be_bytes());
        add(&self.encrypted_dek_source);
        add(self.key_id.as_bytes());
        for (name, value) in &self.annotations {
            add(name.as_bytes());
            add(value);
        }
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.finish().as_ref());
        bytes
    }
}

/// A source in plain text, which decrypts and encrypts values.
pub(crate) enum DataKeySource {
    Key(AesGcm),
    Seed(ExtendedNonceGcm),
}

impl DataKeySource {
    pub(crate) fn new(kind: i32, plain: Zeroizing<Vec<u8>>) -> Result<DataKeySource, Failure> {
        if kind == SEED {
            let seed = ExtendedNonceGcm::new(plain);
            return seed.map(DataKeySource::Seed).map_err(|error| {
                Failure::new(format!("invalid seed length {} used for key generation", error.0))
            });
        }
        let key = AesGcm::new(&plain);
        key.map(DataKeySource::Key).map_err(|error| Failure::new(format!("crypto/aes: {error}")))
    }

    pub(crate) fn decrypt(&self, stored: &[u8], key: &[u8]) -> Result<Vec<u8>, Failure> {
        match self {
            DataKeySource::Key(gcm) => gcm.decrypt(stored, key),
            DataKeySource::Seed(seed) => seed.decrypt(stored, key),
        }
    }
}
