//! Keeps the graph: reads all objects of a store, and follows its writes from there.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::join_all;
use pintle_codec::ownership::Ownership;
use pintle_meta::gvk::GroupVersionKind;
use pintle_storage::{Error, Event, RangeRequest, Revision, WatchItem, WatchRequest};

use super::graph::{Answers, FOREGROUND, Graph, ORPHAN};
use super::resources::ResourceId;
use super::{FollowedStore, GarbageCollector, PAUSE};
use crate::runtime::{Key, WorkQueue};

/// Objects that are read at once.
const PAGE: usize = 500;

/// Objects that are taken in before the task yields: each takes a microsecond or two.
const BATCH: usize = 128;

/// How long after a change of a definition the catalog is asked, since changes come together.
const SETTLE: Duration = Duration::from_millis(50);

/// The end of the keys of definitions of custom resources below the root.
const DEFINITIONS: &[u8] = b"apiextensions.k8s.io/customresourcedefinitions/";

impl GarbageCollector {
    /// Follows all stores for as long as the workers run.
    pub(super) async fn build(&self, queue: &WorkQueue<Key>) {
        for queues in [&self.delete, &self.orphan] {
            // The sender is this collector's.
            let _ = queues.subscribe().wait_for(Option::is_some).await;
        }
        // An earlier run may have ended long ago.
        *self.graph() = Graph::default();
        let stores = self.config.stores.iter();
        join_all(stores.map(|store| async move {
            let mut is_loading = false;
            loop {
                match self.follow(store, queue, &mut is_loading).await {
                    Error::Closed => return,
                    error => {
                        tracing::warn!(%error, "failed to sync resource monitors");
                        self.config.metrics.sync_errors.inc();
                    }
                }
                self.config.clock.sleep(self.config.random.jitter(PAUSE, 0.5)).await;
            }
        }))
        .await;
    }

    /// Loads the objects of a store and follows its writes, until that fails.
    async fn follow(&self, store: &FollowedStore, queue: &WorkQueue<Key>, is_loading: &mut bool) -> Error {
        match self.try_follow(store, queue, is_loading).await {
            Ok(never) => match never {},
            Err(error) => error,
        }
    }

