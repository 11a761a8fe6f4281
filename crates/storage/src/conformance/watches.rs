//! Watches, one at a time. What they guarantee under load is in [`super::load`].

use bytes::Bytes;

use super::Capabilities;
use super::support::{Store, bytes, change, changes, delete, put, watch};
use crate::{Event, Op, Revision, Txn, WatchRequest};

fn some(key: &str, value: &str) -> (String, Option<String>) {
    (key.to_owned(), Some(value.to_owned()))
}

async fn next_changes(stream: &mut crate::WatchStream) -> Vec<(String, Option<String>)> {
    changes(stream).await.1.iter().map(change).collect()
}

pub async fn a_watch_sees_changes_from_its_first_revision_on(store: Store, _: Capabilities) {
    put(&store, "/w/a", "1").await;
    let from = put(&store, "/w/a", "2").await;
    delete(&store, "/w/a").await;
    let mut past = watch(&store, "/w/", from).await;
    let mut now = watch(&store, "/w/", Revision(from.0 + 2)).await;
    let created = put(&store, "/w/a", "3").await;
    assert_eq!(next_changes(&mut past).await, [some("/w/a", "2")]);
    assert_eq!(next_changes(&mut past).await, [("/w/a".to_owned(), None)]);
    for stream in [&mut past, &mut now] {
        let (revision, events) = changes(stream).await;
        assert_eq!(revision, created);
        assert_eq!(events.iter().map(change).collect::<Vec<_>>(), [some("/w/a", "3")]);
        assert!(events[0].is_create());
    }
}

pub async fn a_watch_sees_only_its_prefix(store: Store, _: Capabilities) {
    let from = store.current_revision().await.unwrap().next();
    let mut narrow = watch(&store, "/w/a/", from).await;
    let mut wide = watch(&store, "/w", from).await;
    let mut every = watch(&store, "", from).await;
    for key in ["/w/a", "/w/a/1", "/x", "/w/b/1", "/w/a0", "/w/a/2"] {
        put(&store, key, "").await;
    }
    let txn = Txn {
        then: ["/x", "/w/a/3", "/w/b/2"]
            .map(|key| Op::Put { key: bytes(key), value: Bytes::new(), lease: None })
            .into(),
        ..Txn::default()
    };
    store.txn(txn).await.unwrap();
    for key in ["/w/a/1", "/w/a/2", "/w/a/3"] {
        assert_eq!(next_changes(&mut narrow).await, [some(key, "")]);
    }
    for key in ["/w/a", "/w/a/1", "/w/b/1", "/w/a0", "/w/a/2"] {
        assert_eq!(next_changes(&mut wide).await, [some(key, "")]);
    }
    assert_eq!(next_changes(&mut wide).await, [some("/w/a/3", ""), some("/w/b/2", "")]);
    for _ in 0..6 {
        assert_eq!(next_changes(&mut every).await.len(), 1);
    }
    assert_eq!(next_changes(&mut every).await.len(), 3);
}

pub async fn a_watch_delivers_a_transaction_as_one_batch_in_order(store: Store, _: Capabilities) {
    let from = put(&store, "/t/gone", "").await.next();
    let mut stream = watch(&store, "/t/", from).await;
    let put = |key: &str| Op::Put { key: bytes(key), value: bytes("v"), lease: None };
    let then =
        vec![put("/t/z"), Op::Delete { key: bytes("/t/gone") }, put("/t/a"), put("/other"), put("/t/m")];
    let written = store.txn(Txn { then, ..Txn::default() }).await.unwrap().revision;
    let (revision, events) = changes(&mut stream).await;
    assert_eq!(revision, written);
    assert!(events.iter().all(|event| event.revision() == written));
    let order: Vec<_> = events.iter().map(change).collect();
    assert_eq!(
        order,
        [some("/t/z", "v"), ("/t/gone".to_owned(), None), some("/t/a", "v"), some("/t/m", "v")]
    );
}

