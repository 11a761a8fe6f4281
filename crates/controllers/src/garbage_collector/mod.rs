//! Garbage collection: deletes objects whose owners are all gone, deletes the dependents of owners that wait for them, and removes the
//! references of dependents that are to be orphaned.
//!
//! ```text
//! stores --- GraphChanges (graph_changes) ---> Graph: who owns whom, ids only
//!              reads all objects once,           |  owner is gone, waits, or is to be verified
//!              then follows the writes           v
//!                                 AttemptToDelete (attempt_to_delete) ---> reads the object and its owners,
//!                                                                          deletes it or patches its references
//!                                 AttemptToOrphan (attempt_to_orphan) ---> patches the dependents, then the owner's finalizers
//! ```
//!
//! **The graph is a hint, the store decides.** Before anything is deleted or patched, the object is read from the store, and so is each of
//! its owners whose deletion was not seen. Deletions have the uid and the resourceVersion as preconditions. So a
//! graph that is behind, a kube-controller-manager beside, or a second leader deletes nothing that should stay.
//!
//! **The store is followed, not the caches.** A collector looks at all resources, and the caches of some 70 resources would keep every
//! object of the cluster in memory, whether a client asks for it or not. So each store has one watch of all its keys, as the caches have:
//! of a write only the metadata is scanned, and a write of an object that has no owners, no dependents and no finalizer
//! of garbage collection ends there. At the start all objects are scanned in pages of one revision. When a watch has
//! lost changes, they are scanned again, and nodes whose objects were not found are gone.
//!
//! **Nodes are few.** Only objects that have owners, that are named as owners, or that wait for dependents have a [node](graph).
//! A reference to an object without a node makes one, which is verified by one read of a key.
//!
//! Definitions of custom resources come by as any other writes do. After one, the catalog is asked which resources are
//! served now; objects of a new resource are scanned, and references whose kind had no resource are looked at again.

mod attempt;
mod builder;
mod classify;
mod event;
#[cfg(test)]
mod flaky_store;
mod graph;
mod live;
mod node;
mod orphan;
mod patches;
mod places;
mod resources;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use pintle_meta::Status;
use pintle_metrics::{Counter, Registry};
use pintle_registry::Result;
use pintle_runtime::{Clock, Random};
use pintle_storage::Backend;
use tokio::sync::watch;

use crate::api::ApiClient;
use crate::catalog::Catalog;
use crate::runtime::{Controller, Key, Requeue, Source, WorkQueue};
use graph::{Effects, Graph, NodeView};
use node::NodeId;

/// Workers of each queue, as many as kube-controller-manager has.
const WORKERS: usize = 20;

/// Searches of other namespaces for an owner, at once and per second.
const SEARCHES: f64 = 100.0;
const SEARCHES_PER_SECOND: f64 = 10.0;

/// A store whose objects are looked after.
#[derive(Clone)]
pub struct FollowedStore {
    pub backend: Arc<dyn Backend>,
    /// The beginning of all keys, with slashes around it.
    pub root: Bytes,
}

/// The parts of the collector.
pub struct GarbageCollectorConfig {
    pub stores: Vec<FollowedStore>,
    pub api: ApiClient,
    pub catalog: Arc<dyn Catalog>,
    pub clock: Clock,
    pub random: Random,
    pub metrics: GarbageCollectorMetrics,
}

/// The metrics of the collector beside those of its queues.
#[derive(Clone)]
pub struct GarbageCollectorMetrics {
    sync_errors: Counter,
}

impl GarbageCollectorMetrics {
    pub fn new(registry: &Registry) -> std::result::Result<GarbageCollectorMetrics, pintle_metrics::Error> {
        let sync_errors = registry.counter(
            "garbagecollector_controller_resources_sync_error_total",
            "Number of garbage collector resources sync errors",
        )?;
        Ok(GarbageCollectorMetrics { sync_errors })
    }
}

/// The garbage collector.
pub struct GarbageCollector {
    config: GarbageCollectorConfig,
    graph: Mutex<Graph>,
    /// The queues of the workers that run now.
    delete: watch::Sender<Option<WorkQueue<Key>>>,
    orphan: watch::Sender<Option<WorkQueue<Key>>>,
    /// Changes when there may be resources whose objects are to be read.
    refreshed: watch::Sender<u64>,
    searches: Mutex<Option<(f64, Instant)>>,
}

impl GarbageCollector {
    pub const NAME: &'static str = "garbage-collector-controller";
    /// The service account.
    pub const ACCOUNT: &'static str = "generic-garbage-collector";

    pub fn new(config: GarbageCollectorConfig) -> Arc<GarbageCollector> {
        Arc::new(GarbageCollector {
            config,
            graph: Mutex::default(),
            delete: watch::Sender::new(None),
            orphan: watch::Sender::new(None),
            refreshed: watch::Sender::new(0),
            searches: Mutex::default(),
        })
    }

