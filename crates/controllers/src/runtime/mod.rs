//! The runtime of controllers: queues, sources of keys, and workers that belong to a control plane.
//!
//! A controller is a [`Controller`]: sources that say which keys to look at, and a function that brings one key to its desired
//! state. Keys are names, never objects or changes: when a key comes up, the controller reads the current state, so any number of
//! changes in a row is one piece of work, and a change that was missed is found by the next one.
//!
//! ```text
//! Source::informer   cursor of a cache ----+
//! Source::stored     watch of a few keys --+--> WorkQueue --> workers --> Controller::reconcile
//! Source::every      interval -------------+        ^                            |
//! Source::notified   signal ---------------+        +---- Err: backoff; After: later
//! ```
//!
//! A controller that annotates every ConfigMap named `example` would be:
//!
//! ```
//! # use std::sync::Arc;
//! # use async_trait::async_trait;
//! use pintle_controllers::{Controller, Key, Requeue, Source};
//! use pintle_registry::{Client, Result};
//!
//! struct Example {
//!     maps: Client,
//! }
//!
//! #[async_trait]
//! impl Controller for Example {
//!     /// The label of its `workqueue_*` metrics.
//!     fn name(&self) -> &'static str {
//!         "example"
//!     }
//!
//!     /// Every ConfigMap of that name, wherever it is; keys are `namespace/name`, as in the cache.
//!     fn sources(&self) -> Vec<Source> {
//!         let keys = |entry: &pintle_cache::Entry, deleted: bool| {
//!             (!deleted && entry.key().ends_with("/example")).then(|| Key::from(entry.key()))
//!         };
//!         vec![Source::informer(self.maps.store().clone(), keys)]
//!     }
//!
//!     /// Reads what is there, not what the change was. An error is retried with backoff.
//!     async fn reconcile(&self, key: &str) -> Result<Requeue> {
//!         let Some((namespace, name)) = key.split_once('/') else { return Ok(Requeue::Never) };
//!         let mut change = |map: &pintle_meta::Value| {
//!             let mut new = map.clone();
//!             if let Some(metadata) = new.metadata_mut() {
//!                 metadata.insert("annotations", pintle_meta::Object::from_iter([("seen", "yes")]));
//!             }
//!             Ok(Some(new))
//!         };
//!         self.maps.update(namespace, name, &mut change).await?;
//!         Ok(Requeue::Never)
//!     }
//! }
//! ```
//!
//! [`start`] starts one. A post-start hook awaits it, and so waits for the objects of [`Controller::awaited`], which a server must
//! have before it is ready. All tasks belong to [`Runtime::spawner`] and end when its owner stops or is dropped.

mod follow;
mod metrics;
mod queue;
mod rate;
mod sources;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pintle_meta::Status;
use pintle_registry::Result;
use pintle_runtime::{Clock, Random, Spawner};
use tokio::sync::mpsc;

pub(crate) use follow::{Seen, Waiting, follow};
pub use metrics::Metrics;
pub use queue::WorkQueue;
pub use rate::RateLimits;
pub use sources::Source;

/// The name of a piece of work: usually `name` or `namespace/name` of an object. Cheap to clone.
pub type Key = Arc<str>;

/// How long a start waits for the objects that must be there before the server is ready. A store that is slower than this has
/// checks of its own.
const START_TIMEOUT: Duration = Duration::from_secs(2);

/// The surroundings of the controllers of one control plane. Clones are the same.
#[derive(Clone)]
pub struct Runtime {
    pub spawner: Spawner,
    pub clock: Clock,
    pub random: Random,
    pub metrics: Metrics,
}

/// When a key that was reconciled comes up again without a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    Never,
    After(Duration),
}

/// A loop that keeps some objects in their desired state.
#[async_trait]
pub trait Controller: Send + Sync + 'static {
    /// The name of its queue in metrics, and of the controller in logs.
    fn name(&self) -> &'static str;

    /// Called once, when the controller is started.
    fn sources(&self) -> Vec<Source>;

    /// Brings a key to its desired state. It is never called for the same key twice at a time. An error is given to
    /// [`Controller::failed`], and the key comes up again after a backoff. The future may be dropped where it waits, when the
    /// control plane ends.
    async fn reconcile(&self, key: &str) -> Result<Requeue>;

    /// Reports an error.
    fn failed(&self, key: &str, status: &Status) {
        tracing::error!("{key} failed with : {}", status.message);
    }

    /// The number of keys that are reconciled at the same time.
    fn workers(&self) -> usize {
        1
    }

    /// The objects that must be there before the server is ready, in words for the log. Then [`start`] waits for the first
    /// round, for a while.
    fn awaited(&self) -> Option<&'static str> {
        None
    }

    fn rate_limits(&self) -> RateLimits {
        RateLimits::default()
    }
}

/// Starts a controller. Returns at once, or after the first round where something of it is [awaited](Controller::awaited).
pub async fn start(controller: Arc<dyn Controller>, runtime: &Runtime) {
    let awaited = controller.awaited();
    let (queue, started) = spawn(controller, runtime);
    let Some(awaited) = awaited else { return };
    let first_round = async {
        let mut started = started;
        // Nothing is sent; it ends when all sources have dropped their senders.
        while started.recv().await.is_some() {}
        queue.drained().await;
    };
    if runtime.clock.timeout(START_TIMEOUT, first_round).await.is_none() {
        tracing::warn!("{awaited} are not there yet");
    }
}

/// Spawns the sources and workers of a controller. The receiver ends once every source has queued the keys of the start.
fn spawn(controller: Arc<dyn Controller>, runtime: &Runtime) -> (WorkQueue<Key>, mpsc::Receiver<()>) {
    let queue =
        WorkQueue::new(controller.name(), runtime.clock.clone(), controller.rate_limits(), &runtime.metrics);
    let (started, is_started) = mpsc::channel(1);
    for source in controller.sources() {
        let run = source.run(queue.clone(), runtime.clone(), started.clone());
        runtime.spawner.spawn_until_stop(run);
    }
    for _ in 0..controller.workers() {
        let (controller, queue) = (controller.clone(), queue.clone());
        runtime.spawner.spawn_until_stop(async move { work(&*controller, &queue).await });
    }
    (queue, is_started)
}

/// Reconciles one key after the other until the queue is shut down.
async fn work(controller: &dyn Controller, queue: &WorkQueue<Key>) {
    while let Some(key) = queue.next().await {
        match controller.reconcile(&key).await {
            Ok(requeue) => {
                queue.forget(&key);
                if let Requeue::After(delay) = requeue {
                    queue.add_after(key.clone(), delay);
                }
            }
            Err(status) => {
                controller.failed(&key, &status);
                queue.retry(key.clone());
            }
        }
        queue.done(&key);
    }
}

#[cfg(test)]
mod tests;
