//! Get, range, count; now and in the past.

use bytes::Bytes;

use super::Capabilities;
use super::support::{Store, bytes, delete, get, get_at, keys, put, range};
use crate::{Error, KeyValue, RangeRequest, Revision, Txn};

pub async fn a_missing_key_is_none_at_a_real_revision(store: Store, _: Capabilities) {
    let (kv, revision) = store.get(b"/missing", None).await.unwrap();
    assert_eq!(kv, None);
    assert!(revision > Revision::ZERO, "zero stands for 'does not exist'");
    assert_eq!(store.current_revision().await.unwrap(), revision);
    assert!(range(&store, "/", None).await.kvs.is_empty(), "a fresh store is empty");
}

pub async fn a_key_reads_as_it_was_written(store: Store, _: Capabilities) {
    let created = put(&store, "/a", "one").await;
    let written = put(&store, "/a", "two").await;
    let expected = KeyValue {
        key: bytes("/a"),
        value: bytes("two"),
        create_revision: created,
        mod_revision: written,
        lease: None,
        stale: false,
    };
    let (kv, revision) = store.get(b"/a", None).await.unwrap();
    assert_eq!(kv, Some(expected));
    assert_eq!(revision, written);
    let odd = Bytes::from_static(b"/odd\x00\xff\xfe key");
    store.txn(Txn::put(odd.clone(), Bytes::new())).await.unwrap();
    let kv = store.get(&odd, None).await.unwrap().0.expect("any bytes are a key");
    assert_eq!((kv.key, kv.value), (odd, Bytes::new()));
}

pub async fn a_range_returns_only_its_prefix_in_order(store: Store, _: Capabilities) {
    for key in ["/pods/b", "/pods/a/2", "/pods", "/pods0", "/pods/a", "/podsx/a", "/node/a", "/pods/a/10"] {
        put(&store, key, "").await;
    }
    let found = range(&store, "/pods/", None).await;
    assert_eq!(keys(&found), ["/pods/a", "/pods/a/10", "/pods/a/2", "/pods/b"]);
    assert_eq!(found.remaining, 0);
    assert_eq!(found.revision, store.current_revision().await.unwrap());
    assert_eq!(keys(&range(&store, "/pods", None).await).len(), 7, "a prefix is bytes, not a path");
    assert!(range(&store, "/nothing/", None).await.kvs.is_empty());
}

pub async fn a_prefix_of_the_highest_byte_ends_with_the_keys(store: Store, _: Capabilities) {
    for key in [&b"k\xfe"[..], b"k\xff", b"k\xff\x01", b"k\xff\xff\xff", b"l"] {
        store.txn(Txn::put(Bytes::copy_from_slice(key), Bytes::new())).await.unwrap();
    }
    let request = RangeRequest { prefix: Bytes::from_static(b"k\xff"), ..RangeRequest::default() };
    let found: Vec<_> = store.range(request).await.unwrap().kvs.into_iter().map(|kv| kv.key).collect();
    assert_eq!(found, [&b"k\xff"[..], b"k\xff\x01", b"k\xff\xff\xff"]);
}

pub async fn the_empty_prefix_is_every_key(store: Store, _: Capabilities) {
    for key in ["a", "/b", "zz"] {
        put(&store, key, "").await;
    }
    assert_eq!(keys(&range(&store, "", None).await), ["/b", "a", "zz"]);
    assert_eq!(store.count(b"").await.unwrap(), 3);
}

pub async fn pages_at_one_revision_belong_together(store: Store, _: Capabilities) {
    for i in 0..25 {
        put(&store, &format!("/list/{i:02}"), "old").await;
    }
    let page = |from: Option<Bytes>, at| RangeRequest { prefix: bytes("/list/"), from, limit: 10, at };
    let first = store.range(page(None, None)).await.unwrap();
    let at = first.revision;
    assert_eq!((first.kvs.len(), first.remaining), (10, 15));

    put(&store, "/list/12", "new").await;
    put(&store, "/list/10a", "new").await;
    delete(&store, "/list/20").await;

    let mut all = first.kvs;
    loop {
        let mut from = all.last().unwrap().key.to_vec();
        from.push(0);
        let next = store.range(page(Some(from.into()), Some(at))).await.unwrap();
        assert!(next.revision > at, "an answer tells the newest revision, also about the past");
        let remaining = next.remaining;
        all.extend(next.kvs);
        assert_eq!(all.len() as u64 + remaining, 25, "what remains is counted in the past too");
        if remaining == 0 {
            break;
        }
    }
    let expected: Vec<_> = (0..25).map(|i| bytes(format!("/list/{i:02}"))).collect();
    assert_eq!(all.iter().map(|kv| kv.key.clone()).collect::<Vec<_>>(), expected);
    assert!(all.iter().all(|kv| kv.value == "old"));
}

