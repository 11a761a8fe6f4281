//! One resource: its objects now, and the changes that led here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use pintle_storage::{Event, KeyValue, RangeRequest, Revision};
use tokio::sync::watch;

use crate::Error;
use crate::entry::{Entry, Kind};
use crate::feed::Source;
use crate::history::{Change, Cursor, History, Limits};
use crate::map::Map;

/// How many objects are read at once while loading.
const PAGE: usize = 1000;

/// The cache of one resource. Nothing is kept until [`Resource::ready`] is first called.
#[derive(Debug)]
pub struct Resource {
    prefix: Bytes,
    kind: Arc<dyn Kind>,
    source: Arc<Source>,
    limits: Limits,
    state: Mutex<State>,
    /// One at a time loads.
    loading: tokio::sync::Mutex<()>,
    /// Told when changes were added.
    tail: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    map: Map<Entry>,
    history: History,
    /// The revision that the objects were loaded at.
    loaded: u64,
    /// The revision of the last change, or `loaded`.
    applied: u64,
    /// Counts the times that it was loaded.
    generation: u64,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    /// Changes that came while the objects were being read.
    Loading(Vec<Event>),
    Ready,
}

/// Ends a loading that was not finished.
struct Undo<'a>(&'a Resource);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if matches!(state.phase, Phase::Loading(_)) {
            state.phase = Phase::Idle;
        }
    }
}

