//! The number and size of a resource's objects, for estimates of what a LIST costs.
//!
//! A LIST asks for the numbers of its resource and never waits for them: they are counted by a task, at most once a minute and only
//! for resources that are listed. So an idle server counts nothing. Until the first count a resource is unknown, as in the reference
//! during its first minute.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pintle_cache::Feed;
use pintle_extensions::Definitions;
use pintle_flow_control::{ObjectStats, Stats};
use pintle_registry::Store;
use pintle_runtime::{Clock, Spawner};
use pintle_storage::Backend;

use crate::stores::Stores;

/// How long a count holds, and one without sizes of a resource whose cache was not loaded yet.
const PERIOD: Duration = Duration::from_secs(60);
const PERIOD_WHILE_LOADING: Duration = Duration::from_secs(1);
/// How long a resource may fail to be counted before it is taken for an endless one.
const TOLERANCE: Duration = Duration::from_secs(3 * 60);

/// A value by group and resource.
type ByResource<T> = HashMap<String, HashMap<String, T>>;

/// Counts objects. Clones are the same counts.
#[derive(Clone)]
pub(super) struct ObjectCounts(Arc<Inner>);

struct Inner {
    stores: ByResource<Weak<Store>>,
    definitions: Weak<Definitions>,
    backend: Weak<dyn Backend>,
    feed: Weak<Feed>,
    counts: Mutex<ByResource<Count>>,
    /// Whether the cache can tell that it is up to date.
    reads_recent: AtomicBool,
    spawner: Spawner,
    clock: Clock,
}

#[derive(Clone, Copy)]
struct Count {
    /// The result of the last count that succeeded.
    found: Option<Found>,
    /// When the last count began.
    begun: Instant,
    /// The beginning of the first of the counts that have failed since the last success.
    failing_since: Option<Instant>,
}

#[derive(Clone, Copy)]
struct Found {
    objects: u64,
    average_size: u64,
    /// How long it holds.
    period: Duration,
}

/// The result of a count: none if the resource is gone.
type Counted = Option<Result<Found, ()>>;

impl ObjectCounts {
    pub(super) fn new(
        stores: &Stores,
        definitions: &Arc<Definitions>,
        spawner: Spawner,
        clock: Clock,
    ) -> ObjectCounts {
        let mut known: ByResource<Weak<Store>> = HashMap::new();
        for kind in stores.kinds.values() {
            let config = kind.store.config();
            let group = known.entry(config.group.clone()).or_default();
            group.insert(config.resource.clone(), Arc::downgrade(&kind.store));
        }
        ObjectCounts(Arc::new(Inner {
            stores: known,
            definitions: Arc::downgrade(definitions),
            backend: Arc::downgrade(&stores.backends.main.backend),
            feed: Arc::downgrade(&stores.backends.main.feed),
            counts: Mutex::default(),
            reads_recent: AtomicBool::new(true),
            spawner,
            clock,
        }))
    }
}

impl Inner {
    fn counts(&self) -> MutexGuard<'_, ByResource<Count>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn exists(&self, group: &str, resource: &str) -> bool {
        self.stores.get(group).is_some_and(|resources| resources.contains_key(resource))
            || self.definitions.upgrade().is_some_and(|definitions| {
                definitions.is_loaded()
                    && definitions.served_versions(&format!("{resource}.{group}")).is_some()
            })
    }

    async fn count(&self, group: &str, resource: &str) -> Counted {
        let builtin = self.stores.get(group).and_then(|resources| resources.get(resource));
        let (backend, prefix, caches, has_cache) = match builtin {
            Some(store) => {
                let store = store.upgrade()?;
                let config = store.config();
                let caches = if config.cache.is_ready() { vec![config.cache.clone()] } else { Vec::new() };
                (config.backend.clone(), config.prefix.clone(), caches, store.has_watch_cache())
            }
            None => {
                let prefix = self.custom_prefix(group, resource)?;
                let caches = self.feed.upgrade()?.in_use(&prefix);
                (self.backend.upgrade()?, prefix, caches, true)
            }
        };
        if backend.known_revision().is_none() {
            let progress = backend.request_progress().await;
            let is_unsupported = matches!(progress, Err(pintle_storage::Error::Unsupported(_)));
            self.reads_recent.store(!is_unsupported, Ordering::Relaxed);
        }
        // Adds up the sizes of all objects, which may be many.
        let cached = move || caches.iter().find_map(|cache| cache.stored_count_and_size());
        let counted = match tokio::task::spawn_blocking(cached).await.ok().flatten() {
            Some((objects, bytes)) => {
                Ok(Found { objects, average_size: bytes / objects.max(1), period: PERIOD })
            }
            None => {
                let period = if has_cache { PERIOD_WHILE_LOADING } else { PERIOD };
                let counted = backend.count(&prefix).await;
                counted.map(|objects| Found { objects, average_size: 0, period }).map_err(drop)
            }
        };
        Some(counted)
    }

    fn custom_prefix(&self, group: &str, resource: &str) -> Option<Bytes> {
        let mut all = self.definitions.upgrade()?.prefixes().into_iter();
        all.find(|(known, name, _)| known == group && name == resource).map(|(_, _, prefix)| prefix)
    }

    fn note(&self, group: &str, resource: &str, counted: Counted) {
        let mut counts = self.counts();
        let Some(resources) = counts.get_mut(group) else { return };
        let Some(count) = resources.get_mut(resource) else { return };
        match counted {
            Some(Ok(found)) => (count.found, count.failing_since) = (Some(found), None),
            Some(Err(())) => count.failing_since = count.failing_since.or(Some(count.begun)),
            None => drop(resources.remove(resource)),
        }
    }
}

impl ObjectStats for ObjectCounts {
    fn stats(&self, group: &str, resource: &str) -> Stats {
        let inner = &self.0;
        let now = inner.clock.instant();
        let known = inner.counts().get(group).and_then(|resources| resources.get(resource)).copied();
        let age = |since: Instant| now.saturating_duration_since(since);
        let period = |count: Count| count.found.map_or(PERIOD, |found| found.period);
        if known.is_none_or(|count| age(count.begun) >= period(count)) {
            // Only resources that exist are remembered: clients choose names.
            if known.is_none() && !inner.exists(group, resource) {
                return Stats::Unknown;
            }
            let begun = Count {
                begun: now,
                found: known.and_then(|count| count.found),
                failing_since: known.and_then(|count| count.failing_since),
            };
            inner.counts().entry(group.to_owned()).or_default().insert(resource.to_owned(), begun);
            let (task, group, resource) = (inner.clone(), group.to_owned(), resource.to_owned());
            inner.spawner.spawn_until_stop(async move {
                let counted = task.count(&group, &resource).await;
                task.note(&group, &resource, counted);
            });
        }
        match known {
            Some(count) if count.failing_since.is_some_and(|since| age(since) >= TOLERANCE) => Stats::Stale,
            Some(Count { found: Some(Found { objects, average_size, .. }), .. }) => {
                Stats::Known { objects, average_size }
            }
            _ => Stats::Unknown,
        }
    }

    fn reads_recent_from_cache(&self) -> bool {
        self.0.reads_recent.load(Ordering::Relaxed)
    }
}
