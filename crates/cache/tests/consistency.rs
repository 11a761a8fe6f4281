//! A cache that does not have what the store has.

mod support;

use std::sync::Arc;

use bytes::Bytes;
use pintle_cache::{Difference, Error, Feed, Limits};
use pintle_storage::{Backend, Op, Txn};
use pintle_storage_embedded::{Options, Store};
use support::{Plain, WAIT, fixture, show};

async fn put(store: &Store, key: &'static str, value: &'static str) -> u64 {
    store.txn(Txn::put(Bytes::from(key), Bytes::from(value))).await.unwrap().revision.0
}

#[tokio::test]
async fn a_cache_that_follows_is_consistent() {
    let fixture = fixture(Limits::default()).await;
    fixture.put("pods/a", "1").await;
    assert_eq!(fixture.pods.check().await, Err(Error::NotReady), "nobody has asked for it yet");
    fixture.pods.ready().await.unwrap();
    for page in 0..12 {
        let op = |item| Op::Put {
            key: Bytes::from(format!("/r/pods/{page:02}-{item:03}")),
            value: Bytes::from_static(b"bad, and equal nevertheless"),
            lease: None,
        };
        let then = (0..100).map(op).collect();
        fixture.store.txn(Txn { then, ..Txn::default() }).await.unwrap();
    }
    fixture.delete("pods/00-001").await;
    fixture.put("other/a", "1").await;
    assert_eq!(fixture.contents().await.len(), 1200);
    assert_eq!(fixture.pods.check().await, Ok(None));
}

/// The feed sees changes of one key only, so that the cache keeps the others as they were when it was loaded.
#[tokio::test]
async fn a_difference_is_found_and_disables_past_snapshots() {
    let store = Arc::new(Store::open(Options::memory()).unwrap());
    let loaded = put(&store, "/r/pods/b", "1").await;
    let feed = Feed::start(store.clone(), Bytes::from_static(b"/r/pods/a"), Limits::default()).await.unwrap();
    let pods = feed.resource(Bytes::from_static(b"/r/pods/"), || Arc::new(Plain::default()));
    pods.ready().await.unwrap();
    let past = put(&store, "/r/pods/a", "1").await;
    pods.wait_for(past, WAIT).await.unwrap();
    assert_eq!(pods.check().await, Ok(None));
    assert_eq!(show(&pods.snapshot_at(past).await.unwrap()), ["a=1", "b=1"]);

    let changed = put(&store, "/r/pods/b", "2").await;
    let revision = put(&store, "/r/pods/a", "2").await;
    pods.wait_for(revision, WAIT).await.unwrap();
    let (cached, stored) = (Some(("b".to_owned(), loaded)), Some(("b".to_owned(), changed)));
    assert_eq!(pods.check().await, Ok(Some(Difference { revision, cached: cached.clone(), stored })));
    assert!(matches!(pods.snapshot_at(past).await, Err(Error::TooOld { .. })));
    assert_eq!(show(&pods.snapshot_from_store(changed).await.unwrap()), ["a=1", "b=2"]);

    // A key that is gone from the store, and one that the cache has never seen.
    let then = vec![Op::Delete { key: Bytes::from_static(b"/r/pods/b") }];
    store.txn(Txn { then, ..Txn::default() }).await.unwrap();
    let revision = put(&store, "/r/pods/a", "3").await;
    pods.wait_for(revision, WAIT).await.unwrap();
    assert_eq!(pods.check().await, Ok(Some(Difference { revision, cached, stored: None })));
    let unknown = put(&store, "/r/pods/0", "1").await;
    let revision = put(&store, "/r/pods/a", "4").await;
    pods.wait_for(revision, WAIT).await.unwrap();
    let found = pods.check().await.unwrap().expect("a difference");
    assert_eq!((found.cached, found.stored), (Some(("a".into(), revision)), Some(("0".into(), unknown))));
}

/// A cache whose entries agree again is believed again.
#[tokio::test]
async fn a_difference_may_disappear() {
    let store = Arc::new(Store::open(Options::memory()).unwrap());
    let feed = Feed::start(store.clone(), Bytes::from_static(b"/r/pods/a"), Limits::default()).await.unwrap();
    let pods = feed.resource(Bytes::from_static(b"/r/pods/"), || Arc::new(Plain::default()));
    pods.ready().await.unwrap();
    let past = put(&store, "/r/pods/a", "1").await;
    put(&store, "/r/pods/b", "1").await;
    let after = put(&store, "/r/pods/a", "2").await;
    pods.wait_for(after, WAIT).await.unwrap();
    assert!(pods.check().await.unwrap().is_some());
    assert!(pods.snapshot_at(past).await.is_err());
    let then = vec![Op::Delete { key: Bytes::from_static(b"/r/pods/b") }];
    store.txn(Txn { then, ..Txn::default() }).await.unwrap();
    let last = put(&store, "/r/pods/a", "3").await;
    pods.wait_for(last, WAIT).await.unwrap();
    assert_eq!(pods.check().await, Ok(None));
    assert_eq!(show(&pods.snapshot_at(past).await.unwrap()), ["a=1"]);
}
