//! Leases on disk.

mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use pintle_runtime::ManualClock;
use pintle_storage::{Backend, Error, Event, LeaseId, Op, Txn};
use pintle_storage_embedded::{Options, Store};
use support::{bytes, eventually, get, history, put};

const HOUR: Duration = Duration::from_secs(3600);

fn open(dir: &Path, clock: &Arc<ManualClock>) -> Store {
    Store::open(Options { clock: clock.clock(), ..Options::directory(dir) }).unwrap()
}

async fn put_leased(store: &Store, key: &str, lease: LeaseId) -> Result<(), Error> {
    let put = Op::Put { key: bytes(key), value: bytes(""), lease: Some(lease) };
    store.txn(Txn { then: vec![put], ..Txn::default() }).await.map(drop)
}

#[tokio::test]
async fn a_lease_survives_a_restart_and_ends_on_time() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::starting_at(UNIX_EPOCH);
    let store = open(dir.path(), &clock);
    let lease = store.lease(HOUR).await.unwrap();
    put_leased(&store, "/a", lease).await.unwrap();
    put_leased(&store, "/b", lease).await.unwrap();
    store.close().await.unwrap();

    let store = open(dir.path(), &clock);
    clock.advance(HOUR);
    put_leased(&store, "/c", lease).await.expect("it lives a little longer than it was asked for");
    let before = put(&store, "/stays", "").await;
    clock.advance(HOUR / 20);
    eventually("the end of the lease", async || get(&store, "/a").await.is_none()).await;
    let events = history(&store, before.next()).await.unwrap();
    let [(_, deletions)] = &events[..] else { panic!("one revision: {events:?}") };
    assert_eq!(deletions.iter().map(Event::key).collect::<Vec<_>>(), ["/a", "/b", "/c"]);
    assert_eq!(put_leased(&store, "/d", lease).await, Err(Error::LeaseNotFound(lease.0)));
}

#[tokio::test]
async fn a_lease_that_ended_while_the_store_was_closed_ends_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::starting_at(UNIX_EPOCH);
    let store = open(dir.path(), &clock);
    let lease = store.lease(HOUR).await.unwrap();
    put_leased(&store, "/a", lease).await.unwrap();
    let last = put(&store, "/b", "").await;
    store.close().await.unwrap();
    clock.advance(HOUR * 2);

    let store = open(dir.path(), &clock);
    eventually("the end of the lease", async || get(&store, "/a").await.is_none()).await;
    assert_eq!(store.current_revision().await.unwrap(), last.next());
    let next = store.lease(HOUR).await.unwrap();
    assert!(next > lease, "leases are not named twice");
}

#[tokio::test]
async fn a_lease_without_keys_ends_without_a_revision() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::starting_at(UNIX_EPOCH);
    let store = open(dir.path(), &clock);
    let lease = store.lease(HOUR).await.unwrap();
    let last = put(&store, "/a", "").await;
    clock.advance(HOUR * 2);
    let ended = async || put_leased(&store, "/never", lease).await.is_err();
    eventually("the end of the lease", ended).await;
    assert!(store.current_revision().await.unwrap() >= last);
    assert!(get(&store, "/a").await.is_some());
}
