//! Leases.

use std::time::{Duration, Instant};

use super::Capabilities;
use super::support::{Store, bytes, change, changes, get, put, watch};
use crate::{Error, LeaseId, Op, Revision, Txn};

/// The shortest TTL that all stores keep to.
const TTL: Duration = Duration::from_secs(2);

fn leased(key: &str, lease: LeaseId) -> Op {
    Op::Put { key: bytes(key), value: bytes("leased"), lease: Some(lease) }
}

pub async fn keys_of_an_ended_lease_go_at_one_revision_with_events(store: Store, _: Capabilities) {
    let granted = Instant::now();
    let lease = store.lease(TTL).await.unwrap();
    let txn = Txn { then: vec![leased("/l/a", lease), leased("/l/b", lease)], ..Txn::default() };
    let first = store.txn(txn).await.unwrap().revision;
    store.txn(Txn::create(bytes("/l/c"), bytes("leased"), Some(lease))).await.unwrap();
    put(&store, "/l/stays", "").await;
    assert_eq!(get(&store, "/l/a").await.unwrap().lease, Some(lease));

    let mut watch = watch(&store, "/l/", first).await;
    for _ in 0..3 {
        changes(&mut watch).await;
    }
    let (revision, events) = changes(&mut watch).await;
    assert!(granted.elapsed() >= TTL, "no key may go before its time: {:?}", granted.elapsed());
    let mut gone: Vec<_> = events.iter().map(change).collect();
    gone.sort();
    let expected: Vec<_> = ["/l/a", "/l/b", "/l/c"].map(|key| (key.to_owned(), None)).into();
    assert_eq!(gone, expected, "all keys of the lease go together");
    assert!(events.iter().all(|event| event.revision() == revision));
    for key in ["/l/a", "/l/b", "/l/c"] {
        assert_eq!(get(&store, key).await, None, "{key}");
    }
    assert!(get(&store, "/l/stays").await.is_some());
    assert_eq!(store.current_revision().await.unwrap(), revision, "the end of a lease is one revision");
}

pub async fn overwriting_a_key_detaches_it_from_its_lease(store: Store, _: Capabilities) {
    let lease = store.lease(TTL).await.unwrap();
    for key in ["/d/goes", "/d/plain", "/d/deleted", "/d/moved"] {
        store.txn(Txn { then: vec![leased(key, lease)], ..Txn::default() }).await.unwrap();
    }
    put(&store, "/d/plain", "kept").await;
    super::support::delete(&store, "/d/deleted").await;
    put(&store, "/d/deleted", "kept").await;
    let longer = store.lease(Duration::from_secs(600)).await.unwrap();
    let last =
        store.txn(Txn { then: vec![leased("/d/moved", longer)], ..Txn::default() }).await.unwrap().revision;

    let (_, events) = changes(&mut watch(&store, "/d/", last.next()).await).await;
    assert_eq!(events.iter().map(change).collect::<Vec<_>>(), [("/d/goes".to_owned(), None)]);
    assert_eq!(get(&store, "/d/plain").await.unwrap().lease, None);
    assert_eq!(get(&store, "/d/deleted").await.unwrap().lease, None);
    assert_eq!(get(&store, "/d/moved").await.unwrap().lease, Some(longer));
}

pub async fn a_lease_is_shared_by_callers_with_the_same_ttl(store: Store, _: Capabilities) {
    let hour = Duration::from_secs(3600);
    let first = store.lease(hour).await.unwrap();
    for _ in 0..20 {
        assert_eq!(store.lease(hour).await.unwrap(), first, "a lease per caller would drown the store");
    }
    assert_ne!(store.lease(hour * 2).await.unwrap(), first, "another TTL");
    let mut askers = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let store = store.clone();
        askers.spawn(async move { store.lease(Duration::from_secs(1800)).await.unwrap() });
    }
    let mut ids = askers.join_all().await;
    ids.dedup();
    assert_eq!(ids.len(), 1, "callers at the same moment share as well");
}

pub async fn a_put_with_an_unknown_lease_is_refused(store: Store, _: Capabilities) {
    let before = store.current_revision().await.unwrap();
    let unknown = LeaseId(0x7bad_cafe);
    let txn = Txn { then: vec![leased("/a", unknown), leased("/b", unknown)], ..Txn::default() };
    assert_eq!(store.txn(txn).await.unwrap_err(), Error::LeaseNotFound(unknown.0));
    assert_eq!(get(&store, "/a").await, None, "nothing happened");
    assert_eq!(store.current_revision().await.unwrap(), before);
    assert!(before > Revision::ZERO);
}
