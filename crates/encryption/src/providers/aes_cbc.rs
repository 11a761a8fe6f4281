//! `aescbc`: AES-CBC with PKCS#7 padding. It does not authenticate values.
//!
//! ```text
//! initialization vector (16) | cipher text, a multiple of 16
//! ```

use async_trait::async_trait;
use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext,
    UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use bytes::Bytes;

use super::{InvalidKeySize, TOO_SHORT, push_random};
use crate::failure::Failure;
use crate::transformer::{Context, NotOpened, Opened, Transformer};

const BLOCK: usize = 16;

/// AES-CBC with one key.
pub(crate) struct AesCbc {
    encrypting: EncryptingKey,
    decrypting: DecryptingKey,
}

impl AesCbc {
    /// Takes a key of 16, 24 or 32 bytes.
    pub(crate) fn new(key: &[u8]) -> Result<AesCbc, InvalidKeySize> {
        let invalid = |_| InvalidKeySize(key.len());
        let unbound = || {
            let algorithm = match key.len() {
                16 => &AES_128,
                24 => &AES_192,
                32 => &AES_256,
                other => return Err(InvalidKeySize(other)),
            };
            UnboundCipherKey::new(algorithm, key).map_err(invalid)
        };
        Ok(AesCbc {
            encrypting: EncryptingKey::cbc(unbound()?).map_err(invalid)?,
            decrypting: DecryptingKey::cbc(unbound()?).map_err(invalid)?,
        })
    }

    pub(crate) fn decrypt(&self, stored: &[u8]) -> Result<Vec<u8>, Failure> {
        let Some((iv, rest)) = stored.split_first_chunk::<BLOCK>() else {
            return Err(Failure::new(TOO_SHORT));
        };
        if rest.len() % BLOCK != 0 {
            return Err(Failure::new("the stored data is not a multiple of the block size"));
        }
        let mut buffer = rest.to_vec();
        if !buffer.is_empty() {
            let context = DecryptionContext::Iv128(FixedLength::from(iv));
            let decrypted = self.decrypting.decrypt(&mut buffer, context);
            decrypted.map_err(|_| Failure::new("the value cannot be decrypted with AES-CBC"))?;
        }
        let length = unpadded(&buffer)?;
        buffer.truncate(length);
        Ok(buffer)
    }

    pub(crate) fn encrypt(&self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        let padding = BLOCK - plain.len() % BLOCK;
        out.reserve(BLOCK + plain.len() + padding);
        let iv = push_random::<BLOCK>(out)?;
        let start = out.len();
        out.extend_from_slice(plain);
        // Never more than a block.
        out.resize(out.len() + padding, u8::try_from(padding).unwrap_or_default());
        let context = EncryptionContext::Iv128(FixedLength::from(&iv));
        let encrypted = self.encrypting.less_safe_encrypt(&mut out[start..], context);
        encrypted.map_err(|_| Failure::new("the value cannot be encrypted with AES-CBC"))?;
        Ok(())
    }
}

/// Returns the length of a decrypted value without its padding, whose every byte is its length.
fn unpadded(buffer: &[u8]) -> Result<usize, Failure> {
    let padding = buffer.last().copied().unwrap_or_default();
    match buffer.len().checked_sub(padding.into()) {
        None => Err(Failure::new("invalid PKCS7 data (empty or not padded)")),
        Some(_) if padding == 0 => Err(Failure::new("invalid PKCS7 data (empty or not padded)")),
        Some(length) if buffer[length..].iter().all(|byte| *byte == padding) => Ok(length),
        Some(_) => Err(Failure::new("invalid padding on input")),
    }
}

#[async_trait]
impl Transformer for AesCbc {
    fn open(&self, stored: &Bytes, _: Context<'_>) -> Result<Opened, NotOpened> {
        Ok(Opened::current(self.decrypt(stored)?))
    }

    async fn seal(&self, plain: &[u8], _: Context<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
        self.encrypt(plain, out)
    }
}