pub async fn a_limit_tells_how_many_keys_remain(store: Store, _: Capabilities) {
    for i in 0..7 {
        put(&store, &format!("/p/{i}"), "").await;
    }
    put(&store, "/q/0", "").await;
    let request = |from: Option<&str>, limit| RangeRequest {
        prefix: bytes("/p/"),
        from: from.map(bytes),
        limit,
        at: None,
    };
    for (from, limit, returned, remaining) in [
        (None, 0, 7, 0),
        (None, 3, 3, 4),
        (None, 7, 7, 0),
        (None, 100, 7, 0),
        (Some("/p/5"), 1, 1, 1),
        (Some("/p/5\0"), 0, 1, 0),
        (Some("/p/7"), 5, 0, 0),
    ] {
        let found = store.range(request(from, limit)).await.unwrap();
        assert_eq!((found.kvs.len(), found.remaining), (returned, remaining), "from {from:?} limit {limit}");
    }
}

pub async fn count_counts_the_prefix(store: Store, _: Capabilities) {
    assert_eq!(store.count(b"/c/").await.unwrap(), 0);
    for key in ["/c/a", "/c/b", "/c/b", "/d/a"] {
        put(&store, key, "").await;
    }
    assert_eq!(store.count(b"/c/").await.unwrap(), 2);
    delete(&store, "/c/a").await;
    assert_eq!(store.count(b"/c/").await.unwrap(), 1);
}

pub async fn old_revisions_stay_readable_until_compaction(store: Store, _: Capabilities) {
    let before = store.current_revision().await.unwrap();
    let one = put(&store, "/h/a", "one").await;
    let two = put(&store, "/h/b", "b").await;
    let three = put(&store, "/h/a", "three").await;
    let four = delete(&store, "/h/a").await;
    put(&store, "/h/a", "five").await;

    let value = |kv: Option<KeyValue>| kv.map(|kv| String::from_utf8_lossy(&kv.value).into_owned());
    for (at, expected) in
        [(before, None), (one, Some("one")), (two, Some("one")), (three, Some("three")), (four, None)]
    {
        assert_eq!(value(get_at(&store, "/h/a", at).await.unwrap()).as_deref(), expected, "at {at}");
    }
    assert_eq!(keys(&range(&store, "/h/", Some(one)).await), ["/h/a"]);
    assert_eq!(keys(&range(&store, "/h/", Some(three)).await), ["/h/a", "/h/b"]);
    assert_eq!(keys(&range(&store, "/h/", Some(four)).await), ["/h/b"]);
    let old = get_at(&store, "/h/a", three).await.unwrap().unwrap();
    assert_eq!((old.create_revision, old.mod_revision), (one, three));
}

pub async fn a_future_revision_is_an_error(store: Store, _: Capabilities) {
    let now = put(&store, "/a", "").await;
    let ahead = Revision(now.0 + 10);
    let error = get_at(&store, "/a", ahead).await.unwrap_err();
    assert_eq!(error, Error::FutureRevision { requested: ahead, current: now });
    let request = RangeRequest { prefix: bytes("/"), at: Some(ahead), ..RangeRequest::default() };
    assert_eq!(
        store.range(request).await.unwrap_err(),
        Error::FutureRevision { requested: ahead, current: now }
    );
    assert!(get_at(&store, "/a", now).await.unwrap().is_some(), "now is not the future");
}

pub async fn a_read_sees_every_write_acknowledged_before_it(store: Store, _: Capabilities) {
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let store = store.clone();
        writers.spawn(async move {
            for i in 0..25 {
                let key = format!("/seen/{writer}");
                let written = put(&store, &key, &i.to_string()).await;
                let (kv, newest) = store.get(key.as_bytes(), None).await.unwrap();
                assert_eq!(kv.expect("just written").mod_revision, written);
                assert!(newest >= written);
                assert!(store.current_revision().await.unwrap() >= newest, "revisions never go back");
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
}

/// Together more than a message of most RPC systems holds by default.
pub async fn large_values_come_back_whole(store: Store, _: Capabilities) {
    let value = |i: usize| Bytes::from(vec![i as u8; 1024 * 1024]);
    for i in 0..12 {
        store.txn(Txn::put(bytes(format!("/large/{i:02}")), value(i))).await.unwrap();
    }
    let found = range(&store, "/large/", None).await;
    assert_eq!((found.kvs.len(), found.remaining), (12, 0));
    assert!(found.kvs.iter().enumerate().all(|(i, kv)| kv.value == value(i)));
    assert_eq!(get(&store, "/large/07").await.unwrap().value, value(7));
}
