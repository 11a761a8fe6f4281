//! A feed that missed something, and callers that go away.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use pintle_cache::{Error, Feed, Interest, Limits, Next, Resource};
use pintle_storage::{
    Backend, KeyValue, LeaseId, Range, RangeRequest, Result, Revision, Stats, Txn, TxnResult, WatchRequest,
    WatchStream,
};
use pintle_storage_embedded::{Options, Store};
use support::{Plain, WAIT, changes, show};

/// A store that, when switched to, ends every watch as too late, or does not answer a read.
struct Forgetful {
    inner: Store,
    stuck: AtomicBool,
    /// How often it was read from.
    ranges: AtomicUsize,
    forget: tokio::sync::watch::Sender<bool>,
}

impl Forgetful {
    fn new() -> Forgetful {
        Forgetful {
            inner: Store::open(Options::memory()).unwrap(),
            stuck: AtomicBool::new(false),
            ranges: AtomicUsize::new(0),
            forget: tokio::sync::watch::channel(false).0,
        }
    }
}

#[async_trait]
impl Backend for Forgetful {
    async fn watch(&self, request: WatchRequest) -> Result<WatchStream> {
        let inner = self.inner.watch(request).await?;
        let mut forget = self.forget.subscribe();
        let told = async move {
            let _ = forget.wait_for(|forget| *forget).await;
            let (requested, compacted) = (Revision(1), Revision(2));
            Err(pintle_storage::Error::Compacted { requested, compacted })
        };
        Ok(Box::pin(futures_util::stream::select(inner, Box::pin(futures_util::stream::once(told)))))
    }

    async fn get(&self, key: &[u8], at: Option<Revision>) -> Result<(Option<KeyValue>, Revision)> {
        self.inner.get(key, at).await
    }

    async fn range(&self, request: RangeRequest) -> Result<Range> {
        self.ranges.fetch_add(1, Ordering::Relaxed);
        if self.stuck.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        self.inner.range(request).await
    }

    async fn count(&self, prefix: &[u8]) -> Result<u64> {
        self.inner.count(prefix).await
    }

    async fn txn(&self, txn: Txn) -> Result<TxnResult> {
        self.inner.txn(txn).await
    }

