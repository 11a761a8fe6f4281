//! The embedded store of a server that is not running.

use std::fs::File;
use std::path::Path;

use bytes::Bytes;
use pintle_storage::{Backend, KeyValue, RangeRequest, Txn};
use pintle_storage_embedded::{Options, Store};

use super::server::eventually;

/// Writes these values into a new store of a data directory, under `/registry/0000` and so on.
pub(crate) async fn fill(data_dir: &Path, values: impl IntoIterator<Item = Vec<u8>>) {
    let numbered = values.into_iter().enumerate();
    fill_keys(data_dir, numbered.map(|(number, value)| (format!("/registry/{number:04}"), value))).await;
}

/// Writes these keys and values into a new store of a data directory.
pub(crate) async fn fill_keys(data_dir: &Path, values: impl IntoIterator<Item = (String, Vec<u8>)>) {
    std::fs::create_dir_all(data_dir).expect("a directory");
    let mut options = Options::directory(data_dir.join("store"));
    options.no_fsync = true;
    let store = Store::open(options).expect("a store");
    for (key, value) in values {
        store.txn(Txn::put(Bytes::from(key), value.into())).await.expect("a write");
    }
    close(store, data_dir).await;
}

/// All that is in the store of a data directory.
pub(crate) async fn content(data_dir: &Path) -> Vec<KeyValue> {
    let store = Store::open(Options::directory(data_dir.join("store"))).expect("a store");
    let kvs = store.range(RangeRequest::default()).await.expect("a read").kvs;
    close(store, data_dir).await;
    kvs
}

/// Closes a store and waits until it can be opened again. A process that another test is just starting has, for a
/// moment, all files of this one, and so its locks.
async fn close(store: Store, data_dir: &Path) {
    store.close().await.expect("closed");
    drop(store);
    let lock = File::open(data_dir.join("store/lock")).expect("the lock");
    eventually("the end of the lock", async || lock.try_lock().is_ok()).await;
    lock.unlock().expect("unlocked");
}
