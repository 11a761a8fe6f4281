//! `aesgcm`: AES-GCM with a random nonce, bound to the key of the value.
//!
//! ```text
//! nonce (12) | cipher text | tag (16)
//! ```

use async_trait::async_trait;
use aws_lc_rs::aead::{AES_128_GCM, AES_192_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use bytes::Bytes;

use super::{InvalidKeySize, TOO_SHORT, push_random};
use crate::failure::Failure;
use crate::transformer::{Context, NotOpened, Opened, Transformer};

const NONCE: usize = 12;
const TAG: usize = 16;

/// AES-GCM with one key.
pub(crate) struct AesGcm(LessSafeKey);

impl AesGcm {
    /// Takes a key of 16, 24 or 32 bytes.
    pub(crate) fn new(key: &[u8]) -> Result<AesGcm, InvalidKeySize> {
        let algorithm = match key.len() {
            16 => &AES_128_GCM,
            24 => &AES_192_GCM,
            32 => &AES_256_GCM,
            other => return Err(InvalidKeySize(other)),
        };
        let key = UnboundKey::new(algorithm, key).map_err(|_| InvalidKeySize(key.len()))?;
        Ok(AesGcm(LessSafeKey::new(key)))
    }

    pub(crate) fn decrypt(&self, stored: &[u8], key: &[u8]) -> Result<Vec<u8>, Failure> {
        let Some((nonce, rest)) = stored.split_first_chunk::<NONCE>() else {
            return Err(Failure::new(TOO_SHORT));
        };
        let mut buffer = rest.to_vec();
        let opened = self.0.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(key), &mut buffer);
        let length = opened.map_err(|_| Failure::new("cipher: message authentication failed"))?.len();
        buffer.truncate(length);
        Ok(buffer)
    }

    pub(crate) fn encrypt(&self, plain: &[u8], key: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        out.reserve(NONCE + plain.len() + TAG);
        let nonce = push_random::<NONCE>(out)
            .map_err(|failure| failure.wrapped("failed to write nonce for AES-GCM: "))?;
        let start = out.len();
        out.extend_from_slice(plain);
        let tag = self
            .0
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(key),
                &mut out[start..],
            )
            .map_err(|_| Failure::new("the value cannot be encrypted with AES-GCM"))?;
        out.extend_from_slice(tag.as_ref());
        Ok(())
    }
}

#[async_trait]
impl Transformer for AesGcm {
    fn open(&self, stored: &Bytes, context: Context<'_>) -> Result<Opened, NotOpened> {
        Ok(Opened::current(self.decrypt(stored, context.key)?))
    }

    async fn seal(&self, plain: &[u8], context: Context<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
        self.encrypt(plain, context.key, out)
    }
}
