//! The work queue of a controller: keys that are to be reconciled, each at most once at a time.
//!
//! ```text
//!            add                next                  done
//! caller  ---------> queued  ----------> processing --------> gone
//!            add_after  ^                    |  add: dirty
//!            retry      |                    |
//!         delayed ------+<-------------------+  done: queued again
//! ```
//!
//! - A key that is queued is not queued twice.
//! - A key that is added while it is processed is queued again when that is done, so that no two workers have it.
//! - A delayed key keeps the earlier of two times. Adding it at once does not take it out of the delayed ones.
//!
//! Time is the clock's of the control plane; a queue has no task of its own.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pintle_runtime::Clock;
use tokio::sync::Notify;

use super::Metrics;
use super::metrics::{Processing, QueueMetrics};
use super::rate::{Bucket, RateLimits};

/// A queue of keys. Clones are the same queue.
pub struct WorkQueue<K>(Arc<Inner<K>>);

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> WorkQueue<K> {
        WorkQueue(self.0.clone())
    }
}

struct Inner<K> {
    clock: Clock,
    limits: RateLimits,
    metrics: QueueMetrics,
    state: Mutex<State<K>>,
    /// Wakes one worker: a key is queued, a delayed key is due earlier, or the queue is shut down.
    wake: Notify,
    /// Notified whenever processing of a key has ended.
    progress: Notify,
}

struct State<K> {
    queued: VecDeque<K>,
    /// Keys that are queued, or will be when their processing is done; with the time when they were added.
    dirty: HashMap<K, Instant>,
    processing: HashMap<K, Instant>,
    /// By the time when they are due, and a number that keeps keys of the same time in order.
    delayed: BTreeMap<(Instant, u64), K>,
    due: HashMap<K, (Instant, u64)>,
    next_number: u64,
    failures: HashMap<K, u32>,
    bucket: Bucket,
    is_shut_down: bool,
}

