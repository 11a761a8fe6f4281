//! Following the objects that quotas count, to count again when usage may have fallen.
//!
//! Only resources that a quota names are followed: pods, services and claims by their caches, since a change of one may matter;
//! all others by a watch of their keys for deletions. A change in a namespace without a quota for it costs a lookup.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, BoxFuture, FutureExt, abortable};
use futures_util::stream::FuturesUnordered;
use pintle_cache::Change;
use pintle_meta::Value;
use pintle_registry::Store;
use pintle_storage::{Event, WatchItem, WatchRequest, WatchStream};
use tokio::sync::Notify;

use super::index::GroupResource;
use super::usage::is_evaluated;
use super::{QuotaStatus, VERIFY_AFTER};
use crate::catalog::ObjectKeys;
use crate::runtime::{Key, Seen, WorkQueue, follow};

/// How soon a store that could not be watched is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// The definitions of custom resources. They are followed while a quota names a resource that is not served.
fn definitions() -> GroupResource {
    ("apiextensions.k8s.io".into(), "customresourcedefinitions".into())
}

impl QuotaStatus {
    /// Feeds a queue with the keys of quotas that are to be counted again.
    pub(super) async fn feed(self: Arc<Self>, queue: WorkQueue<Key>) {
        let changed = Arc::new(Notify::new());
        let see = |seen: Seen<'_>| {
            self.see_quota(&seen, &queue);
            changed.notify_one();
        };
        let mut quotas = std::pin::pin!(follow(&self.quotas, &self.usage.clock, see));
        let mut followers = Followers::default();
        loop {
            tokio::select! {
                () = &mut quotas => return,
                () = changed.notified() => self.follow_named(&mut followers, &queue, &changed).await,
                Some(_) = followers.running.next() => {}
            }
        }
    }

    fn see_quota(&self, seen: &Seen<'_>, queue: &WorkQueue<Key>) {
        let now = self.usage.clock.instant();
        let read = |entry| self.quotas.object(entry).ok();
        match seen {
            Seen::All(snapshot) => {
                self.index().clear();
                for entry in snapshot.objects.iter() {
                    if let Some(quota) = read(entry) {
                        self.index().set(&self.usage.evaluators, &quota, entry.revision(), now);
                        if !self.is_missing_usage(&quota) {
                            queue.add(entry.key().into());
                        }
                    }
                }
            }
            Seen::Change(change) if change.deleted => self.index().remove(change.entry.key()),
            Seen::Change(change) => {
                let Some(quota) = read(&change.entry) else { return };
                let key = Key::from(change.entry.key());
                self.index().set(&self.usage.evaluators, &quota, change.entry.revision(), now);
                let old = change.previous.as_ref().and_then(|entry| read(entry));
                let hard = |quota: &Value| quota.at(&["spec", "hard"]).cloned();
                if old.is_none_or(|old| hard(&old) != hard(&quota)) && !self.is_missing_usage(&quota) {
                    queue.add(key.clone());
                }
                // Requests may have been charged whose objects were not stored.
                queue.add_after(key, VERIFY_AFTER);
            }
        }
    }

    /// Begins to follow resources that quotas name, and ends following those that none does any more.
    async fn follow_named(
        self: &Arc<Self>,
        followers: &mut Followers,
        queue: &WorkQueue<Key>,
        changed: &Arc<Notify>,
    ) {
        let mut named = self.index().resources();
        let mut is_unknown = false;
        for resource in &named {
            if followers.handles.contains_key(resource) {
                continue;
            }
            let (status, queue, of) = (self.clone(), queue.clone(), resource.clone());
            if let Some(store) = self.usage.stores.get(resource).cloned() {
                let follow = async move { status.follow_objects(&store, &of, &queue).await };
                followers.start(resource.clone(), follow.boxed());
            } else if is_evaluated(resource) {
                // It is not served.
            } else if let Some(keys) = self.usage.keys_of(resource).await {
                let follow = async move { status.follow_deletions(&keys, &of, &queue).await };
                followers.start(resource.clone(), follow.boxed());
            } else {
                is_unknown |= resource.0.contains('.');
            }
        }
        if is_unknown && let Some(keys) = self.usage.keys_of_any(&definitions()).await {
            named.insert(definitions());
            if !followers.handles.contains_key(&definitions()) {
                let (status, changed) = (self.clone(), changed.clone());
                let follow = async move { status.follow_definitions(&keys, &changed).await };
                followers.start(definitions(), follow.boxed());
            }
        }
        followers.keep(|resource| named.contains(resource));
    }

    /// Follows the cache of a resource whose objects may free usage by a change.
    async fn follow_objects(&self, store: &Store, resource: &GroupResource, queue: &WorkQueue<Key>) {
        let see = |seen: Seen<'_>| match seen {
            Seen::All(_) => self.index().all_naming(resource).into_iter().for_each(|key| queue.add(key)),
            Seen::Change(change) => {
                let Some((namespace, _)) = change.entry.key().split_once('/') else { return };
                if self.index().concerns(namespace, resource) && self.may_free(store, resource, change) {
                    self.replenish(namespace, resource, queue);
                }
            }
        };
        follow(store, &self.usage.clock, see).await;
    }

    fn may_free(&self, store: &Store, resource: &GroupResource, change: &Change) -> bool {
        let Some(previous) = change.previous.as_ref() else { return change.deleted };
        if change.deleted {
            return true;
        }
        match (store.object(previous), store.object(&change.entry)) {
            (Ok(old), Ok(new)) => self.usage.evaluators.of(&resource.0, &resource.1).may_free(&old, &new),
            _ => true,
        }
    }

    /// Watches the keys of a resource for deletions.
    async fn follow_deletions(&self, keys: &ObjectKeys, resource: &GroupResource, queue: &WorkQueue<Key>) {
        loop {
            let mut watch = start_watch(keys).await;
            // Deletions before were not seen.
            self.index().all_naming(resource).into_iter().for_each(|key| queue.add(key));
            while let Some(events) = next_changes(&mut watch).await {
                for event in events {
                    if let Event::Delete { key, .. } = event
                        && let Some(key) = key.strip_prefix(&*keys.prefix)
                        && let Some(length) = key.iter().position(|byte| *byte == b'/')
                        && let Ok(namespace) = std::str::from_utf8(&key[..length])
                    {
                        self.replenish(namespace, resource, queue);
                    }
                }
            }
            self.usage.clock.sleep(PAUSE).await;
        }
    }

    /// Watches definitions, of which one may serve what a quota names.
    async fn follow_definitions(&self, keys: &ObjectKeys, changed: &Notify) {
        loop {
            let mut watch = start_watch(keys).await;
            changed.notify_one();
            while next_changes(&mut watch).await.is_some() {
                changed.notify_one();
            }
            self.usage.clock.sleep(PAUSE).await;
        }
    }

    fn replenish(&self, namespace: &str, resource: &GroupResource, queue: &WorkQueue<Key>) {
        let quotas = self.index.lock().unwrap_or_else(PoisonError::into_inner).naming(namespace, resource);
        quotas.into_iter().for_each(|key| queue.add(key));
    }
}

