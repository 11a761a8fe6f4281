//! The providers: one file for each way to encrypt a value.

mod aes_cbc;
mod aes_gcm;
mod extended_nonce;
mod identity;
mod secretbox;

pub(crate) use aes_cbc::AesCbc;
pub(crate) use aes_gcm::AesGcm;
pub(crate) use extended_nonce::ExtendedNonceGcm;
pub(crate) use identity::Identity;
pub(crate) use secretbox::Secretbox;

use crate::failure::Failure;

/// The message of a value that cannot be one of the provider's.
const TOO_SHORT: &str = "the stored data was shorter than the required size";

/// A key that a cipher does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid key size {0}")]
pub(crate) struct InvalidKeySize(pub(crate) usize);

/// Appends random bytes.
fn push_random<const N: usize>(out: &mut Vec<u8>) -> Result<[u8; N], Failure> {
    let mut random = [0; N];
    aws_lc_rs::rand::fill(&mut random).map_err(|_| Failure::new("unable to read sufficient random bytes"))?;
    out.extend_from_slice(&random);
    Ok(random)
}
