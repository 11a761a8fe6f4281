//! The suite of the stores, run on the cache: what it shows and what its watches deliver keeps the same promises.
//!
//! A backend is made of a store and a cache of all its keys. Writes go to the store. Reads take what the cache has at a
//! revision and compare it with the store's answer at that revision. Watches are cursors; what the cache does not keep of
//! an event (creation, lease) is asked of the store.

mod support;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use pintle_cache::{Change, Cursor, Entry, Feed, Interest, Limits, Next, Resource, Snapshot};
use pintle_storage::conformance::Fixture;
use pintle_storage::{
    Backend, Error, Event, KeyValue, LeaseId, Range, RangeRequest, Result, Revision, Stats, Txn, TxnResult,
    WatchItem, WatchRequest, WatchStream,
};
use pintle_storage_embedded::{Options, Store};
use support::{Plain, WAIT};
use tokio::sync::watch;

struct Cached {
    store: Arc<Store>,
    _feed: Feed,
    all: Arc<Resource>,
    /// There was nothing before this revision.
    start: u64,
    /// Progress was asked for so many times.
    asked: watch::Sender<u64>,
}

async fn fresh() -> Fixture {
    let store = Arc::new(Store::open(Options::memory()).unwrap());
    let feed = Feed::start(store.clone(), Bytes::from_static(b"/"), Limits::default()).await.unwrap();
    let all = feed.resource(Bytes::from_static(b"/"), || Arc::new(Plain::default()));
    all.ready().await.unwrap();
    let start = all.snapshot().unwrap().revision;
    Fixture::from(Arc::new(Cached { store, _feed: feed, all, start, asked: watch::channel(0).0 }))
}

fn plain(error: pintle_cache::Error) -> Error {
    match error {
        pintle_cache::Error::Storage(error) => error,
        pintle_cache::Error::TooOld { requested, oldest } => {
            Error::Compacted { requested: Revision(requested), compacted: Revision(oldest) }
        }
        error => Error::Unavailable(error.to_string()),
    }
}

impl Cached {
    async fn snapshot(&self, at: Option<Revision>) -> Result<Snapshot> {
        let Some(Revision(at)) = at else { return self.all.snapshot_now(WAIT).await.map_err(plain) };
        self.all.wait_for(at, WAIT).await.map_err(plain)?;
        match self.all.snapshot_at(at).await {
            Err(pintle_cache::Error::TooOld { .. }) => self.all.snapshot_from_store(at).await,
            other => other,
        }
        .map_err(plain)
    }
}

fn same(entry: &Entry, kv: &KeyValue) -> bool {
    entry.key().as_bytes() == &kv.key[1..]
        && *entry.stored() == kv.value
        && entry.revision() == kv.mod_revision.0
}

#[async_trait]
impl Backend for Cached {
    async fn get(&self, key: &[u8], at: Option<Revision>) -> Result<(Option<KeyValue>, Revision)> {
        // Errors in the request are the store's to report.
        self.store.get(key, at).await?;
        let snapshot = self.snapshot(at).await?;
        let (found, newest) = self.store.get(key, Some(Revision(snapshot.revision))).await?;
        let cached = std::str::from_utf8(&key[1..]).ok().and_then(|own| snapshot.objects.get(own));
        assert_eq!(cached.is_some(), found.is_some(), "{key:?} at {}", snapshot.revision);
        assert!(cached.zip(found.as_ref()).is_none_or(|(entry, kv)| same(entry, kv)));
        Ok((found, newest))
    }