impl<K: Clone + Eq + Hash + Send + 'static> WorkQueue<K> {
    /// Makes the queue of the controller `name`, which the queue's metrics are labelled with.
    pub fn new(name: &'static str, clock: Clock, limits: RateLimits, metrics: &Metrics) -> WorkQueue<K> {
        let state = State {
            queued: VecDeque::new(),
            dirty: HashMap::new(),
            processing: HashMap::new(),
            delayed: BTreeMap::new(),
            due: HashMap::new(),
            next_number: 0,
            failures: HashMap::new(),
            bucket: Bucket::full(&limits, clock.instant()),
            is_shut_down: false,
        };
        let inner = Arc::new(Inner {
            clock,
            limits,
            metrics: metrics.queue(name),
            state: Mutex::new(state),
            wake: Notify::new(),
            progress: Notify::new(),
        });
        let processing: Arc<dyn Processing> = inner.clone();
        metrics.observe(name, Arc::downgrade(&processing));
        WorkQueue(inner)
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.0.lock()
    }

    /// Adds a key, unless it is queued already. Does nothing once the queue is shut down.
    pub fn add(&self, key: K) {
        self.enqueue(&mut self.lock(), key);
    }

    fn enqueue(&self, state: &mut State<K>, key: K) {
        if state.is_shut_down || state.dirty.contains_key(&key) {
            return;
        }
        self.0.metrics.added();
        state.dirty.insert(key.clone(), self.0.clock.instant());
        if !state.processing.contains_key(&key) {
            state.queued.push_back(key);
            self.0.wake.notify_one();
        }
    }

    /// Adds a key once `delay` has passed.
    pub fn add_after(&self, key: K, delay: Duration) {
        let mut state = self.lock();
        if state.is_shut_down {
            return;
        }
        self.0.metrics.retried();
        if delay.is_zero() {
            return self.enqueue(&mut state, key);
        }
        let at = self.0.clock.instant() + delay;
        if let Some(known) = state.due.get(&key).copied() {
            if known.0 <= at {
                return;
            }
            state.delayed.remove(&known);
        }
        let due = (at, state.next_number);
        state.next_number += 1;
        state.delayed.insert(due, key.clone());
        state.due.insert(key, due);
        self.0.wake.notify_one();
    }

    /// Adds a key that failed, after the delay that the queue's limits give it.
    pub fn retry(&self, key: K) {
        let delay = {
            let (state, limits) = (&mut *self.lock(), &self.0.limits);
            let failures = state.failures.entry(key.clone()).or_default();
            let backoff = limits.backoff(*failures);
            *failures = failures.saturating_add(1);
            backoff.max(state.bucket.take(limits, self.0.clock.instant()))
        };
        self.add_after(key, delay);
    }

    /// Forgets the failures of a key: its next retry begins with the shortest delay.
    pub fn forget(&self, key: &K) {
        self.lock().failures.remove(key);
    }

    /// Returns how often a key was retried since it was last forgotten.
    pub fn failures(&self, key: &K) -> u32 {
        self.lock().failures.get(key).copied().unwrap_or_default()
    }

    /// Waits for a key, which is the caller's alone until it calls [`WorkQueue::done`]. `None` once the queue is shut down and
    /// nothing is queued. Dropping the future loses nothing.
    pub async fn next(&self) -> Option<K> {
        loop {
            let woken = self.0.wake.notified();
            let due = match self.try_next() {
                Attempt::Key(key) => return Some(key),
                Attempt::ShutDown => {
                    self.0.wake.notify_one();
                    return None;
                }
                Attempt::Due(due) => due,
            };
            match due {
                None => woken.await,
                Some(due) => {
                    let left = due.saturating_duration_since(self.0.clock.instant());
                    tokio::select! {
                        () = woken => {}
                        () = self.0.clock.sleep(left) => {}
                    }
                }
            }
        }
    }

    fn try_next(&self) -> Attempt<K> {
        let state = &mut *self.lock();
        let now = self.0.clock.instant();
        while let Some(first) = state.delayed.first_entry().filter(|first| first.key().0 <= now) {
            let key = first.remove();
            state.due.remove(&key);
            self.enqueue(state, key);
        }
        let Some(key) = state.queued.pop_front() else {
            let due = state.delayed.first_key_value().map(|((due, _), _)| *due);
            return if state.is_shut_down { Attempt::ShutDown } else { Attempt::Due(due) };
        };
        let added = state.dirty.remove(&key).unwrap_or(now);
        self.0.metrics.taken(now.saturating_duration_since(added));
        state.processing.insert(key.clone(), now);
        if !state.queued.is_empty() {
            self.0.wake.notify_one();
        }
        Attempt::Key(key)
    }

    /// Ends the processing of a key. It is queued again if it was added meanwhile.
    pub fn done(&self, key: &K) {
        let state = &mut *self.lock();
        let Some(started) = state.processing.remove(key) else { return };
        self.0.metrics.processed(self.0.clock.instant().saturating_duration_since(started));
        if state.dirty.contains_key(key) {
            state.queued.push_back(key.clone());
            self.0.wake.notify_one();
        }
        self.0.progress.notify_waiters();
    }

    /// Lets nothing more be added. Workers get the keys that are queued, and then `None`; delayed keys are dropped.
    pub fn shut_down(&self) {
        let state = &mut *self.lock();
        state.is_shut_down = true;
        state.delayed.clear();
        state.due.clear();
        self.0.wake.notify_one();
    }

    /// Returns the number of queued keys.
    pub fn len(&self) -> usize {
        self.lock().queued.len()
    }

    /// Returns whether no key is queued or processed; delayed ones aside.
    pub fn is_empty(&self) -> bool {
        let state = self.lock();
        state.dirty.is_empty() && state.processing.is_empty()
    }

    /// Waits until [`WorkQueue::is_empty`].
    pub async fn drained(&self) {
        loop {
            let mut progress = std::pin::pin!(self.0.progress.notified());
            progress.as_mut().enable();
            if self.is_empty() {
                return;
            }
            progress.await;
        }
    }
}

enum Attempt<K> {
    Key(K),
    /// Nothing is queued; the earliest delayed key is due then.
    Due(Option<Instant>),
    ShutDown,
}

impl<K> Inner<K> {
    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Send + 'static> Processing for Inner<K> {
    fn running(&self) -> Vec<Duration> {
        let now = self.clock.instant();
        self.lock().processing.values().map(|since| now.saturating_duration_since(*since)).collect()
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
