//! Compares the caches that are in use with the store, again and again.
//!
//! One loop goes from cache to cache, so that no more than a page of one resource is held for it. Custom resources that a
//! webhook converts are left out: it would have to convert all of them each time.

use std::sync::Arc;
use std::time::Duration;

use pintle_cache::{CacheCheck, Error, Metrics, Resource};
use pintle_extensions::Definitions;
use pintle_registry::Store;
use pintle_runtime::{Clock, Random, Spawner};

use crate::stores::Stores;

/// The least time between two rounds.
pub(crate) const PERIOD: Duration = Duration::from_secs(5 * 60);

/// Group, resource and cache.
type Named = (String, String, Arc<Resource>);

/// Counts a result for a group and a resource.
type Count = Box<dyn Fn(&str, &str, CacheCheck) + Send + Sync>;

/// Compares caches with the store, and counts the results.
pub(crate) struct Checker {
    caches: Box<dyn Fn() -> Vec<Named> + Send + Sync>,
    count: Count,
}

impl Checker {
    /// Returns a checker of the caches of all resources, built-in and custom.
    pub(crate) fn new(stores: &Stores, definitions: Arc<Definitions>, metrics: Metrics) -> Checker {
        let feed = stores.backends.main.feed.clone();
        let stores: Vec<Arc<Store>> = stores.kinds.values().map(|kind| kind.store.clone()).collect();
        let caches = move || {
            let config = |store: &Arc<Store>| {
                let config = store.config();
                (config.group.clone(), config.resource.clone(), config.cache.clone())
            };
            let mut all: Vec<Named> =
                stores.iter().filter(|store| store.cache().is_ready()).map(config).collect();
            for (group, resource, prefix) in definitions.prefixes() {
                let used = feed.in_use(&prefix).into_iter();
                all.extend(used.map(|cache| (group.clone(), resource.clone(), cache)));
            }
            all
        };
        let count = move |group: &str, resource: &str, found| metrics.cache_checked(group, resource, found);
        Checker { caches: Box::new(caches), count: Box::new(count) }
    }

    /// Compares in rounds with a pause before each.
    pub(crate) fn start(self, period: Duration, spawner: &Spawner, clock: Clock, random: Random) {
        spawner.spawn_until_stop(async move {
            loop {
                clock.sleep(random.jitter(period, 0.5)).await;
                self.round().await;
            }
        });
    }

    async fn round(&self) {
        for (group, resource, cache) in (self.caches)() {
            let outcome = match cache.check().await {
                // The cache is not in use any more.
                Err(Error::NotReady) => continue,
                Ok(None) => CacheCheck::Equal,
                Ok(Some(difference)) => {
                    tracing::error!(group, resource, ?difference, "a cache is not what is stored");
                    CacheCheck::Different
                }
                Err(error) => {
                    tracing::error!(group, resource, %error, "a cache cannot be compared with what is stored");
                    CacheCheck::Unknown
                }
            };
            (self.count)(&group, &resource, outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use pintle_cache::{BodyFormat, Entry, Feed, Kind, Limits, Read};
    use pintle_runtime::Tasks;
    use pintle_storage::{Backend, Txn};
    use pintle_storage_embedded::{Options, Store as Embedded};

    use super::*;

    struct Plain;

    impl Kind for Plain {
        fn read(&self, _: &str, stored: &Bytes) -> Result<Read, String> {
            Ok(Read { value: stored.clone(), ..Read::default() })
        }

        fn encode(&self, entry: &Entry, _: BodyFormat) -> Result<Bytes, String> {
            Ok(entry.stored().clone())
        }
    }

    async fn put(store: &Embedded, key: &'static str) -> u64 {
        store.txn(Txn::put(Bytes::from(key), Bytes::from_static(b"x"))).await.expect("written").revision.0
    }

    /// A feed that hears of one key only makes a cache that is right until another one is written.
    #[tokio::test]
    async fn rounds_count_equal_and_different_caches() {
        let store = Arc::new(Embedded::open(Options::memory()).expect("a store"));
        let feed = Feed::start(store.clone(), Bytes::from_static(b"/r/pods/a"), Limits::default());
        let feed = feed.await.expect("a feed");
        let pods = feed.resource(Bytes::from_static(b"/r/pods/"), || Arc::new(Plain));
        let idle = feed.resource(Bytes::from_static(b"/r/idle/"), || Arc::new(Plain));
        pods.ready().await.expect("loaded");
        let (counted, mut counts) = tokio::sync::mpsc::unbounded_channel();
        let known = pods.clone();
        let caches = move || {
            vec![
                (String::new(), "pods".to_owned(), known.clone()),
                ("a.b".to_owned(), "foos".to_owned(), idle.clone()),
            ]
        };
        let count = move |group: &str, resource: &str, found| {
            let _ = counted.send((format!("{resource}.{group}"), found));
        };
        let checker = Checker { caches: Box::new(caches), count: Box::new(count) };
        let tasks = Tasks::new();
        checker.start(Duration::from_millis(5), &tasks.spawner(), Clock::system(), Random::seeded(1));
        assert_eq!(counts.recv().await, Some(("pods.".into(), CacheCheck::Equal)));
        put(&store, "/r/pods/b").await;
        let after = put(&store, "/r/pods/a").await;
        pods.wait_for(after, Duration::from_secs(10)).await.expect("it follows");
        // Rounds go on; some may have begun before.
        while let Some((resource, found)) = counts.recv().await {
            assert_eq!(resource, "pods.", "the other cache is not in use");
            if found == CacheCheck::Different {
                break;
            }
            assert_eq!(found, CacheCheck::Equal);
        }
        drop(tasks);
        while counts.recv().await.is_some() {}
    }
}
