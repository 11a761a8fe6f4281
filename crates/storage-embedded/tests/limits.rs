//! Requests that the store refuses before it does anything.

mod support;

use bytes::Bytes;
use pintle_storage::{Backend, Compare, Error, Op, RangeRequest, Revision, Txn};
use pintle_storage_embedded::{Options, Store};
use support::bytes;

fn store() -> Store {
    Store::open(Options::memory()).unwrap()
}

#[tokio::test]
async fn a_request_as_large_as_the_limit_fits_and_a_larger_one_does_not() {
    let store = store();
    let put = |size: usize| Txn::put(bytes("k"), Bytes::from(vec![0; size]));
    let limit = 1536 << 10;
    store.txn(put(limit - 1)).await.unwrap();
    assert_eq!(store.txn(put(limit)).await, Err(Error::TooLarge { size: limit + 1, limit }));
    assert_eq!(store.get(b"k", None).await.unwrap().0.unwrap().value.len(), limit - 1);
}

#[tokio::test]
async fn too_many_operations_are_refused() {
    let store = store();
    let delete = |i: usize| Op::Delete { key: bytes(format!("/{i}")) };
    let txn = |count| Txn { then: (0..count).map(delete).collect(), ..Txn::default() };
    store.txn(txn(128)).await.unwrap();
    assert!(matches!(store.txn(txn(129)).await, Err(Error::InvalidArgument(_))));
}

#[tokio::test]
async fn empty_keys_and_ranges_before_their_prefix_are_refused() {
    let store = store();
    let invalid = |result: Result<_, Error>| assert!(matches!(result, Err(Error::InvalidArgument(_))));
    invalid(store.txn(Txn::put(Bytes::new(), bytes("v"))).await.map(drop));
    let compare = vec![Compare { key: Bytes::new(), mod_revision: Revision::ZERO }];
    invalid(store.txn(Txn { compare, ..Txn::default() }).await.map(drop));
    let request = RangeRequest { prefix: bytes("/b"), from: Some(bytes("/a")), ..RangeRequest::default() };
    invalid(store.range(request).await.map(drop));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_wait_when_the_queue_is_full() {
    let store = std::sync::Arc::new(store());
    let mut tasks = tokio::task::JoinSet::new();
    for i in 0..100 {
        let store = store.clone();
        // 100 MB in all, several times what the queue holds.
        tasks.spawn(async move {
            store.txn(Txn::put(bytes(format!("/{i}")), Bytes::from(vec![1; 1 << 20]))).await.unwrap()
        });
    }
    tasks.join_all().await;
    assert_eq!(store.count(b"/").await.unwrap(), 100);
}
