//! The seam of providers: what turns a value into what is stored, and back.
//!
//! Values follow a prefix that names the provider and its key, and that the caller has removed or adds. Decrypting is a plain
//! function, so that a long list is decrypted without waiting in between; only a value whose data key must be asked of a KMS
//! plugin is decrypted by a second, waiting function.

use async_trait::async_trait;
use bytes::Bytes;

use crate::failure::Failure;
use crate::metrics::Metrics;

/// The surroundings of a value.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// The key under which the value is stored. Providers that authenticate bind the value to it, so that it cannot be moved.
    pub(crate) key: &'a [u8],
    /// The resource in metrics: `secrets`, `deployments.apps`.
    pub(crate) resource: &'a str,
    pub(crate) metrics: &'a Metrics,
}

/// A value that was decrypted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    /// `None`: the stored bytes are the value.
    pub(crate) plain: Option<Vec<u8>>,
    /// A write would store it otherwise: by another provider, key or format.
    pub(crate) is_stale: bool,
}

impl Opened {
    pub(crate) fn current(plain: Vec<u8>) -> Opened {
        Opened { plain: Some(plain), is_stale: false }
    }
}

/// The reason why a value was not decrypted at once.
#[derive(Debug)]
pub(crate) enum NotOpened {
    /// Its data key must be asked of a KMS plugin: [`Transformer::open_waiting`] does that.
    NeedsKey,
    Failed(Failure),
}

impl From<Failure> for NotOpened {
    fn from(failure: Failure) -> NotOpened {
        NotOpened::Failed(failure)
    }
}

/// A provider, or several.
#[async_trait]
pub(crate) trait Transformer: Send + Sync + 'static {
    /// Decrypts a stored value, of which the prefix was removed. Does not wait.
    fn open(&self, stored: &Bytes, context: Context<'_>) -> Result<Opened, NotOpened>;

    /// The same, called where `open` needs a key. May ask a plugin.
    async fn open_waiting(&self, stored: &Bytes, context: Context<'_>) -> Result<Opened, Failure> {
        match self.open(stored, context) {
            Ok(opened) => Ok(opened),
            Err(NotOpened::Failed(failure)) => Err(failure),
            Err(NotOpened::NeedsKey) => Err(Failure::new("no data key")),
        }
    }

    /// Encrypts a value and appends it to `out`, behind the prefix.
    async fn seal(&self, plain: &[u8], context: Context<'_>, out: &mut Vec<u8>) -> Result<(), Failure>;
}
