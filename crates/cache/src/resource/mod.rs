//! One resource: its objects now, and the changes that led here.

mod history;
mod load;
mod watch;

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use pintle_storage::{Backend, Event, KeyValue, Revision};

use crate::Error;
use crate::early::EarlyChanges;
use crate::entry::{Entry, Kind};
use crate::feed::Source;
use crate::history::{Change, History, Limits};
use crate::interest::{Topics, Wake};
use crate::map::Map;
use crate::objects::{Objects, Snapshot};

pub use load::StorePage;

/// The cache of one resource. Until [`Resource::ready`] is first called, only the last few changes are kept.
#[derive(Debug)]
pub struct Resource {
    prefix: Bytes,
    kind: Arc<dyn Kind>,
    source: Arc<Source>,
    limits: Limits,
    state: Mutex<State>,
    /// One at a time loads.
    loading: tokio::sync::Mutex<()>,
    /// It is not loaded in the background for a while.
    is_load_paused: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    objects: Objects,
    history: History,
    topics: Topics,
    /// Past snapshots that were listed, most recently requested first: a client that pages through one asks for it again.
    /// None is older than the history, so that they hold no object that it does not hold.
    past: VecDeque<(u64, Objects)>,
    /// The revision that the objects were loaded at.
    loaded: u64,
    /// The revision of the last change, or `loaded`.
    applied: u64,
    /// Counts the times that it was loaded.
    generation: u64,
    /// It was found to differ from the store, so that the past is not taken from it.
    is_inconsistent: bool,
}

#[derive(Debug)]
enum Phase {
    /// Not loaded: no client has read the resource yet.
    Idle(Option<EarlyChanges>),
    /// Changes that came while the objects were being read.
    Loading(Vec<Event>),
    Ready,
}

impl Default for Phase {
    fn default() -> Phase {
        Phase::Idle(None)
    }
}

/// An event of the feed, with its value read.
enum DecodedEvent {
    Put(Arc<Entry>),
    Delete { key: Box<str>, revision: u64 },
}

impl DecodedEvent {
    fn revision(&self) -> u64 {
        match self {
            DecodedEvent::Put(entry) => entry.revision(),
            DecodedEvent::Delete { revision, .. } => *revision,
        }
    }
}

impl Resource {
    pub(crate) fn new(prefix: Bytes, kind: Arc<dyn Kind>, source: Arc<Source>, limits: Limits) -> Resource {
        let phase = Phase::Idle(Some(EarlyChanges::since(source.seen())));
        Resource {
            prefix,
            kind,
            source,
            limits,
            state: Mutex::new(State { phase, ..State::default() }),
            loading: tokio::sync::Mutex::default(),
            is_load_paused: AtomicBool::new(false),
        }
    }

