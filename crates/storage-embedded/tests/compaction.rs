//! Compaction: what goes, what stays, and that the file does not grow for ever.

mod support;

use pintle_storage::{Backend, Revision};
use pintle_storage_embedded::{Options, Store};
use support::{delete, eventually, history, put, value};

async fn swept_to(store: &Store, at_most: u64) {
    eventually("the sweep", async || store.stats().await.unwrap().size_in_use <= at_most).await;
}

#[tokio::test]
async fn the_sweep_leaves_nothing_of_what_is_superseded() {
    let store = Store::open(Options::memory()).unwrap();
    put(&store, "/kept", "1").await;
    let small = store.stats().await.unwrap().size_in_use;
    for i in 0..500 {
        put(&store, "/hot", &i.to_string().repeat(100)).await;
        put(&store, &format!("/gone/{i}"), "x").await;
        delete(&store, &format!("/gone/{i}")).await;
    }
    delete(&store, "/hot").await;
    // The entry at the compacted revision itself stays until the next time.
    let last = put(&store, "/last", "").await;
    store.compact(last).await.unwrap();
    swept_to(&store, small + 100).await;
    assert_eq!(value(&store, "/kept").await.as_deref(), Some("1"));
    assert_eq!(store.count(b"").await.unwrap(), 2);
    assert_eq!(history(&store, last).await.unwrap().len(), 1, "a watch from the compacted revision sees it");
}

#[tokio::test]
async fn reads_at_the_compacted_revision_see_it_before_and_after_the_sweep() {
    let store = Store::open(Options::memory()).unwrap();
    put(&store, "/a", "1").await;
    put(&store, "/gone", "1").await;
    put(&store, "/a", "2").await;
    let at = delete(&store, "/gone").await;
    put(&store, "/a", "3").await;
    delete(&store, "/a").await;
    let full = store.stats().await.unwrap().size_in_use;
    store.compact(at).await.unwrap();
    for _ in 0..2 {
        let read = async |key: &[u8]| store.get(key, Some(at)).await.unwrap().0;
        assert_eq!(read(b"/a").await.unwrap().value, "2");
        assert_eq!(read(b"/gone").await, None);
        assert!(store.get(b"/a", Some(Revision(at.0 - 1))).await.is_err());
        swept_to(&store, full - 1).await;
    }
    assert_eq!(history(&store, at).await.unwrap().len(), 3);
}

#[tokio::test]
async fn an_unfinished_sweep_goes_on_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let options = || Options { no_fsync: true, ..Options::directory(dir.path()) };
    let store = Store::open(options()).unwrap();
    for i in 0..3000 {
        put(&store, "/hot", &i.to_string()).await;
    }
    let last = put(&store, "/last", "").await;
    store.compact(last).await.unwrap();
    // The answer comes long before the sweep is through.
    store.close().await.unwrap();
    let store = Store::open(options()).unwrap();
    assert_eq!(store.compacted_revision().await.unwrap(), last);
    swept_to(&store, 200).await;
    assert_eq!(value(&store, "/hot").await.as_deref(), Some("2999"));
}

#[tokio::test]
async fn the_file_stops_growing_under_overwrites_with_compaction() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(Options { no_fsync: true, ..Options::directory(dir.path()) }).unwrap();
    let mut sizes = Vec::new();
    for round in 0..24 {
        for i in 0..100 {
            put(&store, &format!("/{i:03}"), &format!("{round} {}", "x".repeat(10_000))).await;
        }
        store.compact(store.current_revision().await.unwrap()).await.unwrap();
        swept_to(&store, 1_100_000).await;
        sizes.push(store.stats().await.unwrap().size);
    }
    // 24 MB were written, 1 MB at a time, and 1 MB is there.
    assert!(sizes.iter().all(|size| *size < 8 << 20), "{sizes:?}");
}
