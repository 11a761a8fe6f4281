//! KMS v1: a data key for every value, which the plugin encrypts and which is stored with the value.
//!
//! ```text
//! length (2, big endian) | encrypted data key | what `aesgcm` makes of the value with it
//! ```
//!
//! Values of releases before 1.25 are `aescbc`'s and stale.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use aws_lc_rs::digest::{SHA256, digest};
use bytes::Bytes;
use pintle_outbound::grpc::UnixClient;
use pintle_runtime::Clock;
use tokio::sync::Mutex;
use zeroize::{Zeroize, Zeroizing};

use super::data_keys::DataKeys;
use super::generate_key;
use super::v1_messages::{DecryptRequest, EncryptRequest, VersionRequest};
use crate::failure::Failure;
use crate::health::{AnswerKept, Probe};
use crate::metrics::{Direction, Metrics};
use crate::providers::{AesCbc, AesGcm};
use crate::transformer::{Context, NotOpened, Opened, Transformer};

/// The version of the protocol.
const VERSION: &str = "v1beta1";
/// Data keys in memory are not dropped for their age.
const FOR_EVER: Duration = Duration::from_secs(u32::MAX as u64);

/// The plugin.
pub(crate) struct Service {
    client: UnixClient,
    timeout: Duration,
    is_version_checked: AtomicBool,
}

impl Service {
    pub(crate) fn new(socket: String, timeout: Duration) -> Service {
        Service { client: UnixClient::new(socket), timeout, is_version_checked: AtomicBool::new(false) }
    }

    /// Asks for the version before the first call; returns the time that is left.
    async fn check_version(&self) -> Result<Duration, Failure> {
        let begun = Instant::now();
        if !self.is_version_checked.load(Ordering::Acquire) {
            let request = VersionRequest { version: VERSION.into() };
            let answer = self.client.call(request, self.timeout).await.map_err(|status| {
                Failure::new(format!("failed get version from remote KMS provider: {status}"))
            })?;
            if answer.version != VERSION {
                return Err(Failure::new(format!(
                    "KMS provider api version {} is not supported, only {VERSION} is supported now",
                    answer.version
                )));
            }
            self.is_version_checked.store(true, Ordering::Release);
        }
        Ok(self.timeout.saturating_sub(begun.elapsed()))
    }

    async fn decrypt(&self, cipher: &[u8]) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let left = self.check_version().await?;
        let request = DecryptRequest { version: VERSION.into(), cipher: cipher.to_vec() };
        Ok(Zeroizing::new(self.client.call(request, left).await?.plain))
    }

    async fn encrypt(&self, plain: &[u8]) -> Result<Vec<u8>, Failure> {
        let left = self.check_version().await?;
        let mut request = EncryptRequest { version: VERSION.into(), plain: plain.to_vec() };
        let answer = self.client.call(request.clone(), left).await;
        request.plain.zeroize();
        Ok(answer?.cipher)
    }
}

/// The transformer of one plugin.
pub(crate) struct Envelope {
    service: Arc<Service>,
    /// `None` if keys are not kept.
    keys: Option<DataKeys<DataKey>>,
    size: usize,
}

struct DataKey {
    gcm: AesGcm,
    cbc: AesCbc,
}

impl DataKey {
    fn new(key: &[u8]) -> Result<DataKey, Failure> {
        let invalid = |error| Failure::new(format!("crypto/aes: {error}"));
        Ok(DataKey { gcm: AesGcm::new(key).map_err(invalid)?, cbc: AesCbc::new(key).map_err(invalid)? })
    }

    fn open(&self, stored: &[u8], key: &[u8]) -> Result<Opened, Failure> {
        let failed = match self.gcm.decrypt(stored, key) {
            Ok(plain) => return Ok(Opened::current(plain)),
            Err(failed) => failed,
        };
        match self.cbc.decrypt(stored) {
            Ok(plain) => Ok(Opened { plain: Some(plain), is_stale: true }),
            Err(also) => Err(Failure::joined(vec![failed, also]).unwrap_or_else(|| Failure::new(""))),
        }
    }
}

