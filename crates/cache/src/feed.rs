//! The one watch of the store, handed out to resources by the prefix of their keys.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use pintle_runtime::{Clock, Signal, Spawner, Tasks};
use pintle_storage::{Backend, Event, Revision, WatchItem, WatchRequest};
use tokio::sync::watch;

use crate::Error;
use crate::compaction::Compaction;
use crate::entry::Kind;
use crate::history::Limits;
use crate::resource::Resource;

/// How long to wait before the watch is tried again.
const RETRY: Duration = Duration::from_millis(200);

/// A revision this far ahead is not waited for: no store writes so much in a few seconds.
const FAR: u64 = 10_000_000;

/// Follows the store for as long as it lives.
#[derive(Debug)]
pub struct Feed {
    source: Arc<Source>,
    resources: Resources,
    limits: Limits,
    /// Set when the feed is dropped: its task ends.
    ended: Signal,
    /// The tasks of a feed that belongs to no control plane.
    own_tasks: Option<Tasks>,
}

type Resources = Arc<RwLock<BTreeMap<Bytes, Slot>>>;

/// The caches that receive the changes under a prefix.
#[derive(Debug)]
enum Slot {
    /// A cache that lives as long as the feed.
    Kept(Arc<Resource>),
    /// Caches that live as long as they are in use.
    Used(Vec<Weak<Resource>>),
}

impl Slot {
    fn each(&self, mut tell: impl FnMut(&Resource)) {
        match self {
            Slot::Kept(resource) => tell(resource),
            Slot::Used(resources) => {
                resources.iter().filter_map(Weak::upgrade).for_each(|resource| tell(&resource));
            }
        }
    }

    fn feed(&self, events: Vec<Event>) {
        match self {
            Slot::Kept(resource) => resource.feed(events),
            Slot::Used(resources) => {
                let mut users = resources.iter().filter_map(Weak::upgrade).peekable();
                while let Some(resource) = users.next() {
                    if users.peek().is_none() {
                        return resource.feed(events);
                    }
                    resource.feed(events.clone());
                }
            }
        }
    }
}

/// The store, and how far it was followed.
pub(crate) struct Source {
    pub(crate) store: Arc<dyn Backend>,
    pub(crate) compaction: Compaction,
    /// Starts the tasks that load a resource.
    pub(crate) spawner: Spawner,
    seen: watch::Sender<u64>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Source(seen {})", self.seen())
    }
}

impl Source {
    /// Everything up to this revision has been handed out.
    pub(crate) fn seen(&self) -> u64 {
        *self.seen.borrow()
    }

    pub(crate) async fn wait_for(&self, revision: u64, most: Duration) -> Result<(), Error> {
        let mut seen = self.seen.subscribe();
        if *seen.borrow() >= revision {
            return Ok(());
        }
        // No store gets that far in the time there is.
        if revision > self.seen().saturating_add(FAR)
            && let Ok(Revision(current)) = self.store.current_revision().await
            && revision > current.saturating_add(FAR)
        {
            return Err(Error::TooLarge { requested: revision, current: self.seen().max(current) });
        }
        let reached = async {
            // A store whose progress cannot be asked for reports it in time, or with the next change.
            let _ = self.store.request_progress().await;
            seen.wait_for(|seen| *seen >= revision).await.is_ok()
        };
        match tokio::time::timeout(most, reached).await {
            Ok(true) => Ok(()),
            _ => Err(Error::TooLarge { requested: revision, current: self.seen() }),
        }
    }
}

impl Feed {
    /// Begins to follow everything under a prefix, with tasks of its own. Returns once the watch stands.
    pub async fn start(store: Arc<dyn Backend>, prefix: Bytes, limits: Limits) -> Result<Feed, Error> {
        let tasks = Tasks::new();
        let mut feed = Feed::start_in(store, prefix, limits, tasks.spawner(), Clock::system()).await?;
        feed.own_tasks = Some(tasks);
        Ok(feed)
    }

    /// Begins to follow everything under a prefix, with tasks of the control plane that the spawner is of.
    pub async fn start_in(
        store: Arc<dyn Backend>,
        prefix: Bytes,
        limits: Limits,
        spawner: Spawner,
        clock: Clock,
    ) -> Result<Feed, Error> {
        let Revision(current) = store.current_revision().await?;
        let (seen, _) = watch::channel(current);
        let (compaction, ended) = (Compaction::new(clock), Signal::new("FeedEnded"));
        let source = Arc::new(Source { store, compaction, spawner: spawner.clone(), seen });
        let resources = Resources::default();
        let follower = Follower { source: source.clone(), resources: resources.clone(), prefix };
        let until = ended.clone();
        spawner.spawn_until_stop(async move {
            tokio::select! {
                () = follower.run() => {}
                () = until.wait() => {}
            }
        });
        Ok(Feed { source, resources, limits, ended, own_tasks: None })
    }

