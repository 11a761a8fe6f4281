//! A store whose values are encrypted: plain above, encrypted below. Keys, revisions and leases are the same on both sides.
//!
//! The resource of a key decides. One without providers passes as it is; only that it is not encrypted is checked, so that
//! encrypted bytes are never taken for an object.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use pintle_storage::{
    Backend, Error, Event, KeyValue, LeaseId, Op, Range, RangeRequest, Result, Revision, Stats, Txn,
    TxnResult, UnreadableValue, WatchItem, WatchRequest, WatchStream,
};

use crate::active::{Active, Encrypted};
use crate::encryption::Encryption;
use crate::failure::Failure;
use crate::providers::Identity;
use crate::resources::StoredResources;
use crate::transformer::{Context, NotOpened, Opened, Transformer};

/// Number of values that an error names, one more than a client is shown.
const MOST_UNREADABLE: usize = 101;

/// Bytes that are decrypted before the task yields: well under a millisecond.
const AT_ONCE: usize = 128 << 10;

/// How long a watch waits for a KMS plugin. One watch feeds the caches of all resources, also of those that have nothing to do
/// with the plugin: a value that cannot be decrypted by then is delivered as unreadable, and its resource is loaded anew.
const WATCH_PATIENCE: Duration = Duration::from_millis(500);
/// How long a watch does not wait at all after it has waited in vain.
const WATCH_PAUSE: Duration = Duration::from_secs(10);

/// See the module.
pub struct EncryptedBackend {
    store: Arc<dyn Backend>,
    inner: Inner,
}

#[derive(Clone)]
struct Inner {
    encryption: Arc<Encryption>,
    resources: Arc<StoredResources>,
}

impl EncryptedBackend {
    pub fn new(
        store: Arc<dyn Backend>,
        encryption: Arc<Encryption>,
        resources: Arc<StoredResources>,
    ) -> EncryptedBackend {
        EncryptedBackend { store, inner: Inner { encryption, resources } }
    }
}

/// The transformers that one operation uses, also if the configuration changes meanwhile.
struct Operation<'a> {
    inner: &'a Inner,
    active: Arc<Active>,
    /// The resource of the last key, and its beginning: neighbours are mostly of one resource.
    last: Option<(Bytes, usize, Option<Arc<Encrypted>>)>,
}

impl Inner {
    fn operation(&self) -> Operation<'_> {
        Operation { inner: self, active: self.encryption.active(), last: None }
    }
}

impl Operation<'_> {
    fn of(&mut self, key: &Bytes) -> Option<Arc<Encrypted>> {
        if self.active.is_empty() {
            return None;
        }
        if let Some((known, length, found)) = &self.last
            && key.get(..*length) == Some(&known[..*length])
        {
            return found.clone();
        }
        let found = self.active.of(&self.inner.resources, key);
        // Up to the slash after the resource, so that no other resource begins with it.
        let path = self.inner.resources.path(key).unwrap_or_default();
        let length = self.inner.resources.root_len() + path.len() + 1;
        self.last = (length <= key.len()).then(|| (key.clone(), length, found.clone()));
        found
    }

    /// Decrypts a value without waiting.
    fn open(&mut self, kv: &mut KeyValue) -> std::result::Result<(), NotOpened> {
        let Some(encrypted) = self.of(&kv.key) else { return Ok(Identity::check(&kv.value)?) };
        let opened = encrypted.chain.open(&kv.value, self.context(&kv.key, &encrypted))?;
        put(kv, opened);
        Ok(())
    }

    /// Decrypts a value, and asks a KMS plugin for its key.
    async fn open_waiting(&mut self, kv: &mut KeyValue) -> std::result::Result<(), Failure> {
        let Some(encrypted) = self.of(&kv.key) else { return Identity::check(&kv.value) };
        let opened = encrypted.chain.open_waiting(&kv.value, self.context(&kv.key, &encrypted)).await?;
        put(kv, opened);
        Ok(())
    }

    fn context<'c>(&'c self, key: &'c [u8], encrypted: &'c Encrypted) -> Context<'c> {
        Context { key, resource: &encrypted.resource, metrics: &self.inner.encryption.metrics }
    }

    /// Decrypts values.
    ///
    /// Errors: `Undecryptable` with all that could not be decrypted, up to the first one that a plugin was asked about.
    async fn open_all(&mut self, values: &mut [&mut KeyValue]) -> Result<()> {
        if !self.active.is_empty() {
            pintle_work::aside(values.iter().map(|kv| kv.value.len()).sum()).await;
        }
        let (mut unreadable, mut bytes) = (Vec::new(), 0);
        for kv in values {
            bytes += kv.value.len();
            if bytes > AT_ONCE {
                bytes = 0;
                tokio::task::yield_now().await;
            }
            match self.open(kv) {
                Ok(()) => {}
                Err(NotOpened::Failed(failure)) => unreadable.push(unreadable_value(kv, &failure)),
                Err(NotOpened::NeedsKey) => {
                    if let Err(failure) = self.open_waiting(kv).await {
                        // The plugin is not waited for again and again.
                        unreadable.push(unreadable_value(kv, &failure));
                        break;
                    }
                }
            }
            if unreadable.len() >= MOST_UNREADABLE {
                break;
            }
        }
        if unreadable.is_empty() { Ok(()) } else { Err(Error::Undecryptable(unreadable)) }
    }

    /// Encrypts what is written.
    async fn seal(&mut self, ops: &mut [Op]) -> Result<()> {
        for op in ops {
            let Op::Put { key, value, .. } = op else { continue };
            let Some(encrypted) = self.of(key) else { continue };
            let mut sealed = Vec::new();
            let outcome = encrypted.chain.seal(value, self.context(key, &encrypted), &mut sealed).await;
            outcome.map_err(|failure| Error::NotEncrypted(failure.to_string()))?;
            *value = sealed.into();
        }
        Ok(())
    }
}