    pub fn kind(&self) -> &Arc<dyn Kind> {
        &self.kind
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn store(&self) -> &Arc<dyn Backend> {
        &self.source.store
    }

    /// A key of the store.
    pub(crate) fn full_key(&self, own: &str) -> Bytes {
        [&self.prefix, own.as_bytes()].concat().into()
    }

    /// Returns the entry of a stored key and value, if the key is of this resource.
    pub(crate) fn stored_entry(&self, kv: &KeyValue) -> Option<Arc<Entry>> {
        self.entry(kv, &Map::default())
    }

    /// The newest revision of the store.
    pub async fn current_revision(&self) -> Result<u64, Error> {
        Ok(self.source.store.current_revision().await?.0)
    }

    /// Bytes of all values, if they are in memory.
    pub fn stored_size(&self) -> Option<u64> {
        self.stored_count_and_size().map(|(_, size)| size)
    }

    /// Returns the number of objects and the bytes of all of them as the store has them, if the resource is loaded.
    pub fn stored_count_and_size(&self) -> Option<(u64, u64)> {
        let objects = self.with_current(|state, _| Ok(state.objects.clone())).ok()?;
        let sizes = objects.map().iter_from("").map(|entry| entry.stored().len() as u64);
        Some(sizes.fold((0, 0), |(count, bytes), size| (count + 1, bytes + size)))
    }

    /// Whether the resource is loaded, which the first request for it causes.
    pub fn is_ready(&self) -> bool {
        matches!(self.state().phase, Phase::Ready)
    }

    /// A stored value of this resource as an entry: the one that is kept, if it is the same.
    pub fn entry_of(&self, kv: &KeyValue) -> Option<Arc<Entry>> {
        let key = self.own_key(&kv.key)?;
        let kept = self.get(key).filter(|entry| entry.revision() == kv.mod_revision.0);
        kept.or_else(|| self.entry(kv, &Map::default()))
    }

    /// An object as it is at a revision not older than this, if the cache has come that far; `None` if it has not.
    pub fn entry_at(&self, key: &str, revision: u64) -> Option<Option<Arc<Entry>>> {
        let read = |state: &mut State, current| {
            Ok((current >= revision).then(|| state.objects.map().get(key).cloned()))
        };
        self.with_current(read).ok().flatten()
    }

    /// Decodes the value at a key. An entry of that revision that is known already is reused, and keeps its bodies.
    fn entry(&self, kv: &KeyValue, known: &Map<Entry>) -> Option<Arc<Entry>> {
        let key = self.own_key(&kv.key)?;
        if let Some(same) = known.get(key).filter(|entry| entry.revision() == kv.mod_revision.0) {
            return Some(same.clone());
        }
        Some(Arc::new(Entry::new(&**self.kind(), key, kv.mod_revision.0, &kv.value)))
    }

    /// The key below the prefix. Keys are paths and thus text; what is not is not ours.
    pub(crate) fn own_key<'k>(&self, key: &'k [u8]) -> Option<&'k str> {
        key.strip_prefix(&*self.prefix).and_then(|key| std::str::from_utf8(key).ok())
    }

    /// Takes in the feed's changes of one revision.
    pub(crate) fn feed(&self, events: Vec<Event>) {
        if let Some(reason) = events.iter().find_map(unreadable) {
            // Perhaps the next reader can read it, or its writer has replaced it by then.
            tracing::warn!(reason, "a change cannot be decrypted; its resource is loaded anew");
            return self.reset();
        }
        match &mut self.state().phase {
            Phase::Idle(early) => return early.iter_mut().for_each(|early| early.keep(&events)),
            Phase::Loading(kept) => return kept.extend(events),
            Phase::Ready => {}
        }
        // Values are read without the lock. Only the feed itself ends the phase.
        let decoded: Vec<DecodedEvent> = events.into_iter().filter_map(|event| self.decode(event)).collect();
        let mut wake = Wake::default();
        let mut state = self.state();
        decoded.into_iter().for_each(|decoded| self.apply(&mut state, decoded, &mut wake));
        drop(state);
        wake.wake();
    }

    fn decode(&self, event: Event) -> Option<DecodedEvent> {
        let key = self.own_key(event.key())?;
        let revision = event.revision().0;
        Some(match &event {
            Event::Put { kv, .. } => {
                DecodedEvent::Put(Arc::new(Entry::new(&**self.kind(), key, revision, &kv.value)))
            }
            Event::Delete { .. } => DecodedEvent::Delete { key: key.into(), revision },
            Event::Unreadable(_) => return None,
        })
    }

    fn apply(&self, state: &mut State, decoded: DecodedEvent, wake: &mut Wake) {
        let revision = decoded.revision();
        if revision <= state.loaded {
            return;
        }
        let change = match decoded {
            DecodedEvent::Put(entry) => {
                let previous = state.objects.insert(entry.clone());
                Change::new(revision, entry, previous, false)
            }
            DecodedEvent::Delete { key, .. } => {
                let Some(previous) = state.objects.remove(&key) else { return };
                let last = Arc::new(previous.at(revision));
                Change::new(revision, last, Some(previous), true)
            }
        };
        if let Some(previous) = &change.previous {
            previous.forget_all();
        }
        state.applied = revision;
        let (change, topics) = (Arc::new(change), &mut state.topics);
        let dropped = |number, gone: &Change| topics.dropped(number, gone);
        let number = state.history.push(change.clone(), &self.limits, dropped);
        state.topics.added(number, &change, wake);
        let since = state.history.since();
        state.past.retain(|(known, _)| *known >= since);
    }

    /// Drops all objects and changes, because the feed has missed something. Cursors expire; the next request loads again.
    pub(crate) fn reset(&self) {
        let mut state = self.state();
        let (end, generation) = (state.history.end(), state.generation + 1);
        let history = History::starting_at(u64::MAX, end);
        let old = std::mem::replace(&mut *state, State { history, generation, ..State::default() });
        drop(state);
        // With the topics go their subscriptions, which wakes the cursors.
        drop(old);
    }

    /// The objects now, and exactly their revision.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        self.with_current(|state, revision| Ok(Snapshot::new(state.objects.clone(), revision)))
    }

    /// The objects at a revision that is not older than the given one, loading and waiting as needed; at most so long.
    pub async fn snapshot_since(&self, revision: u64, most: Duration) -> Result<Snapshot, Error> {
        self.since(revision, most, |state, revision| Snapshot::new(state.objects.clone(), revision)).await
    }

    /// An object as it is at a revision that is not older than the given one; waits as [`Resource::snapshot_since`] does.
    pub async fn entry_since(
        &self,
        key: &str,
        revision: u64,
        most: Duration,
    ) -> Result<Option<Arc<Entry>>, Error> {
        self.since(revision, most, |state, _| state.objects.map().get(key).cloned()).await
    }

    async fn since<T>(
        &self,
        revision: u64,
        most: Duration,
        read: impl Fn(&State, u64) -> T,
    ) -> Result<T, Error> {
        loop {
            self.ready().await?;
            self.wait_for(revision, most).await?;
            match self.with_current(|state, revision| Ok(read(state, revision))) {
                // The cache had to start over meanwhile.
                Err(Error::NotReady) => {}
                other => return other,
            }
        }
    }

    /// The objects at a revision that is not older than the store's when this was called.
    pub async fn snapshot_now(&self, most: Duration) -> Result<Snapshot, Error> {
        let Revision(current) = self.source.store.current_revision().await?;
        self.snapshot_since(current, most).await
    }

    /// Calls `of` with the state and its revision. Changes that the feed had seen before the lock was taken are in the map,
    /// and later ones have raised `applied`; so the greater of both is the map's revision.
    fn with_current<T>(&self, of: impl FnOnce(&mut State, u64) -> Result<T, Error>) -> Result<T, Error> {
        let seen = self.source.seen();
        let mut state = self.state();
        if !matches!(state.phase, Phase::Ready) {
            return Err(Error::NotReady);
        }
        let current = seen.max(state.applied);
        of(&mut state, current)
    }

    pub(crate) fn generation(&self) -> u64 {
        self.state().generation
    }

    /// Records whether the objects loaded as this generation were found to differ from the store.
    pub(crate) fn mark_inconsistent(&self, is_inconsistent: bool, generation: u64) {
        let mut state = self.state();
        if state.generation == generation {
            state.is_inconsistent = is_inconsistent;
            if is_inconsistent {
                state.past.clear();
            }
        }
    }

    /// Returns the cache's current entry at a key. `None` does not mean that there is none: the resource may not be loaded.
    pub fn get(&self, key: &str) -> Option<Arc<Entry>> {
        self.state().objects.map().get(key).cloned()
    }

    /// Waits until everything up to a revision is here; at most so long.
    pub async fn wait_for(&self, revision: u64, most: Duration) -> Result<(), Error> {
        if self.source.seen().max(self.loaded_revision()) >= revision {
            return Ok(());
        }
        self.source.wait_for(revision, most).await
    }

    /// Waits until everything is here that the store had when this was called.
    pub async fn wait_for_current(&self, most: Duration) -> Result<u64, Error> {
        let Revision(current) = self.source.store.current_revision().await?;
        self.wait_for(current, most).await?;
        Ok(current)
    }

    pub(crate) fn loaded_revision(&self) -> u64 {
        self.state().loaded
    }
}

/// Returns why the value of a change cannot be read, if so.
fn unreadable(event: &Event) -> Option<&str> {
    match event {
        Event::Unreadable(value) => Some(&value.reason),
        Event::Put { .. } | Event::Delete { .. } => None,
    }
}
