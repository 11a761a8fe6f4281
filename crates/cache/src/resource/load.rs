//! Reads of the store: loading a resource into its cache, and pages of revisions that the history does not reach.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pintle_storage::{RangeRequest, Revision};

use super::{Phase, Resource, State};
use crate::Error;
use crate::entry::Entry;
use crate::history::History;
use crate::interest::Wake;
use crate::map::Map;
use crate::objects::{Objects, Snapshot};

/// Number of objects that are read at once while loading.
const PAGE: usize = 1000;

/// Number of objects that are decoded before the task yields: each takes tens of microseconds.
const DECODE_BATCH: usize = 32;

/// How long a cache that begins in the past waits for the feed to tell of what is stored by now.
const CATCH_UP: Duration = Duration::from_millis(500);

/// How long a resource with a value that cannot be decrypted is not loaded in the background.
const PAUSE: Duration = Duration::from_secs(10);

/// How often loading is tried when the store moves on too fast.
const TRIES: usize = 3;

/// Ends a loading that was not finished.
struct LoadGuard<'a>(&'a Resource);

impl Drop for LoadGuard<'_> {
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
    /// Loads the resource in the background if it is not loaded: for a caller that was answered without it and will ask again.
    pub fn load_soon(self: &Arc<Resource>) {
        if self.is_ready() || self.is_load_paused.load(Ordering::Relaxed) {
            return;
        }
        let resource = self.clone();
        self.source.spawner.spawn_until_stop(async move {
            // One loads; another that is on its way already is enough.
            if resource.loading.try_lock().is_err() {
                return;
            }
            let Err(error) = resource.ready().await else { return };
            tracing::debug!(%error, "a resource is not loaded yet");
            // One value is enough to read all of them for nothing, again for every reader of another one.
            if matches!(error, Error::Storage(pintle_storage::Error::Undecryptable(_))) {
                resource.is_load_paused.store(true, Ordering::Relaxed);
                tokio::time::sleep(PAUSE).await;
                resource.is_load_paused.store(false, Ordering::Relaxed);
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
        let _guard = LoadGuard(self);
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
        for decoded in early.into_iter().chain(kept).filter_map(|event| self.decode(event)) {
            self.apply(&mut state, decoded, &mut wake);
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
        if state.is_inconsistent { Map::default() } else { state.objects.map().clone() }
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
        for some in range.kvs.chunks(DECODE_BATCH) {
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
            for some in range.kvs.chunks(DECODE_BATCH) {
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
}
