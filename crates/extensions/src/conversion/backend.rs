//! A store whose values are all of one version, in its form.
//!
//! It stands between a resource and the store below, so that caches, watches and writes know nothing of conversion. Values
//! are converted on their way up, as few times as can be: many in one review, and what was converted lately is remembered.
//! A written value is converted on its way down, to the version that is to be stored, and handed back as it comes up again:
//! a conversion may lose or add something. Defaults are those of the version that a value is stored in; no layer above may add
//! those of another.
//!
//! A value that cannot be converted fails the read that wants it. In a watch it comes in its turn: everything before it is
//! delivered, then the watch ends with an error, and nothing is left out.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use pintle_meta::Value;
use pintle_storage::{
    Backend, Error, Event, KeyValue, LeaseId, Op, Range, RangeRequest, Result, Revision, Stats, Txn,
    TxnResult, WatchItem, WatchRequest, WatchStream,
};

use super::cache::ConversionCache;
use super::{Converter, Failure};
use crate::encoding::{self, StoredAs};

/// The most objects of one review, and about how many bytes of them.
const AT_ONCE: usize = 250;
const BYTES_AT_ONCE: usize = 1 << 20;

/// How many reviews of one read are under way together.
const REVIEWS: usize = 4;

/// How many revisions of a watch are converted together, if they are there already.
const REVISIONS: usize = 128;

/// The schemas of a definition, applied to its objects.
pub trait ObjectSchemas: Send + Sync + 'static {
    /// Reads a stored value, in the form of the version that it is stored in. Not all versions can be converted from.
    fn read(&self, stored: &[u8]) -> std::result::Result<Value, String>;

    /// Coerces an object that was converted to the schema of its version.
    fn coerce_converted(&self, converted: Value) -> std::result::Result<Value, String>;
}

pub struct ConvertingBackendConfig {
    pub store: Arc<dyn Backend>,
    pub converter: Arc<dyn Converter>,
    pub schemas: Arc<dyn ObjectSchemas>,
    /// The version of what is read and written here, such as `example.com/v1`...
    pub served: String,
    /// ...and of what is written below.
    pub storage: String,
    /// The encoding of all values, here and below.
    pub stored_as: StoredAs,
    /// How many bytes of converted values are remembered.
    pub remember: usize,
}

/// See the module.
pub struct ConvertingBackend {
    store: Arc<dyn Backend>,
    inner: Arc<Inner>,
}

struct Inner {
    converter: Arc<dyn Converter>,
    schemas: Arc<dyn ObjectSchemas>,
    served: String,
    storage: String,
    stored_as: StoredAs,
    remembered: Mutex<ConversionCache>,
}

impl ConvertingBackend {
    pub fn new(config: ConvertingBackendConfig) -> ConvertingBackend {
        let ConvertingBackendConfig { store, converter, schemas, served, storage, stored_as, remember } =
            config;
        let remembered = Mutex::new(ConversionCache::new(remember));
        let inner = Inner { converter, schemas, served, storage, stored_as, remembered };
        ConvertingBackend { store, inner: Arc::new(inner) }
    }
}

/// A value that is to be converted: its place among others, and the object.
struct Pending {
    place: usize,
    object: Value,
    size: usize,
    /// It is not stored as it would be today: in another version or encoding.
    outdated: bool,
}

