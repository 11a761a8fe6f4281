//! One resource: its objects now, and the changes that led here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use pintle_storage::{Backend, Event, KeyValue, RangeRequest, Revision};

use crate::Error;
use crate::cursor::{Cursor, Place};
use crate::early::Early;
use crate::entry::{Entry, Kind};
use crate::feed::Source;
use crate::history::{Change, History, Limits};
use crate::interest::{Interest, Numbers, Pending, Topics, Wake};
use crate::map::Map;
use crate::objects::{Objects, Snapshot};

/// How many objects are read at once while loading.
const PAGE: usize = 1000;

/// How many of them are looked into before others get their turn: each takes tens of microseconds.
const AT_ONCE: usize = 32;

/// Maximum number of past snapshots kept for clients that page through them.
const PAST: usize = 4;

/// So few changes are undone again for each page.
const NEAR: usize = 32;

/// How long a cache that begins in the past waits for the feed to tell of what is stored by now.
const CATCH_UP: Duration = Duration::from_millis(500);

/// How often loading is tried when the store moves on too fast.
const TRIES: usize = 3;

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
    doubted: bool,
}

#[derive(Debug)]
enum Phase {
    /// Not loaded: no client has read the resource yet.
    Idle(Option<Early>),
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
enum News {
    Put(Arc<Entry>),
    Delete { key: Box<str>, revision: u64 },
}

impl News {
    fn revision(&self) -> u64 {
        match self {
            News::Put(entry) => entry.revision(),
            News::Delete { revision, .. } => *revision,
        }
    }
}

/// Ends a loading that was not finished.
struct Undo<'a>(&'a Resource);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if matches!(state.phase, Phase::Loading(_)) {
            state.phase = Phase::Idle(None);
        }
    }
}

/// Some objects at a revision that the store was asked for.
#[derive(Clone, Debug)]
pub struct StorePage {
    pub entries: Vec<Arc<Entry>>,
    /// How many objects of the prefix follow the last one. More than zero only when the limit cut the page.
    pub remaining: u64,
}

impl StorePage {
    /// Whether there is something after this page.
    pub fn has_more(&self) -> bool {
        self.remaining > 0
    }
}

