//! AES-GCM under a key of its own for every value, derived from a seed: how KMS v2 encrypts.
//!
//! ```text
//! info (32) | nonce (12) | cipher text | tag (16)
//! key = HKDF-Expand-SHA256(seed, info)
//! ```
//!
//! Together, info and nonce are so long that random ones do not repeat, however many values a seed encrypts.

use aws_lc_rs::aead::AES_256_GCM;
use aws_lc_rs::hkdf::{HKDF_SHA256, Prk};
use zeroize::Zeroizing;

use super::{AesGcm, InvalidKeySize, TOO_SHORT, push_random};
use crate::failure::Failure;

/// Bytes of a seed (at least), of info and of a derived key.
pub(crate) const SEED: usize = 32;

/// The seed of keys, zeroed when it is dropped.
pub(crate) struct ExtendedNonceGcm {
    seed: Zeroizing<Vec<u8>>,
}

impl ExtendedNonceGcm {
    /// Takes a seed of at least 32 random bytes.
    pub(crate) fn new(seed: Zeroizing<Vec<u8>>) -> Result<ExtendedNonceGcm, InvalidKeySize> {
        match seed.len() {
            short if short < SEED => Err(InvalidKeySize(short)),
            _ => Ok(ExtendedNonceGcm { seed }),
        }
    }

    fn derived(&self, info: &[u8; SEED]) -> Result<AesGcm, Failure> {
        let failed = || Failure::new("failed to KDF expand seed with info");
        let seed = Prk::new_less_safe(HKDF_SHA256, &self.seed);
        let mut key = Zeroizing::new([0; SEED]);
        let expanded = seed.expand(&[info], &AES_256_GCM).and_then(|key_of| key_of.fill(&mut *key));
        expanded.map_err(|_| failed())?;
        AesGcm::new(&*key).map_err(|_| failed())
    }

    pub(crate) fn decrypt(&self, stored: &[u8], key: &[u8]) -> Result<Vec<u8>, Failure> {
        let Some((info, rest)) = stored.split_first_chunk::<SEED>() else {
            return Err(Failure::new(TOO_SHORT));
        };
        let derived =
            self.derived(info).map_err(|failure| failure.wrapped("failed to derive read key from KDF: "))?;
        derived.decrypt(rest, key)
    }

    pub(crate) fn encrypt(&self, plain: &[u8], key: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        let info = push_random::<SEED>(out)
            .map_err(|failure| failure.wrapped("failed to generate info for KDF: "))?;
        let derived = self
            .derived(&info)
            .map_err(|failure| failure.wrapped("failed to derive write key from KDF: "))?;
        derived.encrypt(plain, key, out)
    }
}