impl Inner {
    /// Brings values into the version that is served here; those that are in it stay as they are.
    async fn read<'a>(&self, values: impl IntoIterator<Item = &'a mut KeyValue>) -> Result<()> {
        let mut values: Vec<&mut KeyValue> = values.into_iter().collect();
        let mut pending = Vec::new();
        for (place, kv) in values.iter_mut().enumerate() {
            if let Some((known, outdated)) = self.remembered().get(&kv.key, kv.mod_revision.0) {
                kv.value = known;
                kv.stale |= outdated;
                continue;
            }
            if let Some(found) = self.pending(place, kv)? {
                pending.push(found);
            }
        }
        if pending.is_empty() {
            return Ok(());
        }
        let batches = batches(pending);
        let mut converted =
            stream::iter(batches).map(|batch| self.converted(batch, &self.served)).buffered(REVIEWS);
        while let Some(batch) = converted.try_next().await? {
            for (found, object) in batch {
                self.replace(values[found.place], self.encoded(&object), found.outdated);
            }
        }
        Ok(())
    }

    /// Whether a value must be converted. One that is in the right version is only brought into its form.
    fn pending(&self, place: usize, kv: &mut KeyValue) -> Result<Option<Pending>> {
        let object = self.schemas.read(&kv.value).map_err(Error::Unreadable)?;
        let version = object.api_version();
        let outdated = version != self.storage || StoredAs::detect(&kv.value) != self.stored_as;
        if version == self.served {
            let encoded = self.encoded(&object);
            let outdated = outdated || kv.value != encoded;
            self.replace(kv, encoded, outdated);
            return Ok(None);
        }
        Ok(Some(Pending { place, size: kv.value.len(), outdated, object }))
    }

    /// Replaces a value by its converted form and remembers that. An outdated one is stale: an update with the same object stores
    /// it in the current version and encoding.
    fn replace(&self, kv: &mut KeyValue, value: Bytes, outdated: bool) {
        kv.value = value;
        kv.stale |= outdated;
        // A dry run has no revision.
        if kv.mod_revision != Revision::ZERO {
            self.remembered().add(&kv.key, kv.mod_revision.0, kv.value.clone(), outdated);
        }
    }

    /// The objects of a batch in a version. If they cannot all be converted together, each is by itself, so that the error
    /// is the first one's own.
    async fn converted(&self, batch: Vec<Pending>, to: &str) -> Result<Vec<(Pending, Value)>> {
        let objects: Vec<Value> = batch.iter().map(|found| found.object.clone()).collect();
        let count = objects.len();
        let outcome = match self.ask(objects, to).await {
            Err(failure) if failure.refused && count > 1 => {
                let mut each = Vec::with_capacity(count);
                for found in &batch {
                    each.extend(self.ask(vec![found.object.clone()], to).await.map_err(unreadable)?);
                }
                Ok(each)
            }
            outcome => outcome,
        };
        Ok(batch.into_iter().zip(outcome.map_err(unreadable)?).collect())
    }

    async fn ask(&self, objects: Vec<Value>, to: &str) -> std::result::Result<Vec<Value>, Failure> {
        let converted = self.converter.convert(objects, to).await?;
        converted
            .into_iter()
            .map(|object| self.schemas.coerce_converted(object).map_err(Failure::refused))
            .collect()
    }

    /// Brings what is written into the version that is stored.
    async fn write(&self, ops: &mut [Op]) -> Result<()> {
        if self.served == self.storage {
            return Ok(());
        }
        let mut pending = Vec::new();
        for (place, op) in ops.iter().enumerate() {
            let Op::Put { value, .. } = op else { continue };
            let object = encoding::decode(value).map_err(Error::Unreadable)?;
            if object.api_version() != self.storage {
                pending.push(Pending { place, size: value.len(), outdated: false, object });
            }
        }
        for batch in batches(pending) {
            for (found, object) in self.converted(batch, &self.storage).await? {
                if let Op::Put { value, .. } = &mut ops[found.place] {
                    *value = self.encoded(&object);
                }
            }
        }
        Ok(())
    }

    /// Values that were put, at the revision at which they were, as they are seen from above.
    async fn written(&self, puts: Vec<(Bytes, Bytes)>, revision: Revision) -> Result<Vec<Bytes>> {
        let at = |(key, value)| KeyValue {
            key,
            value,
            create_revision: revision,
            mod_revision: revision,
            lease: None,
            stale: false,
        };
        let mut kvs: Vec<KeyValue> = puts.into_iter().map(at).collect();
        self.read(&mut kvs).await?;
        Ok(kvs.into_iter().map(|kv| kv.value).collect())
    }

    /// Some items of a watch that were there together, and why there are no more of them.
    async fn watched(&self, mut items: Vec<WatchItem>) -> (Vec<WatchItem>, Option<Error>) {
        match self.read(items.iter_mut().flat_map(values)).await {
            Ok(()) => (items, None),
            Err(_) if items.len() > 1 => {
                // Whatever comes before the one that fails is delivered.
                let mut done = Vec::with_capacity(items.len());
                for mut item in items {
                    match self.read(values(&mut item)).await {
                        Ok(()) => done.push(item),
                        Err(error) => return (done, Some(error)),
                    }
                }
                (done, None)
            }
            Err(error) => (Vec::new(), Some(error)),
        }
    }

    fn encoded(&self, object: &Value) -> Bytes {
        self.stored_as.encode(object).into()
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, ConversionCache> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unreadable(failure: Failure) -> Error {
    Error::Unreadable(failure.message)
}

fn batches(pending: Vec<Pending>) -> Vec<Vec<Pending>> {
    let mut batches: Vec<Vec<Pending>> = Vec::new();
    let mut bytes = 0;
    for found in pending {
        match batches.last_mut() {
            Some(batch) if batch.len() < AT_ONCE && bytes + found.size <= BYTES_AT_ONCE => {
                bytes += found.size;
                batch.push(found);
            }
            _ => {
                bytes = found.size;
                batches.push(vec![found]);
            }
        }
    }
    batches
}

/// The values of an item of a watch.
fn values(item: &mut WatchItem) -> Vec<&mut KeyValue> {
    let WatchItem::Changes { events, .. } = item else { return Vec::new() };
    fn of_event(event: &mut Event) -> [Option<&mut KeyValue>; 2] {
        match event {
            Event::Put { kv, prev } => [Some(kv), prev.as_mut()],
            Event::Delete { prev, .. } => [prev.as_mut(), None],
            Event::Unreadable(_) => [None, None],
        }
    }
    events.iter_mut().flat_map(of_event).flatten().collect()
}

#[async_trait]
impl Backend for ConvertingBackend {
    async fn get(&self, key: &[u8], at: Option<Revision>) -> Result<(Option<KeyValue>, Revision)> {
        let (mut found, revision) = self.store.get(key, at).await?;
        self.inner.read(found.as_mut()).await?;
        Ok((found, revision))
    }

    async fn range(&self, request: RangeRequest) -> Result<Range> {
        let mut range = self.store.range(request).await?;
        self.inner.read(&mut range.kvs).await?;
        Ok(range)
    }

    async fn count(&self, prefix: &[u8]) -> Result<u64> {
        self.store.count(prefix).await
    }

    async fn txn(&self, mut txn: Txn) -> Result<TxnResult> {
        self.inner.write(&mut txn.then).await?;
        let puts = txn.then.iter().filter_map(|op| match op {
            Op::Put { key, value, .. } => Some((key.clone(), value.clone())),
            Op::Delete { .. } => None,
        });
        let puts: Vec<(Bytes, Bytes)> = puts.collect();
        let mut result = self.store.txn(txn).await?;
        self.inner.read(result.read.iter_mut().flatten()).await?;
        if result.succeeded {
            result.written = self.inner.written(puts, result.revision).await?;
        }
        Ok(result)
    }

    async fn rehearse(&self, value: Bytes) -> Result<Bytes> {
        let mut ops = [Op::Put { key: Bytes::new(), value, lease: None }];
        self.inner.write(&mut ops).await?;
        let [Op::Put { key, value, .. }] = ops else { return Err(Error::InvalidArgument("no put".into())) };
        let written = self.inner.written(vec![(key, value)], Revision::ZERO).await?;
        Ok(written.into_iter().next().unwrap_or_default())
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream> {
        let watch = self.store.watch(request).await?;
        let inner = self.inner.clone();
        // Changes that have arrived are converted together; more are not waited for.
        let chunks = watch.ready_chunks(REVISIONS);
        let converted = stream::unfold(Some((chunks, inner)), |state| async move {
            let (mut chunks, inner) = state?;
            let (mut items, mut ended) = (Vec::new(), None);
            for item in chunks.next().await? {
                match item {
                    Ok(item) => items.push(item),
                    Err(error) => ended = ended.or(Some(error)),
                }
            }
            let (items, failed) = inner.watched(items).await;
            let ended = failed.or(ended);
            let goes_on = ended.is_none().then_some((chunks, inner));
            let delivered: Vec<Result<WatchItem>> = items.into_iter().map(Ok).chain(ended.map(Err)).collect();
            Some((stream::iter(delivered), goes_on))
        });
        Ok(Box::pin(converted.flatten()))
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