fn put(kv: &mut KeyValue, opened: Opened) {
    if let Some(plain) = opened.plain {
        kv.value = plain.into();
    }
    kv.stale |= opened.is_stale;
}

fn unreadable_value(kv: &KeyValue, failure: &Failure) -> UnreadableValue {
    UnreadableValue { key: kv.key.clone(), revision: kv.mod_revision, reason: failure.to_string() }
}

/// The decryption of one watch.
struct Watching {
    inner: Inner,
    /// KMS plugins are not waited for before this point.
    patient_from: Option<std::time::Instant>,
}

impl Watching {
    async fn item(&mut self, item: Result<WatchItem>) -> Result<WatchItem> {
        let mut item = item?;
        if let WatchItem::Changes { events, .. } = &mut item {
            for event in events {
                self.event(event).await;
            }
        }
        Ok(item)
    }

    async fn event(&mut self, event: &mut Event) {
        let values = match event {
            Event::Put { kv, prev } => [Some(kv), prev.as_mut()],
            Event::Delete { prev, .. } => [prev.as_mut(), None],
            Event::Unreadable(_) => [None, None],
        };
        let inner = self.inner.clone();
        let mut operation = inner.operation();
        let mut failed = None;
        for kv in values.into_iter().flatten() {
            let outcome = match operation.open(kv) {
                Err(NotOpened::NeedsKey) => self.wait(&mut operation, kv).await,
                Err(NotOpened::Failed(failure)) => Err(failure),
                Ok(()) => Ok(()),
            };
            if let Err(failure) = outcome {
                failed = Some(failure.to_string());
                break;
            }
        }
        if let Some(reason) = failed {
            let (key, revision) = (event.key().clone(), event.revision());
            *event = Event::Unreadable(UnreadableValue { key, revision, reason });
        }
    }

    /// Waits a moment for a plugin.
    async fn wait(
        &mut self,
        operation: &mut Operation<'_>,
        kv: &mut KeyValue,
    ) -> std::result::Result<(), Failure> {
        let late = || Failure::new("the KMS plugin did not answer in time");
        let now = pintle_runtime::Clock::system().instant();
        if self.patient_from.is_some_and(|from| now < from) {
            return Err(late());
        }
        let opened = tokio::time::timeout(WATCH_PATIENCE, operation.open_waiting(kv)).await;
        self.patient_from = match &opened {
            Ok(Ok(())) => None,
            _ => Some(now + WATCH_PAUSE),
        };
        opened.unwrap_or_else(|_| Err(late()))
    }
}

#[async_trait]
impl Backend for EncryptedBackend {
    async fn get(&self, key: &[u8], at: Option<Revision>) -> Result<(Option<KeyValue>, Revision)> {
        let (mut found, revision) = self.store.get(key, at).await?;
        if let Some(kv) = &mut found {
            self.inner.operation().open_all(&mut [kv]).await?;
        }
        Ok((found, revision))
    }

    async fn range(&self, request: RangeRequest) -> Result<Range> {
        let mut range = self.store.range(request).await?;
        let mut values: Vec<&mut KeyValue> = range.kvs.iter_mut().collect();
        self.inner.operation().open_all(&mut values).await?;
        Ok(range)
    }

    async fn count(&self, prefix: &[u8]) -> Result<u64> {
        self.store.count(prefix).await
    }

    async fn txn(&self, mut txn: Txn) -> Result<TxnResult> {
        let mut operation = self.inner.operation();
        operation.seal(&mut txn.then).await?;
        let mut result = self.store.txn(txn).await?;
        if !result.read.is_empty() {
            let mut values: Vec<&mut KeyValue> = result.read.iter_mut().flatten().collect();
            operation.open_all(&mut values).await?;
        }
        // The values that were handed in, as later reads return them. A store does not change them.
        result.written = Vec::new();
        Ok(result)
    }

    async fn rehearse(&self, value: Bytes) -> Result<Bytes> {
        self.store.rehearse(value).await
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream> {
        let watch = self.store.watch(request).await?;
        let watching = Watching { inner: self.inner.clone(), patient_from: None };
        let opened = stream::unfold((watch, watching), |(mut watch, mut watching)| async move {
            let item = watch.next().await?;
            let item = watching.item(item).await;
            Some((item, (watch, watching)))
        });
        Ok(Box::pin(opened))
    }

    async fn request_progress(&self) -> Result<()> {
        self.store.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision> {
        self.store.current_revision().await
    }

    fn known_revision(&self) -> Option<Revision> {
        self.store.known_revision()
    }

    async fn compact(&self, revision: Revision) -> Result<()> {
        self.store.compact(revision).await
    }

    async fn compacted_revision(&self) -> Result<Revision> {
        self.store.compacted_revision().await
    }

    async fn lease(&self, ttl: Duration) -> Result<LeaseId> {
        self.store.lease(ttl).await
    }

    async fn health(&self) -> Result<()> {
        self.store.health().await
    }

    async fn stats(&self) -> Result<Stats> {
        self.store.stats().await
    }

    async fn close(&self) -> Result<()> {
        self.store.close().await
    }
}
