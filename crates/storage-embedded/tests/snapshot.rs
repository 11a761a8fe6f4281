//! Saving and restoring.

mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use pintle_storage::{Backend, Error, Op, RangeRequest, Revision, Txn, WatchRequest};
use pintle_storage_embedded::snapshot::{self, REVISION_BUMP};
use pintle_storage_embedded::{OpenError, Options, Store};
use support::{bytes, delete, eventually, get, put};

async fn all(store: &Store) -> Vec<pintle_storage::KeyValue> {
    store.range(RangeRequest::default()).await.unwrap().kvs
}

async fn saved(store: &Store) -> Vec<u8> {
    let chunks: Vec<_> = store.snapshot().unwrap().into_stream().try_collect().await.unwrap();
    chunks.concat()
}

async fn sample() -> Store {
    let store = Store::open(Options::memory()).unwrap();
    let lease = store.lease(Duration::from_secs(3600)).await.unwrap();
    for i in 0..300 {
        put(&store, &format!("/many/{i:04}"), &"v".repeat(i * 3)).await;
    }
    put(&store, "/many/0007", "changed").await;
    delete(&store, "/many/0008").await;
    let leased = |key: &str| Op::Put { key: bytes(key), value: bytes("leased"), lease: Some(lease) };
    store.txn(Txn { then: vec![leased("/l/a"), leased("/l/b")], ..Txn::default() }).await.unwrap();
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_store_holds_what_was_saved() {
    let store = sample().await;
    let expected = all(&store).await;
    let revision = store.current_revision().await.unwrap();
    let image = saved(&store).await;
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("new");
    let summary = snapshot::restore(&image[..], &dir, |_| {}).unwrap();
    assert_eq!((summary.keys, summary.leases), (301, 1));
    assert_eq!((summary.revision, summary.bytes), (revision.0, image.len() as u64));
    assert_eq!(snapshot::verify(&image[..]).unwrap(), summary);

    let restored = Store::open(Options::directory(&dir)).unwrap();
    assert_eq!(all(&restored).await, expected, "keys, values, revisions and leases");
    let current = Revision(revision.0 + REVISION_BUMP);
    assert_eq!(restored.current_revision().await.unwrap(), current);
    assert_eq!(restored.compacted_revision().await.unwrap(), current);
    let error = restored.watch(WatchRequest { from: revision.next(), ..WatchRequest::default() }).await.err();
    assert!(matches!(error, Some(Error::Compacted { .. })), "watchers start over: {error:?}");
    assert_eq!(put(&restored, "/next", "").await, current.next());
    let stale = get(&restored, "/many/0007").await.unwrap().mod_revision;
    let update = Txn::update(bytes("/many/0007"), bytes("2"), stale, None);
    assert!(restored.txn(update).await.unwrap().succeeded, "keys keep their revisions");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_lease_still_ends() {
    let clock = pintle_runtime::ManualClock::starting_at(std::time::UNIX_EPOCH);
    let store = Store::open(Options { clock: clock.clock(), ..Options::memory() }).unwrap();
    let lease = store.lease(Duration::from_secs(60)).await.unwrap();
    store.txn(Txn::create(bytes("/a"), bytes(""), Some(lease))).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    snapshot::restore(&saved(&store).await[..], dir.path(), |_| {}).unwrap();
    let restored = Store::open(Options { clock: clock.clock(), ..Options::directory(dir.path()) }).unwrap();
    assert_eq!(get(&restored, "/a").await.unwrap().lease, Some(lease));
    clock.advance(Duration::from_secs(120));
    eventually("the end of the lease", async || get(&restored, "/a").await.is_none()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_under_load_is_one_moment() {
    let store = Arc::new(Store::open(Options::memory()).unwrap());
    let mut writers = tokio::task::JoinSet::new();
    for client in 0..8 {
        let store = store.clone();
        writers.spawn(async move {
            for number in 1..400 {
                let put = |key: &str| Op::Put {
                    key: bytes(format!("/{key}/{client}")),
                    value: bytes(number.to_string()),
                    lease: None,
                };
                store.txn(Txn { then: vec![put("a"), put("b")], ..Txn::default() }).await.unwrap();
            }
        });
    }
    let mut revisions = Vec::new();
    for _ in 0..5 {
        let image = saved(&store).await;
        let dir = tempfile::tempdir().unwrap();
        let summary = snapshot::restore(&image[..], dir.path(), |_| {}).unwrap();
        revisions.push(summary.revision);
        let restored = Store::open(Options::directory(dir.path())).unwrap();
        let kvs = all(&restored).await;
        let (a, b) = kvs.split_at(kvs.len() / 2);
        for (a, b) in a.iter().zip(b) {
            assert_eq!((&a.value, a.mod_revision), (&b.value, b.mod_revision));
            assert!(a.mod_revision.0 <= summary.revision);
        }
    }
    writers.join_all().await;
    assert!(revisions.is_sorted(), "{revisions:?}");
}

#[tokio::test]
async fn a_snapshot_of_a_store_that_closed_meanwhile_is_an_error_and_not_half_a_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(Options::directory(dir.path())).unwrap();
    for i in 0..100 {
        put(&store, &format!("/{i}"), &"v".repeat(100_000)).await;
    }
    let snapshot = store.snapshot().unwrap();
    store.close().await.unwrap();
    let mut image = Vec::new();
    snapshot.write_to(&mut image, |_| {}).unwrap_err();
    snapshot::verify(&image[..]).unwrap_err();
    drop(snapshot);
    assert_eq!(Store::open(Options::directory(dir.path())).unwrap().count(b"/").await.unwrap(), 100);
}

#[tokio::test]
async fn a_directory_is_saved_when_nothing_runs() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(Options::directory(dir.path())).unwrap();
    put(&store, "/a", "1").await;
    let in_use = snapshot::save_dir(dir.path(), &mut Vec::new(), |_, _| {});
    assert!(matches!(in_use, Err(OpenError::InUse { .. })));
    store.close().await.unwrap();
    let (mut image, mut last) = (Vec::new(), (0, 0));
    let summary = snapshot::save_dir(dir.path(), &mut image, |done, total| last = (done, total)).unwrap();
    assert_eq!(summary.keys, 1);
    assert_eq!(last.0, image.len() as u64);
    assert!(last.1 >= last.0);
    snapshot::verify(&image[..]).unwrap();
    let missing = snapshot::save_dir(Path::new("/nonexistent"), &mut Vec::new(), |_, _| {});
    assert_eq!(missing.unwrap_err().to_string(), "there is no store in /nonexistent");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_is_not_empty_is_not_restored_into() {
    let image = saved(&sample().await).await;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(Options::directory(dir.path())).unwrap();
    put(&store, "/mine", "1").await;
    store.close().await.unwrap();
    let refused = snapshot::restore(&image[..], dir.path(), |_| {});
    assert!(matches!(refused, Err(OpenError::NotEmpty { .. })), "{refused:?}");
    let store = Store::open(Options::directory(dir.path())).unwrap();
    assert!(get(&store, "/mine").await.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_snapshot_makes_no_store() {
    let store = Store::open(Options::memory()).unwrap();
    let lease = store.lease(Duration::from_secs(3600)).await.unwrap();
    put(&store, "/a", "1").await;
    store.txn(Txn::create(bytes("/b"), bytes("value"), Some(lease))).await.unwrap();
    let image = saved(&store).await;
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("new");
    let refused = |image: &[u8], what: &str| {
        let error = snapshot::restore(image, &dir, |_| {}).expect_err(what);
        assert!(matches!(error, OpenError::BadSnapshot(_)), "{what}: {error}");
        assert!(!dir.exists(), "{what}: nothing is left behind");
    };
    for len in 0..image.len() {
        let what = format!("cut at {len}");
        snapshot::verify(&image[..len]).expect_err(&what);
        if len % 7 == 0 {
            refused(&image[..len], &what);
        }
    }
    for bit in 0..image.len() * 8 {
        let mut damaged = image.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let what = format!("bit {bit}");
        snapshot::verify(&damaged[..]).expect_err(&what);
        if bit % 51 == 0 {
            refused(&damaged, &what);
        }
    }
    refused(&[&image[..], b"more"].concat(), "something follows");
    snapshot::restore(&image[..], &dir, |_| {}).unwrap();
}

/// The image with other bytes in a place, and with the checksum that goes with them.
fn forged(image: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut forged = image.to_vec();
    forged[at..at + bytes.len()].copy_from_slice(bytes);
    let end = forged.len() - 4;
    let checksum = crc32fast::hash(&forged[..end]);
    forged[end..].copy_from_slice(&checksum.to_be_bytes());
    forged
}

/// Right to the last byte, and yet nothing that a store has written: going on from it would wrap the counter.
#[tokio::test]
async fn a_snapshot_with_numbers_that_no_store_comes_to_is_refused() {
    const REVISION: usize = 12;
    const LEASE: usize = 29;
    let store = Store::open(Options::memory()).unwrap();
    store.lease(Duration::from_secs(3600)).await.unwrap();
    put(&store, "/a", "1").await;
    let image = saved(&store).await;
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("new");
    for revision in [u64::MAX, u64::MAX - 1, u64::MAX - REVISION_BUMP, i64::MAX as u64, i64::MAX as u64 - 1] {
        let forged = forged(&image, REVISION, &revision.to_be_bytes());
        let error = snapshot::restore(&forged[..], &dir, |_| {}).expect_err("a revision").to_string();
        let expect = format!(
            "not a usable snapshot: its revision {revision} is larger than any that a store comes to"
        );
        assert_eq!(error, expect);
        assert!(!dir.exists(), "nothing is left behind");
    }
    for lease in [i64::MAX, i64::MIN, -1, 0] {
        let forged = forged(&image, LEASE, &lease.to_be_bytes());
        let error = snapshot::restore(&forged[..], &dir, |_| {}).expect_err("a lease").to_string();
        assert!(error.contains("lease"), "{error}");
    }
    // As it stands, and with a revision that is only large.
    let large = 1_u64 << 60;
    let image = forged(&image, REVISION, &large.to_be_bytes());
    snapshot::restore(&image[..], &dir, |_| {}).unwrap();
    let restored = Store::open(Options::directory(&dir)).unwrap();
    assert_eq!(put(&restored, "/next", "").await, Revision(large + REVISION_BUMP + 1));
}
