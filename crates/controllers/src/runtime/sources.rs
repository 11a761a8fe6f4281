//! Sources of keys: where a controller hears that something is to be reconciled.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use pintle_cache::{Entry, Interest, Next};
use pintle_registry::Store;
use pintle_storage::{WatchItem, WatchRequest, WatchStream};
use tokio::sync::{Notify, mpsc};

use super::queue::WorkQueue;
use super::{Key, Runtime};

/// How soon a store or cache that could not be read is asked again, at the earliest: servers must not come back together.
const PAUSE: Duration = Duration::from_secs(1);

type Keys = Box<dyn Fn(&Entry, bool) -> Option<(Key, Duration)> + Send + Sync>;

/// A source of keys.
pub struct Source(Repr);

enum Repr {
    Informer { store: Arc<Store>, keys: Keys },
    Stored { store: Arc<Store>, prefix: String, key: &'static str },
    Every { interval: Duration, key: &'static str, at_start: bool },
    Notified { notify: Arc<Notify>, key: &'static str },
    Feeder(Feeder),
}

/// Feeds a queue for as long as it runs.
type Feeder = Box<dyn FnOnce(WorkQueue<Key>) -> BoxFuture<'static, ()> + Send>;

impl Source {
    /// Follows the cache of a resource, which is loaded and kept for it. It copies no objects: `keys` maps an entry, and
    /// whether it was deleted, to the key to reconcile.
    ///
    /// First every object is seen as it is, then every change. When the cache had to start over, every object is seen again;
    /// deletions meanwhile are not seen, so a controller must find out from what is left what to do.
    pub fn informer(
        store: Arc<Store>,
        keys: impl Fn(&Entry, bool) -> Option<Key> + Send + Sync + 'static,
    ) -> Source {
        Source::delayed_informer(store, move |entry, deleted| Some((keys(entry, deleted)?, Duration::ZERO)))
    }

    /// The same, where a key comes up only after a delay.
    pub fn delayed_informer(
        store: Arc<Store>,
        keys: impl Fn(&Entry, bool) -> Option<(Key, Duration)> + Send + Sync + 'static,
    ) -> Source {
        Source(Repr::Informer { store, keys: Box::new(keys) })
    }

    /// Watches the stored objects of a resource whose keys begin with `prefix` (`namespace/name` for one object), without its
    /// cache: a watch of one key costs next to nothing, where the cache of a resource has to be loaded and kept. Adds `key` at
    /// the start and upon every change.
    pub fn stored(store: Arc<Store>, prefix: impl Into<String>, key: &'static str) -> Source {
        Source(Repr::Stored { store, prefix: prefix.into(), key })
    }

    /// Adds `key` at the start and then after every interval.
    pub fn every(interval: Duration, key: &'static str) -> Source {
        Source(Repr::Every { interval, key, at_start: true })
    }

    /// Adds `key` after every interval, and not at the start.
    pub fn every_later(interval: Duration, key: &'static str) -> Source {
        Source(Repr::Every { interval, key, at_start: false })
    }

    /// Adds `key` whenever it is notified.
    pub fn notified(notify: Arc<Notify>, key: &'static str) -> Source {
        Source(Repr::Notified { notify, key })
    }

    /// Lets a task of the controller itself feed the queue. The start does not wait for it.
    pub fn feeder<F>(feed: impl FnOnce(WorkQueue<Key>) -> F + Send + 'static) -> Source
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Source(Repr::Feeder(Box::new(|queue| Box::pin(feed(queue)))))
    }

    /// Feeds a queue. `started` is dropped once the keys of the start are queued.
    pub(super) async fn run(self, queue: WorkQueue<Key>, runtime: Runtime, started: mpsc::Sender<()>) {
        let mut started = Some(started);
        match self.0 {
            Repr::Informer { store, keys } => loop {
                inform(&store, &keys, &queue, &mut started).await;
                runtime.clock.sleep(runtime.random.jitter(PAUSE, 0.5)).await;
            },
            Repr::Stored { store, prefix, key } => loop {
                // Before the first round, so that no change is missed.
                let mut changes = watch(&store, &prefix).await;
                queue.add(key.into());
                started.take();
                while changed(&mut changes).await {
                    queue.add(key.into());
                }
                runtime.clock.sleep(runtime.random.jitter(PAUSE, 0.5)).await;
            },
            Repr::Every { interval, key, at_start } => {
                if at_start {
                    queue.add(key.into());
                }
                drop(started);
                loop {
                    runtime.clock.sleep(interval).await;
                    queue.add(key.into());
                }
            }
            Repr::Feeder(feed) => {
                drop(started);
                feed(queue).await;
            }
            Repr::Notified { notify, key } => {
                drop(started);
                loop {
                    notify.notified().await;
                    queue.add(key.into());
                }
            }
        }
    }
}

/// Queues the keys of all objects and then of all changes. Returns when the cache is away, or the cursor expired.
async fn inform(store: &Store, keys: &Keys, queue: &WorkQueue<Key>, started: &mut Option<mpsc::Sender<()>>) {
    let cache = store.cache();
    if cache.ready().await.is_err() {
        return;
    }
    let Ok((snapshot, mut cursor)) = cache.snapshot_and_watch(Interest::Everything) else { return };
    let add = |(key, delay): (Key, Duration)| match delay {
        Duration::ZERO => queue.add(key),
        delay => queue.add_after(key, delay),
    };
    snapshot.objects.iter().filter_map(|entry| keys(entry, false)).for_each(add);
    drop(snapshot);
    started.take();
    while let Next::Changes(changes) = cursor.next().await {
        changes.iter().filter_map(|change| keys(&change.entry, change.deleted)).for_each(add);
    }
}

async fn watch(store: &Store, prefix: &str) -> Option<WatchStream> {
    let config = store.config();
    let prefix = [&config.prefix, prefix.as_bytes()].concat();
    let from = config.backend.current_revision().await.ok()?.next();
    let request = WatchRequest { prefix: prefix.into(), from, ..WatchRequest::default() };
    config.backend.watch(request).await.ok()
}

/// Waits for a change; returns false when the watch has ended.
async fn changed(changes: &mut Option<WatchStream>) -> bool {
    let Some(changes) = changes else { return false };
    loop {
        match changes.next().await {
            Some(Ok(WatchItem::Changes { .. })) => return true,
            Some(Ok(WatchItem::Progress(_))) => {}
            Some(Err(_)) | None => return false,
        }
    }
}