    async fn try_follow(
        &self,
        store: &FollowedStore,
        queue: &WorkQueue<Key>,
        is_loading: &mut bool,
    ) -> Result<std::convert::Infallible, Error> {
        // Until all objects are known, also after a failure, nothing may be concluded from what is not in the graph.
        if !std::mem::replace(is_loading, true) {
            self.graph().loading += 1;
        }
        let current = store.backend.current_revision().await?;
        let request =
            WatchRequest { prefix: store.root.clone(), from: current.next(), prev: false, progress: false };
        let mut changes = store.backend.watch(request).await?;
        self.refresh().await;
        self.graph().resources.unload(&store.backend);
        self.load(store, Some(current)).await?;
        *is_loading = false;
        self.change(|graph| {
            graph.loading -= 1;
            if graph.loading == 0 {
                graph.ask_all(None);
            }
        });
        tracing::debug!(nodes = self.graph().len(), "all resource monitors have synced");

        let clock = &self.config.clock;
        let mut refreshed = self.refreshed.subscribe();
        let mut refresh_at: Option<Instant> = None;
        let mut since_yield = 0;
        loop {
            let settled = async {
                match refresh_at {
                    Some(at) => clock.sleep(at.saturating_duration_since(clock.instant())).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = settled => {
                    refresh_at = None;
                    self.refresh().await;
                    self.load(store, None).await?;
                }
                Ok(()) = refreshed.changed() => self.load(store, None).await?,
                item = changes.next() => {
                    let item = item.unwrap_or_else(|| Err(Error::Unavailable("the watch ended".into())))?;
                    let WatchItem::Changes { revision, events } = item else { continue };
                    for event in events {
                        let key = event.key();
                        if key.get(store.root.len()..).is_some_and(|key| key.starts_with(DEFINITIONS)) {
                            refresh_at.get_or_insert_with(|| clock.instant() + SETTLE);
                        }
                        self.take_in(store, queue, revision, event).await;
                        since_yield += 1;
                    }
                    if since_yield >= BATCH {
                        since_yield = 0;
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
    }

    /// Takes in which resources are served now.
    async fn refresh(&self) {
        let snapshot = self.config.catalog.snapshot().await;
        for (version, reason) in &snapshot.failures {
            tracing::debug!(version, reason, "failed to discover some groups");
        }
        self.graph().resources.update(&snapshot.resources);
        let unknown = self.graph().resources.unknown_kinds();
        for (id, kind) in unknown {
            let Some((resource, _)) = self.config.catalog.resource_of(&kind).await else { continue };
            self.change(|graph| {
                if let Some(found) = graph.resources.of_resource(&resource) {
                    graph.resources.relearn(&kind, found);
                    graph.move_references(id, found);
                }
            });
        }
        self.refreshed.send_modify(|count| *count += 1);
    }

    /// Reads all objects of resources of a store that were not read before.
    async fn load(&self, store: &FollowedStore, at: Option<Revision>) -> Result<(), Error> {
        let resources = self.graph().resources.unloaded(&store.backend);
        if resources.is_empty() {
            return Ok(());
        }
        self.graph().begin_load(&resources);
        let mut at = at;
        for id in &resources {
            match self.scan(*id, &mut at).await {
                // The others are not to suffer. What is written from now on is seen.
                Err(error @ (Error::Unreadable(_) | Error::Undecryptable(_))) => {
                    tracing::error!(%error, "failed to sync resource monitors: some objects cannot be read");
                    self.config.metrics.sync_errors.inc();
                }
                scanned => scanned?,
            }
        }
        let revision = at.map_or(0, |at| at.0);
        self.change(|graph| {
            graph.end_load(&resources, revision);
            graph.ask_all(Some(&resources));
        });
        Ok(())
    }

    /// Reads the objects of a resource at a revision; at the current one if it is not known yet.
    async fn scan(&self, id: ResourceId, at: &mut Option<Revision>) -> Result<(), Error> {
        let stored = self.graph().resources.get(id).and_then(|resource| resource.stored.clone());
        let Some(keys) = stored else { return Ok(()) };
        let mut from = None;
        loop {
            let request = RangeRequest { prefix: keys.prefix.clone(), from, limit: PAGE, at: *at };
            let range = keys.backend.range(request).await?;
            *at = at.or(Some(range.revision));
            for some in range.kvs.chunks(BATCH) {
                for kv in some {
                    if let Ok(key) = std::str::from_utf8(&kv.key[keys.prefix.len()..]) {
                        self.put(id, key, &kv.value).await;
                    }
                }
                tokio::task::yield_now().await;
            }
            match range.kvs.last().filter(|_| range.remaining > 0) {
                None => return Ok(()),
                Some(last) => from = Some([&last.key, &b"\0"[..]].concat().into()),
            }
        }
    }

    async fn take_in(&self, store: &FollowedStore, queue: &WorkQueue<Key>, revision: Revision, event: Event) {
        let found = self.graph().resources.of_key(&store.backend, event.key(), revision.0);
        let Some((id, key)) = found.map(|(id, key)| (id, key.to_owned())) else { return };
        match event {
            Event::Put { kv, .. } => {
                if self.is_of_interest(id, &key, &kv.value) {
                    self.counted(queue, revision, self.put(id, &key, &kv.value)).await;
                }
            }
            // As if it had not been read yet; what is known of the object before stays.
            Event::Unreadable(value) => {
                let reason = &value.reason;
                tracing::error!(reason, key, "an object cannot be decrypted; its owners are not followed");
                self.config.metrics.sync_errors.inc();
            }
            Event::Delete { .. } => {
                if self.graph().knows(id, &key) {
                    let delete = async { self.change(|graph| graph.delete(id, &key)) };
                    self.counted(queue, revision, delete).await;
                }
            }
        }
    }

    /// Counts and measures a change as an item of the queue.
    async fn counted(&self, queue: &WorkQueue<Key>, revision: Revision, change: impl Future<Output = ()>) {
        queue.add(revision.to_string().into());
        let key = queue.next().await;
        change.await;
        if let Some(key) = key {
            queue.done(&key);
        }
    }

    /// Returns whether an object has, or had, a place in the graph.
    fn is_of_interest(&self, id: ResourceId, key: &str, value: &[u8]) -> bool {
        let Ok(object) = Ownership::scan(value) else { return false };
        let waits = || object.has_finalizer(FOREGROUND) || object.has_finalizer(ORPHAN);
        !object.owners.is_empty() || (object.is_being_deleted && waits()) || self.graph().knows(id, key)
    }

    /// Takes in an object.
    async fn put(&self, id: ResourceId, key: &str, value: &[u8]) {
        let object = match Ownership::scan(value) {
            Ok(object) => object,
            Err(error) => return tracing::debug!(%error, key, "an object cannot be read"),
        };
        let mut answers = Answers::new();
        while let Err(unknown) = self.change(|graph| graph.put(id, key, &object, &answers)) {
            for kind in unknown {
                let resource = self.resource_of_kind(&kind).await;
                answers.insert(kind, resource);
            }
        }
    }

    async fn resource_of_kind(
        &self,
        kind: &GroupVersionKind,
    ) -> Option<pintle_meta::gvk::GroupVersionResource> {
        self.config.catalog.resource_of(kind).await.map(|(resource, _)| resource)
    }
}
