//! `identity`: values as they are. Also what stands before a resource that no provider is configured for.

use async_trait::async_trait;
use bytes::Bytes;

use crate::failure::Failure;
use crate::transformer::{Context, NotOpened, Opened, Transformer};

/// The beginning of every encrypted value. JSON begins with `{`, protobuf with `k8s` and a zero byte.
pub(crate) const ENCRYPTED: &[u8] = b"k8s:enc:";

/// Stores values as they are, and refuses to pass encrypted ones for them.
pub(crate) struct Identity;

impl Identity {
    pub(crate) fn check(stored: &[u8]) -> Result<(), Failure> {
        match stored.starts_with(ENCRYPTED) {
            true => Err(Failure::new("identity transformer tried to read encrypted data")),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl Transformer for Identity {
    fn open(&self, stored: &Bytes, _: Context<'_>) -> Result<Opened, NotOpened> {
        Identity::check(stored)?;
        Ok(Opened { plain: None, is_stale: false })
    }

    async fn seal(&self, plain: &[u8], _: Context<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
        out.extend_from_slice(plain);
        Ok(())
    }
}