    async fn range(&self, request: RangeRequest) -> Result<Range> {
        self.store.range(request.clone()).await?;
        let snapshot = self.snapshot(request.at).await?;
        let at = Some(Revision(snapshot.revision));
        let range = self.store.range(RangeRequest { at, ..request.clone() }).await?;
        let own = |key: &[u8]| std::str::from_utf8(key.get(1..).unwrap_or_default()).unwrap().to_owned();
        let (prefix, from) = (own(&request.prefix), own(request.from.as_ref().unwrap_or(&request.prefix)));
        let mut cached =
            snapshot.objects.iter_from(&from).take_while(|entry| entry.key().starts_with(&prefix));
        for kv in &range.kvs {
            assert!(cached.next().is_some_and(|entry| same(entry, kv)), "{kv:?} at {}", snapshot.revision);
        }
        assert_eq!(cached.count() as u64, range.remaining);
        let page = self.all.page_from_store(snapshot.revision, &prefix, &from, request.limit).await.unwrap();
        assert!(page.entries.iter().zip(&range.kvs).all(|(entry, kv)| same(entry, kv)));
        assert_eq!((page.entries.len(), page.remaining), (range.kvs.len(), range.remaining));
        Ok(range)
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream> {
        let prefix = std::str::from_utf8(&request.prefix).unwrap().to_owned();
        let interest = match prefix.strip_prefix('/').and_then(|own| own.split_once('/')) {
            Some((first, _)) => Interest::Namespace(first.into()),
            None => Interest::Everything,
        };
        let after = request.from.0.saturating_sub(1).max(self.start);
        let cursor = self.all.watch(after, interest).map_err(plain)?;
        let watching = Watching {
            cursor,
            all: self.all.clone(),
            store: self.store.clone(),
            prefix: prefix.strip_prefix('/').unwrap_or(&prefix).to_owned(),
            prev: request.prev,
            asked: self.asked.subscribe(),
            owes_progress: false,
            queue: VecDeque::new(),
        };
        Ok(Box::pin(futures_util::stream::unfold(watching, async |mut watching| {
            Some((watching.next().await, watching))
        })))
    }

    async fn request_progress(&self) -> Result<()> {
        self.asked.send_modify(|asked| *asked += 1);
        Ok(())
    }

    async fn count(&self, prefix: &[u8]) -> Result<u64> {
        self.store.count(prefix).await
    }

    async fn txn(&self, txn: Txn) -> Result<TxnResult> {
        self.store.txn(txn).await
    }

    async fn current_revision(&self) -> Result<Revision> {
        self.store.current_revision().await
    }

    /// A cache that is late starts over, and its watches with it.
    async fn compact(&self, revision: Revision) -> Result<()> {
        self.all.wait_for_current(WAIT).await.map_err(plain)?;
        self.store.compact(revision).await
    }

    async fn compacted_revision(&self) -> Result<Revision> {
        self.store.compacted_revision().await
    }

    async fn lease(&self, ttl: Duration) -> Result<LeaseId> {
        self.store.lease(ttl).await
    }

    async fn health(&self) -> Result<()> {
        self.store.health().await
    }

    async fn stats(&self) -> Result<Stats> {
        self.store.stats().await
    }

    async fn close(&self) -> Result<()> {
        self.store.close().await
    }
}

/// A cursor as a store's watch.
struct Watching {
    cursor: Cursor,
    all: Arc<Resource>,
    store: Arc<Store>,
    prefix: String,
    prev: bool,
    asked: watch::Receiver<u64>,
    owes_progress: bool,
    queue: VecDeque<WatchItem>,
}

impl Watching {
    async fn next(&mut self) -> Result<WatchItem> {
        loop {
            if let Some(item) = self.queue.pop_front() {
                return Ok(item);
            }
            if self.owes_progress
                && let Some(revision) = self.cursor.progress()
            {
                self.owes_progress = false;
                return Ok(WatchItem::Progress(Revision(revision)));
            }
            tokio::select! {
                next = self.cursor.next() => match next {
                    Next::Changes(changes) => self.take(&changes).await,
                    Next::Expired => {
                        return Err(Error::Compacted { requested: Revision::ZERO, compacted: Revision::ZERO });
                    }
                },
                _ = self.asked.changed() => {
                    self.all.wait_for_current(WAIT).await.map_err(plain)?;
                    self.owes_progress = true;
                }
            }
        }
    }

    async fn take(&mut self, changes: &[Arc<Change>]) {
        for together in changes.chunk_by(|a, b| a.revision == b.revision) {
            let mut events = Vec::new();
            for change in together.iter().filter(|change| change.entry.key().starts_with(&self.prefix)) {
                events.push(self.event(change).await);
            }
            if !events.is_empty() {
                let revision = Revision(together[0].revision);
                self.queue.push_back(WatchItem::Changes { revision, events });
            }
        }
    }

    async fn event(&self, change: &Change) -> Event {
        let prev = match change.previous.as_ref().filter(|_| self.prev) {
            Some(previous) => Some(self.key_value(previous).await),
            None => None,
        };
        if change.deleted {
            let key = Bytes::from(format!("/{}", change.entry.key()));
            return Event::Delete { key, revision: Revision(change.revision), prev };
        }
        Event::Put { kv: self.key_value(&change.entry).await, prev }
    }

    async fn key_value(&self, entry: &Entry) -> KeyValue {
        let key = format!("/{}", entry.key());
        let (found, _) = self.store.get(key.as_bytes(), Some(Revision(entry.revision()))).await.unwrap();
        let found = found.expect("what the cache shows was there");
        assert!(same(entry, &found), "{entry:?} is {found:?}");
        found
    }
}

// Left out: what only the store does, and keys that are not text, which are no objects.
pintle_storage::conformance_suite! { @each fresh;
    a_missing_key_is_none_at_a_real_revision,
    a_range_returns_only_its_prefix_in_order,
    pages_at_one_revision_belong_together,
    a_limit_tells_how_many_keys_remain,
    old_revisions_stay_readable_until_compaction,
    a_future_revision_is_an_error,
    a_read_sees_every_write_acknowledged_before_it,
    large_values_come_back_whole,
    all_keys_of_a_transaction_change_at_one_revision,
    a_recreated_key_has_a_new_create_revision,
    keys_of_an_ended_lease_go_at_one_revision_with_events,
    a_watch_sees_changes_from_its_first_revision_on,
    a_watch_sees_only_its_prefix,
    a_watch_delivers_a_transaction_as_one_batch_in_order,
    a_watch_carries_previous_values_when_asked,
    a_watch_may_start_at_a_revision_that_lies_ahead,
    a_watch_from_zero_sees_everything,
    a_large_transaction_stays_one_batch,
    a_watcher_that_lags_behind_misses_nothing,
    a_dropped_watch_disturbs_nobody,
    requested_progress_reaches_the_newest_revision_where_nothing_changed,
    requested_progress_follows_the_events_before_it,
    compaction_keeps_what_is_there,
    a_watch_from_after_the_compacted_revision_goes_on,
    watches_under_load_keep_all_guarantees,
}
