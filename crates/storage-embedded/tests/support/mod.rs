//! Helpers of this crate's tests. Each test uses a part of them.
#![allow(dead_code, unreachable_pub, reason = "every test binary uses its own part")]

pub mod disk;
pub mod load;

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use pintle_storage::{Backend, Error, Event, KeyValue, Op, Revision, Txn, WatchItem, WatchRequest};
use pintle_storage_embedded::Store;

pub fn bytes(text: impl Into<String>) -> Bytes {
    Bytes::from(text.into())
}

pub async fn put(store: &Store, key: &str, value: &str) -> Revision {
    store.txn(Txn::put(bytes(key), bytes(value))).await.expect("put").revision
}

pub async fn delete(store: &Store, key: &str) -> Revision {
    let txn = Txn { then: vec![Op::Delete { key: bytes(key) }], ..Txn::default() };
    store.txn(txn).await.expect("delete").revision
}

pub async fn get(store: &Store, key: &str) -> Option<KeyValue> {
    store.get(key.as_bytes(), None).await.expect("get").0
}

pub async fn value(store: &Store, key: &str) -> Option<String> {
    get(store, key).await.map(|kv| String::from_utf8_lossy(&kv.value).into_owned())
}

/// Everything that changed from `from` up to the newest revision.
pub async fn history(store: &Store, from: Revision) -> Result<Vec<(Revision, Vec<Event>)>, Error> {
    let until = store.current_revision().await?;
    let mut seen = Vec::new();
    if from > until {
        return Ok(seen);
    }
    let mut watch = store.watch(WatchRequest { from, ..WatchRequest::default() }).await?;
    store.request_progress().await?;
    loop {
        let item = tokio::time::timeout(Duration::from_secs(20), watch.next()).await.expect("soon");
        match item.expect("a watch ends only with an error")? {
            WatchItem::Changes { revision, events } => seen.push((revision, events)),
            WatchItem::Progress(revision) if revision >= until => return Ok(seen),
            WatchItem::Progress(_) => {}
        }
    }
}

/// Waits until something holds that the store does in the background.
pub async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..1000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not happen within 10 s");
}