impl Resource {
    pub(crate) fn new(prefix: Bytes, kind: Arc<dyn Kind>, source: Arc<Source>, limits: Limits) -> Resource {
        let phase = Phase::Idle(Some(Early::since(source.seen())));
        Resource {
            prefix,
            kind,
            source,
            limits,
            state: Mutex::new(State { phase, ..State::default() }),
            loading: tokio::sync::Mutex::default(),
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
        self.with_current(|state, _| Ok(state.objects.clone()))
            .ok()
            .map(|objects| objects.map().iter_from("").map(|entry| entry.stored().len() as u64).sum())
    }

    /// Whether the resource is loaded, which the first request for it causes.
    pub fn is_ready(&self) -> bool {
        matches!(self.state().phase, Phase::Ready)
    }

    /// Loads the resource in the background if it is not loaded: for a caller that was answered without it and will ask again.
    pub fn load_soon(self: &Arc<Resource>) {
        if self.is_ready() {
            return;
        }
        let resource = self.clone();
        self.source.spawner.spawn_until_stop(async move {
            // One loads; another that is on its way already is enough.
            if resource.loading.try_lock().is_ok()
                && let Err(error) = resource.ready().await
            {
                tracing::debug!(%error, "a resource is not loaded yet");
            }
        });
    }

    /// Loads the resource if it is not loaded.
    pub async fn ready(&self) -> Result<(), Error> {
        if self.is_ready() {
            return Ok(());
        }
        let _one = self.loading.lock().await;
        let mut tries = 0;
        while !self.is_ready() {
            tries += 1;
            match self.try_load().await {
                // The feed had to start over meanwhile, or pages of one revision cannot be read to their end.
                Err(Error::NotReady | Error::Storage(pintle_storage::Error::Compacted { .. }))
                    if tries < TRIES => {}
                other => return other,
            }
        }
        Ok(())
    }

    async fn try_load(&self) -> Result<(), Error> {
        // From here on the feed's changes are kept aside; those that the read below has seen too are dropped by revision.
        let before = std::mem::replace(&mut self.state().phase, Phase::Loading(Vec::new()));
        let early = if let Phase::Idle(early) = before { early } else { None };
        // A caller that goes away in between must not leave changes piling up. Dropped after `state`, whose lock it takes.
        let _undo = Undo(self);
        let since = early.as_ref().map(|early| early.since).filter(|since| *since > 0);
        let loaded = match since {
            // The watches that follow see the changes since then, as if the cache had been loaded at that revision.
            Some(since) => match self.read_since(since).await {
                // The feed may reach that revision late or never, so the cache begins at the current one.
                Err(Error::TooLarge { .. }) => self.read_all(None, &Map::default()).await,
                other => other,
            },
            None => self.read_all(None, &Map::default()).await,
        };
        let mut state = self.state();
        let Phase::Loading(kept) = std::mem::take(&mut state.phase) else {
            return Err(Error::NotReady);
        };
        let (entries, revision) = loaded?;
        let (first, generation) = (state.history.end(), state.generation + 1);
        *state = State {
            phase: Phase::Ready,
            objects: Objects::new(entries, self.kind.indexed_fields()),
            history: History::starting_at(revision, first),
            loaded: revision,
            applied: revision,
            generation,
            ..State::default()
        };
        // There are no cursors yet, so there is nothing to wake.
        let mut wake = Wake::default();
        let early = early.map(|early| early.events).unwrap_or_default();
        for news in early.into_iter().chain(kept).filter_map(|event| self.news(event)) {
            self.apply(&mut state, news, &mut wake);
        }
        Ok(())
    }

    /// Reads all objects at a past revision, and waits until the feed has delivered everything that is stored by now.
    async fn read_since(&self, since: u64) -> Result<(Vec<Arc<Entry>>, u64), Error> {
        let Revision(current) = self.source.store.current_revision().await?;
        let loaded = self.read_all(Some(Revision(since)), &Map::default()).await?;
        self.source.wait_for(current, CATCH_UP).await?;
        Ok(loaded)
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

    /// The objects as they were at a revision, out of the store: for when the changes since are not kept any more.
    ///
    /// Errors: `Storage` with `Compacted` or `FutureRevision`.
    pub async fn snapshot_from_store(&self, revision: u64) -> Result<Snapshot, Error> {
        let known = self.known();
        let (entries, revision) = self.read_all(Some(Revision(revision)), &known).await?;
        Ok(Snapshot::new(Objects::new(entries, self.kind.indexed_fields()), revision))
    }

    /// Returns the entries that a reload need not decode again.
    fn known(&self) -> Map<Entry> {
        let state = self.state();
        if state.doubted { Map::default() } else { state.objects.map().clone() }
    }

    /// Some of the objects as they were at a revision, out of the store: those whose keys start with `prefix`, from the key
    /// `from` on, at most `limit` (0: all). Errors as for [`Resource::snapshot_from_store`].
    pub async fn page_from_store(
        &self,
        revision: u64,
        prefix: &str,
        from: &str,
        limit: usize,
    ) -> Result<StorePage, Error> {
        let known = self.known();
        let from = (from > prefix).then(|| self.full_key(from));
        let prefix = self.full_key(prefix);
        let request = RangeRequest { prefix, from, limit, at: Some(Revision(revision)) };
        let range = self.source.store.range(request).await?;
        let mut entries = Vec::with_capacity(range.kvs.len());
        for some in range.kvs.chunks(AT_ONCE) {
            entries.extend(some.iter().filter_map(|kv| self.entry(kv, &known)));
            tokio::task::yield_now().await;
        }
        Ok(StorePage { entries, remaining: range.remaining })
    }

    /// Everything at a revision (`None`: the newest), in pages.
    async fn read_all(
        &self,
        mut at: Option<Revision>,
        known: &Map<Entry>,
    ) -> Result<(Vec<Arc<Entry>>, u64), Error> {
        let mut entries = Vec::new();
        let mut from = None;
        loop {
            let request = RangeRequest { prefix: self.prefix.clone(), from, limit: PAGE, at };
            let range = self.source.store.range(request).await?;
            let revision = at.unwrap_or(range.revision);
            at = Some(revision);
            for some in range.kvs.chunks(AT_ONCE) {
                entries.extend(some.iter().filter_map(|kv| self.entry(kv, known)));
                tokio::task::yield_now().await;
            }
            match range.kvs.last().filter(|_| range.remaining > 0) {
                None => return Ok((entries, revision.0)),
                Some(last) => {
                    let mut next = last.key.to_vec();
                    next.push(0);
                    from = Some(next.into());
                }
            }
        }
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
        match &mut self.state().phase {
            Phase::Idle(early) => return early.iter_mut().for_each(|early| early.keep(&events)),
            Phase::Loading(kept) => return kept.extend(events),
            Phase::Ready => {}
        }
        // Values are read without the lock. Only the feed itself ends the phase.
        let news: Vec<News> = events.into_iter().filter_map(|event| self.news(event)).collect();
        let mut wake = Wake::default();
        let mut state = self.state();
        news.into_iter().for_each(|news| self.apply(&mut state, news, &mut wake));
        drop(state);
        wake.wake();
    }

    fn news(&self, event: Event) -> Option<News> {
        let key = self.own_key(event.key())?;
        let revision = event.revision().0;
        Some(match &event {
            Event::Put { kv, .. } => {
                News::Put(Arc::new(Entry::new(&**self.kind(), key, revision, &kv.value)))
            }
            Event::Delete { .. } => News::Delete { key: key.into(), revision },
        })
    }

    fn apply(&self, state: &mut State, news: News, wake: &mut Wake) {
        let revision = news.revision();
        if revision <= state.loaded {
            return;
        }
        let change = match news {
            News::Put(entry) => {
                let previous = state.objects.insert(entry.clone());
                Change::new(revision, entry, previous, false)
            }
            News::Delete { key, .. } => {
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
        // With the topics go their tails, which wakes the cursors.
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

    /// The objects as they were at a revision, if the changes since are kept, and the store has not given them up.
    pub async fn snapshot_at(&self, revision: u64) -> Result<Snapshot, Error> {
        // No store gives up its newest revision.
        if revision < self.source.seen() {
            self.source.compaction.learn(&*self.source.store).await;
        }
        self.kept_at(revision)
    }

    fn kept_at(&self, revision: u64) -> Result<Snapshot, Error> {
        self.with_current(|state, current| {
            if revision > current {
                return Err(Error::TooLarge { requested: revision, current });
            }
            let compacted = self.source.compaction.revision().min(current);
            let oldest = if state.doubted { current } else { state.history.since().max(compacted) };
            if revision < oldest || state.doubted {
                return Err(Error::TooOld { requested: revision, oldest });
            }
            let later =
                state.past.iter().filter(|(known, _)| *known >= revision).min_by_key(|(known, _)| *known);
            let (until, mut objects) = match later {
                Some((known, objects)) => (*known, objects.clone()),
                None => (current, state.objects.clone()),
            };
            let changes = state.history.between(revision, until);
            let is_far = changes.len() > NEAR;
            for change in changes {
                match &change.previous {
                    Some(previous) => drop(objects.insert(previous.clone())),
                    None => drop(objects.remove(change.entry.key())),
                }
            }
            if is_far {
                state.past.truncate(PAST - 1);
                state.past.push_front((revision, objects.clone()));
            }
            Ok(Snapshot::new(objects, revision))
        })
    }

    pub(crate) fn generation(&self) -> u64 {
        self.state().generation
    }

    /// Records whether the objects loaded as this generation were found to differ from the store.
    pub(crate) fn doubt(&self, doubted: bool, generation: u64) {
        let mut state = self.state();
        if state.generation == generation {
            state.doubted = doubted;
            if doubted {
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

    /// A cursor at the first change after a revision, which may lie ahead.
    pub fn watch(self: &Arc<Resource>, after: u64, interest: Interest) -> Result<Cursor, Error> {
        self.with_current(|state, _| {
            let next = state.history.after(after)?;
            Ok(self.cursor(state, next, after, interest))
        })
    }

    /// The objects now, and a cursor at the first change after.
    pub fn snapshot_and_watch(self: &Arc<Resource>, interest: Interest) -> Result<(Snapshot, Cursor), Error> {
        self.with_current(|state, revision| {
            let snapshot = Snapshot::new(state.objects.clone(), revision);
            let next = state.history.end();
            Ok((snapshot, self.cursor(state, next, revision, interest)))
        })
    }

    fn cursor(self: &Arc<Resource>, state: &mut State, next: u64, after: u64, interest: Interest) -> Cursor {
        let place = Place { next, after, generation: state.generation };
        let tail = state.topics.enter(&interest, next, &state.history);
        Cursor { resource: self.clone(), interest, place, tail, unread: true }
    }

    pub(crate) fn leave(&self, interest: &Interest, generation: u64) {
        let mut state = self.state();
        if state.generation == generation {
            state.topics.leave(interest);
        }
    }

    /// Returns the changes that a cursor has to read; `None` if it has expired.
    fn pending<'s>(state: &'s State, interest: &Interest, place: &Place) -> Option<Numbers<'s>> {
        if state.generation != place.generation {
            return None;
        }
        match state.topics.pending(interest, place.next, &state.history) {
            Pending::Lost => None,
            Pending::Numbers(numbers) => Some(numbers),
        }
    }

    /// Reads what a cursor has not seen yet, some transactions at a time, and moves its place; `None` if it has expired.
    pub(crate) fn read_changes(
        &self,
        interest: &Interest,
        place: &mut Place,
        most: usize,
        into: &mut Vec<Arc<Change>>,
    ) -> Option<()> {
        let state = self.state();
        let mut next = state.history.end();
        for number in Resource::pending(&state, interest, place)? {
            let change = state.history.get(number)?;
            if change.revision <= place.after {
                continue;
            }
            if into.len() >= most && into.last().is_none_or(|last| last.revision != change.revision) {
                next = number;
                break;
            }
            into.push(change.clone());
        }
        place.next = next;
        Some(())
    }

    /// The revision up to which a cursor has seen everything, if it has nothing to read.
    pub(crate) fn progress(&self, interest: &Interest, place: &mut Place) -> Option<u64> {
        // Read first: what is applied after this has a greater revision.
        let seen = self.source.seen();
        let state = self.state();
        let current = seen.max(state.applied);
        if current < place.after || Resource::pending(&state, interest, place)?.next().is_some() {
            return None;
        }
        place.next = state.history.end();
        Some(current)
    }

    pub(crate) fn loaded_revision(&self) -> u64 {
        self.state().loaded
    }
}