    /// The cache of the objects under a prefix, which ends with a slash. Asking again gives the same one.
    pub fn resource(&self, prefix: Bytes, kind: impl FnOnce() -> Arc<dyn Kind>) -> Arc<Resource> {
        let mut resources = self.resources.write().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Resource::new(prefix.clone(), kind(), self.source.clone(), self.limits));
        if let Some(Slot::Kept(known)) = resources.get(&prefix) {
            return known.clone();
        }
        let resource = new();
        resources.insert(prefix, Slot::Kept(resource.clone()));
        resource
    }

    /// Returns a cache of the objects under a prefix that is followed only as long as it is in use. There may be several,
    /// which see the same values differently.
    pub fn separate(&self, prefix: Bytes, kind: Arc<dyn Kind>) -> Arc<Resource> {
        let mut resources = self.resources.write().unwrap_or_else(PoisonError::into_inner);
        let resource = Arc::new(Resource::new(prefix.clone(), kind, self.source.clone(), self.limits));
        match resources.entry(prefix).or_insert_with(|| Slot::Used(Vec::new())) {
            // No caller asks for both kinds under one prefix.
            Slot::Kept(_) => {}
            Slot::Used(users) => {
                users.retain(|user| user.strong_count() > 0);
                users.push(Arc::downgrade(&resource));
            }
        }
        resource
    }

    /// The caches under a prefix that are loaded.
    pub fn in_use(&self, prefix: &Bytes) -> Vec<Arc<Resource>> {
        let resources = self.resources.read().unwrap_or_else(PoisonError::into_inner);
        let mut used: Vec<Arc<Resource>> = match resources.get(prefix) {
            Some(Slot::Kept(resource)) => vec![resource.clone()],
            Some(Slot::Used(users)) => users.iter().filter_map(Weak::upgrade).collect(),
            None => Vec::new(),
        };
        used.retain(|resource| resource.is_ready());
        used
    }

    /// Removes the prefix if none of its caches is in use.
    pub fn remove_unused(&self, prefix: &Bytes) {
        let mut resources = self.resources.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(Slot::Used(users)) = resources.get_mut(prefix) {
            users.retain(|user| user.strong_count() > 0);
            if users.is_empty() {
                resources.remove(prefix);
            }
        }
    }

    /// Everything up to this revision is in the caches.
    pub fn seen(&self) -> u64 {
        self.source.seen()
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.ended.set();
    }
}

struct Follower {
    source: Arc<Source>,
    resources: Resources,
    prefix: Bytes,
}

impl Follower {
    async fn run(self) {
        let mut lost_at = 0;
        loop {
            let from = Revision(self.source.seen()).next();
            let request = WatchRequest { prefix: self.prefix.clone(), from, prev: false, progress: true };
            let ended = match self.source.store.watch(request).await {
                Ok(mut stream) => loop {
                    match stream.next().await {
                        Some(Ok(item)) => self.take(item),
                        Some(Err(error)) => break error,
                        None => break pintle_storage::Error::Unavailable("the watch ended".into()),
                    }
                },
                Err(error) => error,
            };
            match ended {
                pintle_storage::Error::Closed => return,
                pintle_storage::Error::Compacted { compacted, .. } => {
                    tracing::warn!(%compacted, "the watch of the store is too late; caches are loaded anew");
                    self.start_over(compacted);
                    // Twice at the same place is not a matter of lateness.
                    if std::mem::replace(&mut lost_at, self.source.seen()) == lost_at {
                        tokio::time::sleep(RETRY).await;
                    }
                }
                // The next reader gets the reason. The unreadable value may be gone by then, so the feed does not wait for it.
                pintle_storage::Error::Unreadable(reason) => {
                    tracing::warn!(reason, "a change cannot be read; caches are loaded anew");
                    if let Ok(current) = self.source.store.current_revision().await {
                        self.start_over(current);
                    }
                    tokio::time::sleep(RETRY).await;
                }
                error => {
                    tracing::warn!(%error, "the watch of the store ended; it is started again");
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    fn take(&self, item: WatchItem) {
        // Held to the end: a resource that is added has missed nothing after the revision that it finds here.
        let resources = self.resources.read().unwrap_or_else(PoisonError::into_inner);
        let revision = match item {
            WatchItem::Progress(revision) => revision,
            WatchItem::Changes { revision, events } => {
                hand_out(&resources, events);
                revision
            }
        };
        // After the changes are in the caches, so that a reader that waits for the revision finds them.
        self.source.seen.send_if_modified(|seen| {
            let later = revision.0 > *seen;
            *seen = revision.0.max(*seen);
            later
        });
    }

    /// Changes up to a revision are lost for good: every cache forgets what it has.
    fn start_over(&self, until: Revision) {
        let resources = self.resources.read().unwrap_or_else(PoisonError::into_inner);
        resources.values().for_each(|slot| slot.each(Resource::reset));
        self.source.seen.send_modify(|seen| *seen = until.0.max(*seen));
    }
}

fn hand_out(resources: &BTreeMap<Bytes, Slot>, events: Vec<Event>) {
    let owner = |key: &Bytes| {
        let before = resources.range::<Bytes, _>((Bound::Unbounded, Bound::Included(key))).next_back();
        before.filter(|(prefix, _)| key.starts_with(prefix)).map(|(_, slot)| slot)
    };
    // The changes that one transaction made to a resource are applied together.
    let mut owned: Vec<(&Slot, Vec<Event>)> = Vec::with_capacity(1);
    for event in events {
        let Some(slot) = owner(event.key()) else { continue };
        match owned.iter_mut().find(|(known, _)| std::ptr::eq(*known, slot)) {
            Some((_, known)) => known.push(event),
            None => owned.push((slot, vec![event])),
        }
    }
    owned.into_iter().for_each(|(slot, events)| slot.feed(events));
}