impl Envelope {
    /// `cache_size` below one: data keys are not kept.
    pub(crate) fn new(service: Arc<Service>, cache_size: i32, clock: Clock) -> Envelope {
        let size = usize::try_from(cache_size).unwrap_or(0);
        let keys = (size > 0).then(|| DataKeys::new(clock, FOR_EVER, size));
        Envelope { service, keys, size }
    }

    fn add(&self, encrypted: &[u8], key: &[u8], metrics: &Metrics) -> Result<Arc<DataKey>, Failure> {
        let key = Arc::new(DataKey::new(key)?);
        if let Some(keys) = &self.keys {
            let count = keys.add(digest_of(encrypted), key.clone());
            #[allow(clippy::cast_precision_loss, reason = "a part of a cache")]
            metrics.dek_cache_filled(count as f64 / self.size as f64);
        }
        Ok(key)
    }
}

fn digest_of(encrypted: &[u8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, encrypted).as_ref());
    bytes
}

/// Returns the encrypted data key of a value, and the value.
fn split(stored: &[u8]) -> Result<(&[u8], &[u8]), Failure> {
    stored
        .split_first_chunk::<2>()
        .and_then(|(length, rest)| rest.split_at_checked(usize::from(u16::from_be_bytes(*length))))
        .ok_or_else(|| {
            Failure::new(
                "invalid data encountered by envelope transformer: failed to read uint16 length prefixed data",
            )
        })
}

#[async_trait]
impl Transformer for Envelope {
    fn open(&self, stored: &Bytes, context: Context<'_>) -> Result<Opened, NotOpened> {
        let (encrypted, value) = split(stored)?;
        let known = self.keys.as_ref().and_then(|keys| keys.get(&digest_of(encrypted)));
        let key = known.ok_or(NotOpened::NeedsKey)?;
        context.metrics.arrived(Direction::FromStorage);
        Ok(key.open(value, context.key)?)
    }

    async fn open_waiting(&self, stored: &Bytes, context: Context<'_>) -> Result<Opened, Failure> {
        let (encrypted, value) = split(stored)?;
        context.metrics.arrived(Direction::FromStorage);
        let known = self.keys.as_ref().and_then(|keys| keys.get(&digest_of(encrypted)));
        let key = match known {
            Some(key) => key,
            None => {
                if self.keys.is_some() {
                    context.metrics.cache_missed();
                }
                let key = self.service.decrypt(encrypted).await?;
                self.add(encrypted, &key, context.metrics)?
            }
        };
        key.open(value, context.key)
    }

    async fn seal(&self, plain: &[u8], context: Context<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
        context.metrics.arrived(Direction::ToStorage);
        let key = generate_key(context.metrics)?;
        let encrypted = self.service.encrypt(&key).await?;
        let length = u16::try_from(encrypted.len())
            .map_err(|_| Failure::new("cryptobyte: pending child length overflow"))?;
        let key = self.add(&encrypted, &key, context.metrics)?;
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&encrypted);
        key.gcm.encrypt(plain, context.key, out)
    }
}

/// The health of a plugin: whether it decrypts what it encrypts.
pub(crate) struct Health {
    name: String,
    service: Arc<Service>,
    kept: Mutex<AnswerKept>,
}

impl Health {
    pub(crate) fn new(name: String, service: Arc<Service>, clock: Clock) -> Health {
        Health { name, service, kept: Mutex::new(AnswerKept::new(clock)) }
    }

    async fn ask(&self) -> Result<(), (Failure, &'static str)> {
        let cipher = self.service.encrypt(b"ping").await.map_err(|failure| (failure, "encrypt"))?;
        self.service.decrypt(&cipher).await.map_err(|failure| (failure, "decrypt"))?;
        Ok(())
    }
}

#[async_trait]
impl Probe for Health {
    async fn check(&self) -> Result<(), String> {
        let mut kept = self.kept.lock().await;
        if let Some(answer) = kept.answer() {
            return answer;
        }
        match self.ask().await {
            Ok(()) => {
                kept.keep(Ok(()));
                Ok(())
            }
            Err((failure, section)) => {
                let failure = failure.to_string();
                kept.keep(Err(failure.clone()));
                Err(format!(
                    "failed to perform {section} section of the healthz check for KMS Provider {}, error: {failure}",
                    self.name
                ))
            }
        }
    }
}
