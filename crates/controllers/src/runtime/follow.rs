//! Following caches with what was there before each change, for controllers that must compare the two, and only for as long as
//! something needs it.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pintle_cache::{Change, Interest, Next, Snapshot};
use pintle_registry::Store;
use pintle_runtime::Clock;
use tokio::sync::Notify;

use super::Key;

/// How soon a cache that could not be read is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// An observation of a follower of a cache.
pub(crate) enum Seen<'a> {
    /// All objects: first, and whenever the cache had to start over. Changes up to then may not have been seen.
    All(&'a Snapshot),
    Change(&'a Change),
}

/// Follows the cache of a resource until the future is dropped. The cache is loaded, and nothing is copied.
pub(crate) async fn follow(store: &Store, clock: &Clock, mut see: impl FnMut(Seen<'_>)) {
    loop {
        let cache = store.cache();
        if cache.ready().await.is_ok()
            && let Ok((snapshot, mut cursor)) = cache.snapshot_and_watch(Interest::Everything)
        {
            see(Seen::All(&snapshot));
            drop(snapshot);
            while let Next::Changes(changes) = cursor.next().await {
                changes.iter().for_each(|change| see(Seen::Change(change)));
                // A burst of changes must not keep a thread from its other tasks.
                tokio::task::yield_now().await;
            }
        } else {
            clock.sleep(PAUSE).await;
        }
    }
}

/// Keys that wait for changes of other objects, such as a claim that is being deleted for the pods that use it.
///
/// The other objects are followed only while a key waits, so that most servers never load them for this. A controller adds a key
/// before it looks whether the key can go on, and removes it when nothing holds it any more:
///
/// ```text
/// reconcile   waiting.add(key), look: in use             remains
/// follower    first key: follow the others, queue all keys again
/// follower    a change that concerns a waiting key: queue it
/// reconcile   look: not in use, waiting.remove(key)      last key: the follower ends
/// ```
///
/// A change between the look and the beginning of the follower is found by the second look.
#[derive(Clone, Default)]
pub(crate) struct Waiting(Arc<Inner>);

#[derive(Default)]
struct Inner {
    keys: Mutex<BTreeSet<Key>>,
    /// Notified when the first key comes and when the last one goes.
    changed: Notify,
}

impl Waiting {
    pub(crate) fn add(&self, key: &str) {
        let mut keys = self.keys();
        if keys.insert(key.into()) && keys.len() == 1 {
            self.0.changed.notify_one();
        }
    }

    pub(crate) fn remove(&self, key: &str) {
        let mut keys = self.keys();
        if keys.remove(key) && keys.is_empty() {
            self.0.changed.notify_one();
        }
    }

    pub(crate) fn contains(&self, key: &str) -> bool {
        self.keys().contains(key)
    }

    fn is_empty(&self) -> bool {
        self.keys().is_empty()
    }

    /// Returns whether a key of a namespace waits.
    pub(crate) fn has_in(&self, namespace: &str) -> bool {
        let keys = self.keys();
        let first = format!("{namespace}/");
        let next = keys.range::<str, _>((Bound::Included(first.as_str()), Bound::Unbounded)).next();
        next.is_some_and(|key| key.starts_with(&first))
    }

    /// Returns all keys.
    pub(crate) fn all(&self) -> Vec<Key> {
        self.keys().iter().cloned().collect()
    }

    fn keys(&self) -> MutexGuard<'_, BTreeSet<Key>> {
        self.0.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs what `while_waiting` makes whenever keys wait, until none does. Never returns.
    pub(crate) async fn run<F: Future<Output = ()>>(&self, while_waiting: impl Fn() -> F) {
        loop {
            while self.is_empty() {
                self.0.changed.notified().await;
            }
            let emptied = async {
                while !self.is_empty() {
                    self.0.changed.notified().await;
                }
            };
            tokio::select! {
                () = while_waiting() => {}
                () = emptied => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    async fn settle() {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn others_are_followed_only_while_a_key_waits() {
        let (waiting, running) = (Waiting::default(), Arc::new(AtomicUsize::new(0)));
        let (of_task, count) = (waiting.clone(), running.clone());
        let task = tokio::spawn(async move {
            let follow = || async {
                count.fetch_add(1, Ordering::SeqCst);
                std::future::pending::<()>().await;
            };
            of_task.run(follow).await;
        });
        settle().await;
        assert_eq!(running.load(Ordering::SeqCst), 0);
        waiting.add("a");
        waiting.add("b");
        settle().await;
        assert_eq!(running.load(Ordering::SeqCst), 1);
        waiting.remove("a");
        waiting.add("c");
        settle().await;
        assert_eq!(running.load(Ordering::SeqCst), 1, "it goes on for the others");
        waiting.remove("b");
        waiting.remove("c");
        settle().await;
        waiting.add("d");
        settle().await;
        assert_eq!(running.load(Ordering::SeqCst), 2, "it had ended, and began again");
        task.abort();
    }

    #[test]
    fn keys_are_found_by_their_namespace() {
        let waiting = Waiting::default();
        ["a-b/c", "b/c", "c"].iter().for_each(|key| waiting.add(key));
        assert_eq!(
            ["a", "a-b", "b", "c"].map(|namespace| waiting.has_in(namespace)),
            [false, true, true, false]
        );
    }
}
