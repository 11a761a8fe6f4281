//! Transactions.

use super::Capabilities;
use super::support::{Store, bytes, delete, get, get_at, put};
use crate::{Compare, Error, Op, Revision, Txn};

fn put_op(key: &str, value: &str) -> Op {
    Op::Put { key: bytes(key), value: bytes(value), lease: None }
}

fn compare(key: &str, mod_revision: Revision) -> Compare {
    Compare { key: bytes(key), mod_revision }
}

pub async fn each_changing_transaction_takes_exactly_the_next_revision(store: Store, _: Capabilities) {
    let mut last = store.current_revision().await.unwrap();
    for i in 0..10 {
        let revision = put(&store, &format!("/r/{}", i % 3), "same value").await;
        assert_eq!(revision, last.next(), "also when the value stays the same");
        last = revision;
    }
    last = last.next();
    assert_eq!(delete(&store, "/r/0").await, last);
    assert_eq!(store.current_revision().await.unwrap(), last, "reading takes no revision");
}

pub async fn create_refuses_an_existing_key_and_reads_it(store: Store, _: Capabilities) {
    let done = store.txn(Txn::create(bytes("/a"), bytes("one"), None)).await.unwrap();
    assert!(done.succeeded && done.read.is_empty());
    let kv = get(&store, "/a").await.unwrap();
    assert_eq!((kv.create_revision, kv.mod_revision), (done.revision, done.revision));

    let refused = store.txn(Txn::create(bytes("/a"), bytes("two"), None)).await.unwrap();
    assert!(!refused.succeeded);
    assert_eq!(refused.revision, done.revision, "nothing changed, so the newest revision is the old one");
    assert_eq!(refused.read, [Some(kv)]);

    delete(&store, "/a").await;
    assert!(store.txn(Txn::create(bytes("/a"), bytes("two"), None)).await.unwrap().succeeded);
}

pub async fn update_with_a_stale_revision_changes_nothing(store: Store, _: Capabilities) {
    let one = put(&store, "/a", "one").await;
    let two = store.txn(Txn::update(bytes("/a"), bytes("two"), one, None)).await.unwrap();
    assert!(two.succeeded);
    assert_eq!(two.revision, one.next());

    let stale = store.txn(Txn::update(bytes("/a"), bytes("three"), one, None)).await.unwrap();
    assert!(!stale.succeeded);
    assert_eq!(stale.read[0].as_ref().unwrap().value, "two");
    assert_eq!(get(&store, "/a").await.unwrap().mod_revision, two.revision);

    let missing = store.txn(Txn::update(bytes("/b"), bytes("one"), one, None)).await.unwrap();
    assert!(!missing.succeeded);
    assert_eq!(missing.read, [None], "updating does not create");
    assert_eq!(store.current_revision().await.unwrap(), two.revision);
}

pub async fn delete_with_a_stale_revision_changes_nothing(store: Store, _: Capabilities) {
    let one = put(&store, "/a", "one").await;
    let two = put(&store, "/a", "two").await;
    let stale = store.txn(Txn::delete(bytes("/a"), one)).await.unwrap();
    assert!(!stale.succeeded);
    assert_eq!(stale.read[0].as_ref().unwrap().mod_revision, two);
    let done = store.txn(Txn::delete(bytes("/a"), two)).await.unwrap();
    assert!(done.succeeded);
    assert_eq!(done.revision, two.next());
    assert_eq!(get(&store, "/a").await, None);
}

pub async fn all_keys_of_a_transaction_change_at_one_revision(store: Store, _: Capabilities) {
    let before = put(&store, "/m/gone", "").await;
    put(&store, "/m/b", "old").await;
    let txn = Txn {
        compare: vec![compare("/m/gone", before), compare("/m/a", Revision::ZERO)],
        then: vec![
            put_op("/m/a", "1"),
            Op::Delete { key: bytes("/m/gone") },
            put_op("/m/b", "2"),
            put_op("/n", "3"),
        ],
        otherwise: vec![],
    };
    let done = store.txn(txn).await.unwrap();
    assert!(done.succeeded);
    for key in ["/m/a", "/m/b", "/n"] {
        assert_eq!(get(&store, key).await.unwrap().mod_revision, done.revision, "{key}");
        let before = get_at(&store, key, Revision(done.revision.0 - 1)).await.unwrap();
        assert!(before.is_none_or(|kv| kv.value == "old"), "{key} just before");
    }
    assert_eq!(get(&store, "/m/gone").await, None);
}