pub async fn a_watch_carries_previous_values_when_asked(store: Store, _: Capabilities) {
    let from = store.current_revision().await.unwrap().next();
    let mut with = watch(&store, "/p/", from).await;
    let request = WatchRequest { prefix: bytes("/p/"), from, prev: false, progress: false };
    let mut without = store.watch(request).await.unwrap();
    let one = put(&store, "/p/a", "1").await;
    let two = put(&store, "/p/a", "2").await;
    let gone = delete(&store, "/p/a").await;
    let again = put(&store, "/p/a", "4").await;

    let late = watch(&store, "/p/", from).await;
    for stream in [&mut with, &mut { late }] {
        let mut seen = Vec::new();
        for _ in 0..4 {
            let (revision, mut events) = changes(stream).await;
            let prev = match events.remove(0) {
                Event::Put { prev, .. } | Event::Delete { prev, .. } => prev,
                Event::Unreadable(value) => panic!("unreadable: {value:?}"),
            };
            seen.push((revision, prev.map(|kv| (kv.value, kv.create_revision, kv.mod_revision))));
        }
        let expected = [
            (one, None),
            (two, Some((bytes("1"), one, one))),
            (gone, Some((bytes("2"), one, two))),
            (again, None),
        ];
        assert_eq!(seen, expected);
    }
    for _ in 0..4 {
        let (_, events) = changes(&mut without).await;
        assert!(matches!(&events[0], Event::Put { prev: None, .. } | Event::Delete { prev: None, .. }));
    }
}

pub async fn a_watch_may_start_at_a_revision_that_lies_ahead(store: Store, _: Capabilities) {
    let now = store.current_revision().await.unwrap();
    let mut stream = watch(&store, "/f/", Revision(now.0 + 3)).await;
    for i in 1..=4 {
        put(&store, "/f/a", &i.to_string()).await;
    }
    assert_eq!(next_changes(&mut stream).await, [some("/f/a", "3")]);
    assert_eq!(next_changes(&mut stream).await, [some("/f/a", "4")]);
}

pub async fn a_watch_from_zero_sees_everything(store: Store, _: Capabilities) {
    put(&store, "/z/a", "1").await;
    put(&store, "/z/b", "2").await;
    let mut stream = watch(&store, "/z/", Revision::ZERO).await;
    assert_eq!(next_changes(&mut stream).await, [some("/z/a", "1")]);
    assert_eq!(next_changes(&mut stream).await, [some("/z/b", "2")]);
}

/// With previous values its events take more than a store's messages usually hold.
pub async fn a_large_transaction_stays_one_batch(store: Store, _: Capabilities) {
    let from = store.current_revision().await.unwrap().next();
    let mut stream = watch(&store, "/big/", from).await;
    let txn = |fill: u8| Txn {
        then: (0..4)
            .map(|i| Op::Put {
                key: bytes(format!("/big/{i}")),
                value: vec![fill; 330 * 1024].into(),
                lease: None,
            })
            .collect(),
        ..Txn::default()
    };
    for fill in 1..4 {
        store.txn(txn(fill)).await.unwrap();
    }
    let mut late = watch(&store, "/big/", from).await;
    for stream in [&mut stream, &mut late] {
        for fill in 1..4 {
            let (_, events) = changes(stream).await;
            assert_eq!(events.len(), 4);
            for event in events {
                let Event::Put { kv, prev } = event else { panic!("a deletion of what was put") };
                assert_eq!(kv.value, vec![fill; 330 * 1024]);
                assert_eq!(prev.map(|kv| kv.value[0]), (fill > 1).then(|| fill - 1));
            }
        }
    }
}

pub async fn a_watcher_that_lags_behind_misses_nothing(store: Store, _: Capabilities) {
    let from = store.current_revision().await.unwrap().next();
    let mut lagging = watch(&store, "/lag/", from).await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..16 {
        let store = store.clone();
        writers.spawn(async move {
            for _ in 0..100 {
                put(&store, &format!("/lag/{writer}"), &"x".repeat(1000)).await;
            }
        });
    }
    writers.join_all().await;
    let until = store.current_revision().await.unwrap();
    let mut expected = from;
    while expected <= until {
        let (revision, events) = changes(&mut lagging).await;
        assert_eq!((revision, events.len()), (expected, 1));
        expected = expected.next();
    }
}

pub async fn a_dropped_watch_disturbs_nobody(store: Store, _: Capabilities) {
    let from = store.current_revision().await.unwrap().next();
    let mut stays = watch(&store, "/d/", from).await;
    for i in 0..50 {
        let dropped = watch(&store, "/d/", from).await;
        put(&store, "/d/a", &i.to_string()).await;
        drop(dropped);
    }
    for i in 0..50 {
        assert_eq!(next_changes(&mut stays).await, [some("/d/a", &i.to_string())]);
    }
}