    /// Returns the loops of the collector, which are started together.
    pub fn controllers(self: &Arc<GarbageCollector>) -> Vec<Arc<dyn Controller>> {
        vec![
            Arc::new(AttemptToDelete(self.clone())),
            Arc::new(AttemptToOrphan(self.clone())),
            Arc::new(GraphChanges(self.clone())),
        ]
    }

    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a node to work on. There is none while objects are read: everything is asked for again when all are known.
    fn view(&self, id: NodeId) -> Option<NodeView> {
        let graph = self.graph();
        if graph.loading > 0 { None } else { graph.view(id) }
    }

    /// Queues what changes of the graph ask for.
    fn dispatch(&self, effects: Effects) {
        let add = |queue: &watch::Sender<Option<WorkQueue<Key>>>, nodes: Vec<NodeId>| {
            if let Some(queue) = queue.borrow().as_ref() {
                nodes.into_iter().for_each(|node| queue.add(node.key()));
            }
        };
        add(&self.delete, effects.delete);
        add(&self.orphan, effects.orphan);
    }

    /// Changes the graph, and queues what that asks for.
    fn change<R>(&self, change: impl FnOnce(&mut Graph) -> R) -> R {
        let mut graph = self.graph();
        let result = change(&mut graph);
        let effects = graph.take_effects();
        drop(graph);
        self.dispatch(effects);
        result
    }

    /// Returns whether other namespaces may be searched for an owner now: references to owners that are not there may be many.
    fn may_search(&self) -> bool {
        let now = self.config.clock.instant();
        let mut searches = self.searches.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, since) = searches.unwrap_or((SEARCHES, now));
        let refilled = now.saturating_duration_since(since).as_secs_f64() * SEARCHES_PER_SECOND;
        let left = (left + refilled).min(SEARCHES);
        let may = left >= 1.0;
        *searches = Some((if may { left - 1.0 } else { left }, now));
        may
    }
}

/// Announces a queue for as long as its workers run.
async fn announce(queues: &watch::Sender<Option<WorkQueue<Key>>>, queue: WorkQueue<Key>) {
    struct Withdraw<'a>(&'a watch::Sender<Option<WorkQueue<Key>>>);
    impl Drop for Withdraw<'_> {
        fn drop(&mut self) {
            self.0.send_replace(None);
        }
    }
    queues.send_replace(Some(queue));
    let _withdraw = Withdraw(queues);
    std::future::pending::<()>().await;
}

struct AttemptToDelete(Arc<GarbageCollector>);

#[async_trait]
impl Controller for AttemptToDelete {
    fn name(&self) -> &'static str {
        "garbage_collector_attempt_to_delete"
    }

    fn sources(&self) -> Vec<Source> {
        let collector = self.0.clone();
        vec![Source::feeder(move |queue| async move { announce(&collector.delete, queue).await })]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        match NodeId::parse(key) {
            Some(id) => self.0.attempt_to_delete(id).await.map(|()| Requeue::Never),
            None => Ok(Requeue::Never),
        }
    }

    fn failed(&self, key: &str, status: &Status) {
        tracing::error!("error syncing item {}: {}", self.0.describe(key), status.message);
    }

    fn workers(&self) -> usize {
        WORKERS
    }
}

struct AttemptToOrphan(Arc<GarbageCollector>);

#[async_trait]
impl Controller for AttemptToOrphan {
    fn name(&self) -> &'static str {
        "garbage_collector_attempt_to_orphan"
    }

    fn sources(&self) -> Vec<Source> {
        let collector = self.0.clone();
        vec![Source::feeder(move |queue| async move { announce(&collector.orphan, queue).await })]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        match NodeId::parse(key) {
            Some(id) => self.0.attempt_to_orphan(id).await.map(|()| Requeue::Never),
            None => Ok(Requeue::Never),
        }
    }

    fn failed(&self, key: &str, status: &Status) {
        tracing::error!("orphanDependents for {} failed with {}", self.0.describe(key), status.message);
    }

    fn workers(&self) -> usize {
        WORKERS
    }
}

/// Keeps the graph. Its queue counts changes and measures their processing; the store's watch holds those that wait.
struct GraphChanges(Arc<GarbageCollector>);

#[async_trait]
impl Controller for GraphChanges {
    fn name(&self) -> &'static str {
        "garbage_collector_graph_changes"
    }

    fn sources(&self) -> Vec<Source> {
        let collector = self.0.clone();
        vec![Source::feeder(move |queue| async move { collector.build(&queue).await })]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        Ok(Requeue::Never)
    }

    fn workers(&self) -> usize {
        0
    }
}

/// How long a store that could not be followed is left alone.
const PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
#[path = "collector_tests.rs"]
mod tests;