    async fn request_progress(&self) -> Result<()> {
        self.inner.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision> {
        self.inner.current_revision().await
    }

    async fn compact(&self, revision: Revision) -> Result<()> {
        self.inner.compact(revision).await
    }

    async fn compacted_revision(&self) -> Result<Revision> {
        self.inner.compacted_revision().await
    }

    async fn lease(&self, ttl: Duration) -> Result<LeaseId> {
        self.inner.lease(ttl).await
    }

    async fn health(&self) -> Result<()> {
        self.inner.health().await
    }

    async fn stats(&self) -> Result<Stats> {
        self.inner.stats().await
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}

/// Whether a resource is loaded before long, without a caller that waits for it.
async fn is_loaded(resource: &Resource) -> bool {
    for _ in 0..100 {
        if resource.snapshot().is_ok() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    false
}

#[tokio::test]
async fn load_soon_loads_in_the_background() {
    let store = Arc::new(Forgetful::new());
    let feed = Feed::start(store.clone(), Bytes::from_static(b"/r/"), Limits::default()).await.unwrap();
    let pods = feed.resource(Bytes::from_static(b"/r/pods/"), || Arc::new(Plain::default()));
    let revision = store.txn(Txn::put("/r/pods/a".into(), "1".into())).await.unwrap().revision.0;
    assert!(matches!(pods.snapshot(), Err(Error::NotReady)));
    assert!(pods.entry_at("a", revision).is_none());
    for _ in 0..50 {
        pods.load_soon();
    }
    assert!(is_loaded(&pods).await);
    assert_eq!(store.ranges.load(Ordering::Relaxed), 1, "all of them together read it once");
    pods.wait_for(revision, WAIT).await.unwrap();
    assert_eq!(pods.entry_at("a", revision).unwrap().unwrap().revision(), revision);
    store.txn(Txn::put("/r/pods/b".into(), "2".into())).await.unwrap();
    pods.wait_for_current(WAIT).await.unwrap();
    assert_eq!(show(&pods.snapshot().unwrap()), ["a=1", "b=2"], "it follows from then on");
    pods.load_soon();
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(store.ranges.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_loading_that_hangs_holds_nobody_up_and_is_not_begun_again() {
    let store = Arc::new(Forgetful::new());
    store.stuck.store(true, Ordering::Relaxed);
    let feed = Feed::start(store.clone(), Bytes::from_static(b"/r/"), Limits::default()).await.unwrap();
    let pods = feed.resource(Bytes::from_static(b"/r/pods/"), || Arc::new(Plain::default()));
    pods.load_soon();
    while store.ranges.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    // Requests that come meanwhile start no other load, and are answered from the store.
    for _ in 0..20 {
        pods.load_soon();
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(store.ranges.load(Ordering::Relaxed), 1);
    assert!(matches!(pods.snapshot(), Err(Error::NotReady)));
}

#[tokio::test]
async fn a_feed_that_missed_something_expires_cursors_and_loads_anew() {
    let store = Arc::new(Forgetful::new());
    let feed = Feed::start(store.clone(), Bytes::from_static(b"/r/"), Limits::default()).await.unwrap();
    let pods = feed.resource(Bytes::from_static(b"/r/pods/"), || Arc::new(Plain::default()));
    store.txn(Txn::put("/r/pods/a".into(), "1".into())).await.unwrap();
    pods.ready().await.unwrap();
    let (_, mut cursor) = pods.snapshot_and_watch(Interest::Everything).unwrap();
    store.forget.send_replace(true);
    assert!(matches!(tokio::time::timeout(WAIT, cursor.next()).await.unwrap(), Next::Expired));
    store.forget.send_replace(false);
    // It follows again, from a state that has everything.
    store.txn(Txn::put("/r/pods/b".into(), "2".into())).await.unwrap();
    pods.ready().await.unwrap();
    pods.wait_for_current(WAIT).await.unwrap();
    assert_eq!(show(&pods.snapshot().unwrap()), ["a=1", "b=2"]);
    let mut cursor = pods.watch(pods.snapshot().unwrap().revision, Interest::Everything).unwrap();
    store.txn(Txn::put("/r/pods/c".into(), "3".into())).await.unwrap();
    assert_eq!(changes(&mut cursor).await, ["+c"]);
}

/// A list that waits while the feed starts over must not be empty.
#[tokio::test]
async fn a_cache_that_starts_over_says_so_and_shows_nothing_until_it_is_loaded() {
    let store = Arc::new(Forgetful::new());
    let feed = Feed::start(store.clone(), Bytes::from_static(b"/r/"), Limits::default()).await.unwrap();
    let pods = feed.resource(Bytes::from_static(b"/r/pods/"), || Arc::new(Plain::default()));
    assert_eq!(pods.snapshot().unwrap_err(), Error::NotReady);
    assert!(pods.entry_since("a", 0, WAIT).await.unwrap().is_none());
    store.txn(Txn::put("/r/pods/a".into(), "1".into())).await.unwrap();
    assert_eq!(show(&pods.snapshot_now(WAIT).await.unwrap()), ["a=1"]);
    let interests = || [Interest::Everything, Interest::Namespace("n".into()), Interest::Key("x".into())];
    let mut cursors = interests().map(|interest| pods.snapshot_and_watch(interest).unwrap().1);
    store.forget.send_replace(true);
    for cursor in &mut cursors {
        assert!(matches!(tokio::time::timeout(WAIT, cursor.next()).await.unwrap(), Next::Expired));
        assert_eq!(cursor.progress(), None);
    }
    // The watch is ended again and again: the cache follows nothing, but shows nothing wrong either.
    for _ in 0..100 {
        match pods.snapshot() {
            Ok(snapshot) => assert_eq!(show(&snapshot), ["a=1"]),
            Err(error) => assert_eq!(error, Error::NotReady),
        }
        assert!(pods.watch(u64::MAX - 1, Interest::Everything).is_err_and(|error| error == Error::NotReady));
        tokio::task::yield_now().await;
    }
    store.forget.send_replace(false);
    store.txn(Txn::put("/r/pods/b".into(), "2".into())).await.unwrap();
    let snapshot = pods.snapshot_now(WAIT).await.unwrap();
    assert_eq!(show(&snapshot), ["a=1", "b=2"]);
    let entry = pods.entry_since("b", snapshot.revision, WAIT).await.unwrap().unwrap();
    assert_eq!(entry.revision(), snapshot.revision);
    let ahead = pods.entry_since("b", snapshot.revision + 1, Duration::from_millis(1)).await.unwrap_err();
    assert!(matches!(ahead, Error::TooLarge { .. }), "{ahead}");
    // Cursors of the cache's previous generation leave no topics behind and remove none of the new ones.
    let mut new = pods.snapshot_and_watch(Interest::Namespace("n".into())).unwrap().1;
    drop(cursors);
    store.txn(Txn::put("/r/pods/n/c".into(), "3".into())).await.unwrap();
    assert_eq!(changes(&mut new).await, ["+n/c"]);
}

#[tokio::test]
async fn a_caller_that_goes_away_while_loading_leaves_nothing_behind() {
    let store = Arc::new(Forgetful::new());
    store.stuck.store(true, Ordering::Relaxed);
    let feed = Feed::start(store.clone(), Bytes::from_static(b"/r/"), Limits::default()).await.unwrap();
    let pods = feed.resource(Bytes::from_static(b"/r/pods/"), || Arc::new(Plain::default()));
    assert!(tokio::time::timeout(Duration::from_millis(20), pods.ready()).await.is_err());
    assert!(format!("{pods:?}").contains("phase: Idle"), "{pods:?}");
    store.stuck.store(false, Ordering::Relaxed);
    store.txn(Txn::put("/r/pods/a".into(), "1".into())).await.unwrap();
    pods.ready().await.unwrap();
    assert_eq!(show(&pods.snapshot().unwrap()), ["a=1"]);
}