pub async fn one_failed_comparison_fails_the_transaction(store: Store, _: Capabilities) {
    let a = put(&store, "/a", "").await;
    let b = put(&store, "/b", "").await;
    let txn = Txn {
        compare: vec![compare("/a", a), compare("/b", a)],
        then: vec![put_op("/a", "changed"), put_op("/b", "changed")],
        otherwise: vec![],
    };
    let done = store.txn(txn).await.unwrap();
    assert!(!done.succeeded);
    assert!(done.read.is_empty());
    assert_eq!(done.revision, b);
    assert_eq!(get(&store, "/a").await.unwrap().value, "");
}

pub async fn a_key_twice_in_a_transaction_is_refused(store: Store, _: Capabilities) {
    let before = put(&store, "/a", "").await;
    let gone = Op::Delete { key: bytes("/a") };
    for then in [
        vec![put_op("/a", "1"), put_op("/a", "2")],
        vec![put_op("/a", "1"), put_op("/b", "1"), gone.clone()],
        vec![gone.clone(), put_op("/a", "1")],
        vec![gone.clone(), gone.clone()],
    ] {
        let error = store.txn(Txn { then, ..Txn::default() }).await.unwrap_err();
        assert!(matches!(error, Error::InvalidArgument(_)), "{error:?}");
    }
    assert_eq!(store.current_revision().await.unwrap(), before);
}

pub async fn a_failed_comparison_reads_every_named_key_in_order(store: Store, _: Capabilities) {
    put(&store, "/a", "1").await;
    put(&store, "/b", "2").await;
    let txn = Txn {
        compare: vec![compare("/a", Revision::ZERO)],
        then: vec![put_op("/c", "")],
        otherwise: vec![bytes("/b"), bytes("/missing"), bytes("/a"), bytes("/b")],
    };
    let done = store.txn(txn).await.unwrap();
    let values: Vec<_> = done.read.iter().map(|kv| kv.as_ref().map(|kv| kv.value.clone())).collect();
    assert_eq!(values, [Some(bytes("2")), None, Some(bytes("1")), Some(bytes("2"))]);
}

pub async fn deleting_what_is_not_there_changes_nothing(store: Store, _: Capabilities) {
    let from = store.current_revision().await.unwrap().next();
    let mut watch = super::support::watch(&store, "/", from).await;
    let before = put(&store, "/a", "").await;
    assert_eq!(delete(&store, "/missing").await, before);
    let both = Txn {
        then: vec![Op::Delete { key: bytes("/missing") }, Op::Delete { key: bytes("/gone") }],
        ..Txn::default()
    };
    assert_eq!(store.txn(both).await.unwrap().revision, before);
    assert_eq!(store.current_revision().await.unwrap(), before);
    let mixed = Txn { then: vec![Op::Delete { key: bytes("/missing") }, put_op("/b", "")], ..Txn::default() };
    assert_eq!(store.txn(mixed).await.unwrap().revision, before.next());

    let first = super::support::changes(&mut watch).await;
    let second = super::support::changes(&mut watch).await;
    assert_eq!((first.0, second.0), (before, before.next()));
    assert_eq!(second.1.len(), 1, "no event for the key that was not there");
}

pub async fn a_recreated_key_has_a_new_create_revision(store: Store, _: Capabilities) {
    let first = put(&store, "/a", "").await;
    delete(&store, "/a").await;
    let second = put(&store, "/a", "").await;
    let third = put(&store, "/a", "").await;
    let kv = get(&store, "/a").await.unwrap();
    assert_eq!((kv.create_revision, kv.mod_revision), (second, third));
    assert!(second > first);
}

pub async fn of_many_updates_from_one_revision_one_wins(store: Store, _: Capabilities) {
    let mut expected = put(&store, "/contended", "").await;
    for round in 0..5 {
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..16 {
            let store = store.clone();
            let txn = Txn::update(bytes("/contended"), bytes(format!("{round} {writer}")), expected, None);
            writers.spawn(async move { store.txn(txn).await.unwrap() });
        }
        let results = writers.join_all().await;
        let winners: Vec<_> = results.iter().filter(|done| done.succeeded).collect();
        assert_eq!(winners.len(), 1, "round {round}");
        let won = winners[0].revision;
        for lost in results.iter().filter(|done| !done.succeeded) {
            assert_eq!(lost.read[0].as_ref().unwrap().mod_revision, won, "losers read the winner's value");
        }
        assert_eq!(won, expected.next());
        expected = won;
    }
}

pub async fn comparing_alone_changes_nothing(store: Store, _: Capabilities) {
    let a = put(&store, "/a", "").await;
    let done = store.txn(Txn { compare: vec![compare("/a", a)], ..Txn::default() }).await.unwrap();
    assert!(done.succeeded);
    assert_eq!(done.revision, a);
    let done =
        store.txn(Txn { compare: vec![compare("/a", Revision::ZERO)], ..Txn::default() }).await.unwrap();
    assert!(!done.succeeded);
}
