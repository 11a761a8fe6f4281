//! Behaviour of this store's watches beyond the conformance suite.

mod support;

use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use pintle_storage::{Backend, Error, Revision, WatchItem, WatchRequest, WatchStream};
use pintle_storage_embedded::{Options, Store};
use support::{bytes, put};

const INTERVAL: Duration = Duration::from_millis(50);

fn store() -> Store {
    Store::open(Options { progress_interval: INTERVAL, ..Options::memory() }).unwrap()
}

async fn watch(store: &Store, prefix: &str, from: u64, progress: bool) -> WatchStream {
    let request = WatchRequest { prefix: bytes(prefix), from: Revision(from), prev: false, progress };
    store.watch(request).await.unwrap()
}

async fn next(watch: &mut WatchStream) -> Result<WatchItem, Error> {
    tokio::time::timeout(Duration::from_secs(10), watch.next()).await.expect("soon").expect("not the end")
}

#[tokio::test]
async fn an_idle_watch_reports_progress_when_it_asked_for_it() {
    let store = store();
    let mut asked = watch(&store, "/here/", 2, true).await;
    let mut silent = watch(&store, "/here/", 2, false).await;
    assert_eq!(next(&mut asked).await, Ok(WatchItem::Progress(Revision(1))), "nothing has happened yet");
    let elsewhere = put(&store, "/elsewhere", "").await;
    assert_eq!(next(&mut asked).await, Ok(WatchItem::Progress(elsewhere)), "changes elsewhere count");
    tokio::time::sleep(3 * INTERVAL).await;
    assert!(silent.next().now_or_never().is_none());
}

#[tokio::test]
async fn a_watch_from_ahead_reports_only_what_the_store_has_reached() {
    let store = store();
    let now = put(&store, "/a", "").await;
    let mut ahead = watch(&store, "/", now.0 + 10, true).await;
    assert_eq!(next(&mut ahead).await, Ok(WatchItem::Progress(now)));
}

#[tokio::test]
async fn progress_requested_twice_at_once_is_reported_once() {
    let store = store();
    let mut silent = watch(&store, "/", 2, false).await;
    store.request_progress().await.unwrap();
    store.request_progress().await.unwrap();
    assert_eq!(next(&mut silent).await, Ok(WatchItem::Progress(Revision(1))));
    assert!(silent.next().now_or_never().is_none());
}

#[tokio::test]
async fn a_watch_behind_the_compacted_revision_and_the_feed_ends() {
    let store = Store::open(Options { feed_bytes: 1000, ..Options::memory() }).unwrap();
    let mut late = watch(&store, "/", 2, false).await;
    for i in 0..100 {
        put(&store, "/a", &i.to_string()).await;
    }
    let now = store.current_revision().await.unwrap();
    store.compact(now).await.unwrap();
    let error = loop {
        if let Err(error) = next(&mut late).await {
            break error;
        }
    };
    assert_eq!(error, Error::Compacted { requested: Revision(2), compacted: now });
    assert!(late.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_watches_share_one_copy_of_a_value() {
    let store = Arc::new(store());
    let mut watches = Vec::new();
    for _ in 0..50 {
        watches.push(watch(&store, "/", 2, false).await);
    }
    put(&store, "/a", &"x".repeat(1000)).await;
    let mut addresses = Vec::new();
    for watch in &mut watches {
        let Ok(WatchItem::Changes { events, .. }) = next(watch).await else { panic!("a change") };
        let [pintle_storage::Event::Put { kv, .. }] = &events[..] else { panic!("one put") };
        addresses.push(kv.value.as_ptr() as usize);
    }
    addresses.dedup();
    assert_eq!(addresses.len(), 1);
}
