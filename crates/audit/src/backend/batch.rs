//! Batch mode: requests leave events in a queue and go on; a task writes them, many at once.
//!
//! The queue is bounded by number, as the reference's, and by bytes; what does not fit is lost and counted. Bytes count until their
//! batch is written, so that a webhook that is down does not collect batches without end.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pintle_runtime::{Clock, Signal};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::throttle::{Throttle, ThrottleConfig};
use super::{Backend, Surroundings};
use crate::event::Event;
use crate::metrics::{Metrics, log_lost};

const PLUGIN: &str = "buffered";
/// Limit on the bytes of events that are not written yet. An event is taken in any case where there is no other.
const MOST_BYTES: usize = 128 << 20;
/// A log is written no more often than this, so that it costs no wake-up for each event.
const PAUSE: Duration = Duration::from_millis(5);
/// Events that a log gets at once.
const RUN: usize = 4096;
/// Between two messages about lost events.
const MESSAGES: Duration = Duration::from_secs(1);

/// How events are batched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchConfig {
    /// Events that wait at most.
    pub buffer_size: usize,
    /// Events of a batch at most.
    pub max_size: usize,
    /// How long a batch that is not full waits for more.
    pub max_wait: Duration,
    pub throttle: Option<ThrottleConfig>,
    /// Whether batches are sent side by side. If not, and without a throttle, no reader can tell one batch from another, so
    /// that they may be written together.
    pub side_by_side: bool,
}

pub(super) struct Batching(Arc<Shared>);

struct Shared {
    config: BatchConfig,
    delegate: Arc<dyn Backend>,
    metrics: Metrics,
    clock: Clock,
    queue: Mutex<Queue>,
    /// Bytes of events in the queue and in batches under way.
    bytes: Arc<AtomicUsize>,
    arrived: Notify,
    stopping: Signal,
    done: Signal,
}

#[derive(Default)]
struct Queue {
    /// With the weight that counts for each.
    events: VecDeque<(Arc<Event>, usize)>,
    is_closed: bool,
    /// Events lost since the last message about it, and when that was.
    lost: usize,
    told: Option<std::time::Instant>,
}

impl Batching {
    /// Starts the task that writes.
    pub(super) fn start(
        delegate: Arc<dyn Backend>,
        config: &BatchConfig,
        surroundings: &Surroundings,
    ) -> Arc<Batching> {
        let shared = Arc::new(Shared {
            config: *config,
            delegate,
            metrics: surroundings.metrics.clone(),
            clock: surroundings.clock.clone(),
            queue: Mutex::default(),
            bytes: Arc::default(),
            arrived: Notify::new(),
            stopping: Signal::new("AuditStopping"),
            done: Signal::new("AuditDone"),
        });
        let writer = shared.clone();
        surroundings.spawner.spawn(async move { writer.run().await });
        Arc::new(Batching(shared))
    }
}

#[async_trait]
impl Backend for Batching {
    async fn process(&self, events: &[Arc<Event>]) -> bool {
        for event in events {
            self.0.push(event);
        }
        true
    }

    fn accept(&self, event: &Arc<Event>) -> bool {
        self.0.push(event);
        true
    }

    async fn shut_down(&self) {
        self.0.stopping.set();
        self.0.done.wait().await;
        self.0.delegate.shut_down().await;
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, event: &Arc<Event>) {
        let weight = event.weight();
        let mut queue = self.queue();
        let why = if queue.is_closed {
            "audit backend shut down"
        } else if queue.events.len() >= self.config.buffer_size || !self.has_room(weight) {
            "audit buffer queue blocked"
        } else {
            self.bytes.fetch_add(weight, Ordering::AcqRel);
            queue.events.push_back((event.clone(), weight));
            let length = queue.events.len();
            drop(queue);
            if length == 1 || length == self.enough() {
                self.arrived.notify_one();
            }
            return;
        };
        self.metrics.failed(PLUGIN, 1);
        queue.lost += 1;
        let now = self.clock.instant();
        if queue.told.is_some_and(|told| now.saturating_duration_since(told) < MESSAGES) {
            return;
        }
        queue.told = Some(now);
        let count = std::mem::take(&mut queue.lost);
        drop(queue);
        log_lost(PLUGIN, &why, count, std::slice::from_ref(event));
    }

    fn has_room(&self, weight: usize) -> bool {
        let bytes = self.bytes.load(Ordering::Acquire);
        bytes == 0 || bytes.saturating_add(weight) <= MOST_BYTES
    }

    /// Number of events that are sent without waiting for more: a full batch, or a full queue where that is smaller.
    fn enough(&self) -> usize {
        self.config.max_size.min(self.config.buffer_size)
    }

    /// Whether batches may be written together.
    fn coalesces(&self) -> bool {
        !self.config.side_by_side && self.config.throttle.is_none()
    }

    async fn run(&self) {
        let mut throttle = self.config.throttle.map(|config| Throttle::new(config, self.clock.clone()));
        let mut sending = JoinSet::new();
        loop {
            self.collect().await;
            let batch = self.take();
            while sending.try_join_next().is_some() {}
            if batch.events.is_empty() {
                if self.stopping.is_set() && self.close_if_empty() {
                    break;
                }
                continue;
            }
            if let Some(throttle) = &mut throttle {
                throttle.take().await;
            }
            if self.config.side_by_side {
                let delegate = self.delegate.clone();
                sending.spawn(async move {
                    delegate.process(&batch.events).await;
                });
            } else {
                self.delegate.process(&batch.events).await;
            }
        }
        while sending.join_next().await.is_some() {}
        self.done.set();
    }

    /// Waits until there is something to write.
    async fn collect(&self) {
        let until = async |enough: usize| {
            loop {
                let arrived = self.arrived.notified();
                if self.queue().events.len() >= enough || self.stopping.is_set() {
                    return;
                }
                tokio::select! {
                    () = arrived => {}
                    () = self.stopping.wait() => return,
                }
            }
        };
        until(1).await;
        if self.stopping.is_set() {
            return;
        }
        if self.coalesces() {
            self.clock.sleep(PAUSE).await;
        }
        if self.config.max_size > 1 {
            self.clock.timeout(self.config.max_wait, until(self.enough())).await;
        }
    }

    fn take(&self) -> Batch {
        let most = if self.coalesces() { RUN.max(self.config.max_size) } else { self.config.max_size };
        let mut queue = self.queue();
        let count = queue.events.len().min(most);
        let mut batch = Batch { events: Vec::with_capacity(count), weight: 0, bytes: self.bytes.clone() };
        for (event, weight) in queue.events.drain(..count) {
            batch.events.push(event);
            batch.weight += weight;
        }
        // The rest is a batch of its own, which no arrival may tell of.
        if !queue.events.is_empty() {
            self.arrived.notify_one();
        }
        batch
    }

    /// Takes no more events, unless some are left.
    fn close_if_empty(&self) -> bool {
        let mut queue = self.queue();
        queue.is_closed = queue.events.is_empty();
        queue.is_closed
    }
}

/// Events on their way, whose bytes count until this is dropped.
struct Batch {
    events: Vec<Arc<Event>>,
    weight: usize,
    bytes: Arc<AtomicUsize>,
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.bytes.fetch_sub(self.weight, Ordering::AcqRel);
    }
}
