//! `secretbox`: XSalsa20 and Poly1305, as NaCl's.
//!
//! ```text
//! nonce (24) | tag (16) | cipher text
//! ```

use async_trait::async_trait;
use bytes::Bytes;
use crypto_secretbox::aead::{AeadInPlace, KeyInit};
use crypto_secretbox::{Nonce, Tag, XSalsa20Poly1305};

use super::{InvalidKeySize, TOO_SHORT, push_random};
use crate::failure::Failure;
use crate::transformer::{Context, NotOpened, Opened, Transformer};

const NONCE: usize = 24;
const TAG: usize = 16;

/// XSalsa20 and Poly1305 with one key, which is zeroed when it is dropped.
pub(crate) struct Secretbox(XSalsa20Poly1305);

impl Secretbox {
    /// Takes a key of 32 bytes.
    pub(crate) fn new(key: &[u8]) -> Result<Secretbox, InvalidKeySize> {
        XSalsa20Poly1305::new_from_slice(key).map(Secretbox).map_err(|_| InvalidKeySize(key.len()))
    }

    pub(crate) fn decrypt(&self, stored: &[u8]) -> Result<Vec<u8>, Failure> {
        let parts = stored
            .split_first_chunk::<NONCE>()
            .and_then(|(nonce, rest)| Some((nonce, rest.split_first_chunk::<TAG>()?)));
        let Some((nonce, (tag, rest))) = parts else { return Err(Failure::new(TOO_SHORT)) };
        let mut buffer = rest.to_vec();
        let (nonce, tag) = (Nonce::from_slice(nonce), Tag::from_slice(tag));
        // The reference's words for a value that was changed or has another key.
        let failed = |_| Failure::new("output array was not large enough for encryption");
        self.0.decrypt_in_place_detached(nonce, &[], &mut buffer, tag).map_err(failed)?;
        Ok(buffer)
    }

    pub(crate) fn encrypt(&self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        out.reserve(NONCE + TAG + plain.len());
        let nonce = push_random::<NONCE>(out)?;
        let start = out.len();
        out.extend_from_slice(&[0; TAG]);
        out.extend_from_slice(plain);
        let failed = |_| Failure::new("the value cannot be encrypted with secretbox");
        let (place, text) = out[start..].split_at_mut(TAG);
        let tag = self.0.encrypt_in_place_detached(Nonce::from_slice(&nonce), &[], text).map_err(failed)?;
        place.copy_from_slice(&tag);
        Ok(())
    }
}

#[async_trait]
impl Transformer for Secretbox {
    fn open(&self, stored: &Bytes, _: Context<'_>) -> Result<Opened, NotOpened> {
        Ok(Opened::current(self.decrypt(stored)?))
    }

    async fn seal(&self, plain: &[u8], _: Context<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
        self.encrypt(plain, out)
    }
}
