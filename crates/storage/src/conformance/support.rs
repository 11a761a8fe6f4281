//! Helpers of the conformance cases.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;

use crate::{
    Backend, Error, Event, KeyValue, Op, Range, RangeRequest, Result, Revision, Txn, WatchItem, WatchRequest,
    WatchStream,
};

pub(super) type Store = Arc<dyn Backend>;

/// How long a store may take for what it promises to do soon.
pub(super) const SOON: Duration = Duration::from_secs(15);

pub(super) fn bytes(text: impl Into<String>) -> Bytes {
    Bytes::from(text.into())
}

/// Writes a key whatever is there and gives the revision.
pub(super) async fn put(store: &Store, key: &str, value: &str) -> Revision {
    let done = store.txn(Txn::put(bytes(key), bytes(value))).await.expect("put");
    assert!(done.succeeded, "a put without comparison succeeds");
    done.revision
}

pub(super) async fn delete(store: &Store, key: &str) -> Revision {
    let txn = Txn { then: vec![Op::Delete { key: bytes(key) }], ..Txn::default() };
    store.txn(txn).await.expect("delete").revision
}

pub(super) async fn get(store: &Store, key: &str) -> Option<KeyValue> {
    store.get(key.as_bytes(), None).await.expect("get").0
}

pub(super) async fn get_at(store: &Store, key: &str, at: Revision) -> Result<Option<KeyValue>> {
    store.get(key.as_bytes(), Some(at)).await.map(|(kv, _)| kv)
}

pub(super) async fn range(store: &Store, prefix: &str, at: Option<Revision>) -> Range {
    store.range(RangeRequest { prefix: bytes(prefix), at, ..RangeRequest::default() }).await.expect("range")
}

pub(super) fn keys(range: &Range) -> Vec<String> {
    range.kvs.iter().map(|kv| String::from_utf8_lossy(&kv.key).into_owned()).collect()
}

pub(super) async fn watch(store: &Store, prefix: &str, from: Revision) -> WatchStream {
    let request = WatchRequest { prefix: bytes(prefix), from, prev: true, progress: false };
    store.watch(request).await.expect("watch")
}

/// The next item, which must come soon.
pub(super) async fn next(stream: &mut WatchStream) -> Result<WatchItem> {
    let item = tokio::time::timeout(SOON, stream.next()).await.expect("a watch item should come soon");
    item.expect("a watch ends only with an error")
}

/// The next batch of changes, passing over progress.
pub(super) async fn changes(stream: &mut WatchStream) -> (Revision, Vec<Event>) {
    loop {
        if let WatchItem::Changes { revision, events } = next(stream).await.expect("changes") {
            return (revision, events);
        }
    }
}

/// The error that a watch ends with, passing over what it delivers before.
pub(super) async fn last_words(mut stream: WatchStream) -> Error {
    loop {
        if let Err(error) = next(&mut stream).await {
            assert!(stream.next().await.is_none(), "nothing follows an error");
            return error;
        }
    }
}

/// `(key, value)` of a put, `(key, None)` of a deletion.
pub(super) fn change(event: &Event) -> (String, Option<String>) {
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    match event {
        Event::Put { kv, .. } => (text(&kv.key), Some(text(&kv.value))),
        Event::Delete { key, .. } => (text(key), None),
        Event::Unreadable(value) => panic!("unreadable: {value:?}"),
    }
}