async fn start_watch(keys: &ObjectKeys) -> Option<WatchStream> {
    let from = keys.backend.current_revision().await.ok()?.next();
    let request = WatchRequest { prefix: keys.prefix.clone(), from, ..WatchRequest::default() };
    keys.backend.watch(request).await.ok()
}

/// Waits for changes; `None` when the watch has ended.
async fn next_changes(watch: &mut Option<WatchStream>) -> Option<Vec<Event>> {
    let watch = watch.as_mut()?;
    loop {
        match watch.next().await {
            Some(Ok(WatchItem::Changes { events, .. })) => return Some(events),
            Some(Ok(WatchItem::Progress(_))) => {}
            Some(Err(_)) | None => return None,
        }
    }
}

/// The futures that follow resources, each until it is aborted.
#[derive(Default)]
struct Followers {
    running: FuturesUnordered<BoxFuture<'static, ()>>,
    handles: HashMap<GroupResource, AbortHandle>,
}

impl Followers {
    fn start(&mut self, resource: GroupResource, follow: BoxFuture<'static, ()>) {
        let (follow, handle) = abortable(follow);
        self.running.push(follow.map(drop).boxed());
        self.handles.insert(resource, handle);
    }

    fn keep(&mut self, is_named: impl Fn(&GroupResource) -> bool) {
        self.handles.retain(|resource, handle| {
            let keep = is_named(resource);
            if !keep {
                handle.abort();
            }
            keep
        });
    }
}