/// The objects at a revision.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub objects: Map<Entry>,
    pub revision: u64,
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
        let (tail, _) = watch::channel(());
        Resource {
            prefix,
            kind,
            source,
            limits,
            state: Mutex::default(),
            loading: tokio::sync::Mutex::default(),
            tail,
        }
    }

    pub fn kind(&self) -> &Arc<dyn Kind> {
        &self.kind
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ready(&self) -> bool {
        matches!(self.state().phase, Phase::Ready)
    }

    /// Loads the resource if nobody has yet.
    pub async fn ready(&self) -> Result<(), Error> {
        if self.is_ready() {
            return Ok(());
        }
        let _one = self.loading.lock().await;
        if self.is_ready() {
            return Ok(());
        }
        // From here on the feed's changes are kept aside; those that the read below has seen too are dropped by revision.
        self.state().phase = Phase::Loading(Vec::new());
        // A caller that goes away in between must not leave changes piling up. Dropped after `state`, whose lock it takes.
        let _undo = Undo(self);
        let loaded = self.load().await;
        let mut state = self.state();
        let Phase::Loading(kept) = std::mem::take(&mut state.phase) else {
            // The feed had to start over meanwhile; whoever asks next loads again.
            return Err(Error::Storage(pintle_storage::Error::Unavailable("the watch was lost".into())));
        };
        let (entries, revision) = loaded?;
        let first = state.history.end();
        state.map = Map::from_sorted(entries);
        state.history = History::starting_at(revision, first);
        (state.loaded, state.applied) = (revision, revision);
        state.generation += 1;
        state.phase = Phase::Ready;
        for event in kept {
            self.apply(&mut state, event);
        }
        Ok(())
    }

    async fn load(&self) -> Result<(Vec<Arc<Entry>>, u64), Error> {
        self.read_all(None, &Map::default()).await
    }

    /// The objects as they were at a revision, out of the store: for when the changes since are not kept any more.
    ///
    /// Errors: `Storage` with `Compacted` or `FutureRevision`.
    pub async fn snapshot_from_store(&self, revision: u64) -> Result<Snapshot, Error> {
        let known = self.state().map.clone();
        let (entries, revision) = self.read_all(Some(Revision(revision)), &known).await?;
        Ok(Snapshot { objects: Map::from_sorted(entries), revision })
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
        let known = self.state().map.clone();
        let own = |key: &str| Bytes::from([&self.prefix, key.as_bytes()].concat());
        let from = (from > prefix).then(|| own(from));
        let request = RangeRequest { prefix: own(prefix), from, limit, at: Some(Revision(revision)) };
        let range = self.source.store.range(request).await?;
        let entries = range.kvs.iter().filter_map(|kv| self.entry(kv, &known)).collect();
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
            entries.extend(range.kvs.iter().filter_map(|kv| self.entry(kv, known)));
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

    /// What the store has at a key. What is known already of that revision is not read again, and keeps its bodies.
    fn entry(&self, kv: &KeyValue, known: &Map<Entry>) -> Option<Arc<Entry>> {
        let key = self.own_key(&kv.key)?;
        if let Some(same) = known.get(key).filter(|entry| entry.revision() == kv.mod_revision.0) {
            return Some(same.clone());
        }
        Some(Arc::new(Entry::new(&**self.kind(), key, kv.mod_revision.0, kv.value.clone())))
    }

    /// The key below the prefix. Keys are paths and thus text; what is not is not ours.
    fn own_key<'k>(&self, key: &'k [u8]) -> Option<&'k str> {
        key.strip_prefix(&*self.prefix).and_then(|key| std::str::from_utf8(key).ok())
    }

    /// Takes in the feed's changes of one revision.
    pub(crate) fn feed(&self, events: Vec<Event>) {
        let mut state = self.state();
        match &mut state.phase {
            Phase::Idle => {}
            Phase::Loading(kept) => kept.extend(events),
            Phase::Ready => {
                events.into_iter().for_each(|event| self.apply(&mut state, event));
                drop(state);
                self.tail.send_replace(());
            }
        }
    }

    fn apply(&self, state: &mut State, event: Event) {
        let revision = event.revision().0;
        if revision <= state.loaded {
            return;
        }
        let Some(key) = self.own_key(event.key()) else { return };
        let change = match &event {
            Event::Put { kv, .. } => {
                let entry = Arc::new(Entry::new(&**self.kind(), key, revision, kv.value.clone()));
                let previous = state.map.insert(entry.clone());
                Change::new(revision, entry, previous, false)
            }
            Event::Delete { .. } => {
                let Some(previous) = state.map.remove(key) else { return };
                let last = Arc::new(previous.at(revision));
                Change::new(revision, last, Some(previous), true)
            }
        };
        if let Some(previous) = &change.previous {
            previous.forget_all();
        }
        state.applied = revision;
        state.history.push(change, &self.limits);
    }

    /// Forgets everything: the feed has missed something. Cursors expire; whoever asks next loads again.
    pub(crate) fn reset(&self) {
        let mut state = self.state();
        let (end, generation) = (state.history.end(), state.generation + 1);
        *state = State { history: History::starting_at(u64::MAX, end), generation, ..State::default() };
        drop(state);
        self.tail.send_replace(());
    }

    /// The objects now, and exactly their revision.
    pub fn snapshot(&self) -> Snapshot {
        self.with_current(|state, revision| Snapshot { objects: state.map.clone(), revision })
    }

    /// What the feed had seen before the lock was taken is in the map, and what it has added since has raised `applied`; so
    /// the greater of both is the map's revision.
    fn with_current<T>(&self, of: impl FnOnce(&State, u64) -> T) -> T {
        let seen = self.source.seen();
        let state = self.state();
        of(&state, seen.max(state.applied))
    }

    /// The objects as they were at a revision, if the changes since are kept.
    pub fn snapshot_at(&self, revision: u64) -> Result<Snapshot, Error> {
        self.with_current(|state, current| {
            if revision > current {
                return Err(Error::TooLarge { requested: revision, current });
            }
            if revision < state.history.since() {
                return Err(Error::TooOld { requested: revision, oldest: state.history.since() });
            }
            let mut objects = state.map.clone();
            for change in state.history.back_to(revision) {
                match &change.previous {
                    Some(previous) => drop(objects.insert(previous.clone())),
                    None => drop(objects.remove(change.entry.key())),
                }
            }
            Ok(Snapshot { objects, revision })
        })
    }

    pub fn get(&self, key: &str) -> Option<Arc<Entry>> {
        self.state().map.get(key).cloned()
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

    /// A cursor at the first change after a revision.
    pub fn watch(self: &Arc<Resource>, after: u64) -> Result<Cursor, Error> {
        let state = self.state();
        let next = state.history.after(after)?;
        Ok(self.cursor(&state, next))
    }

    /// The objects now, and a cursor at the first change after.
    pub fn snapshot_and_watch(self: &Arc<Resource>) -> (Snapshot, Cursor) {
        self.with_current(|state, revision| {
            let snapshot = Snapshot { objects: state.map.clone(), revision };
            (snapshot, self.cursor(state, state.history.end()))
        })
    }

    fn cursor(self: &Arc<Resource>, state: &State, next: u64) -> Cursor {
        Cursor {
            resource: self.clone(),
            next,
            generation: state.generation,
            tail: self.tail.subscribe(),
            seen: self.source.subscribe(),
        }
    }

    pub(crate) fn read_changes(
        &self,
        generation: u64,
        from: u64,
        most: usize,
        into: &mut Vec<Arc<Change>>,
    ) -> Option<()> {
        let state = self.state();
        (state.generation == generation).then(|| state.history.read(from, most, into)).flatten()
    }

    pub(crate) fn is_at_end(&self, generation: u64, next: u64) -> bool {
        let state = self.state();
        state.generation == generation && state.history.end() == next
    }

    pub(crate) fn loaded_revision(&self) -> u64 {
        self.state().loaded
    }
}
