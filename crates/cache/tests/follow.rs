//! The cache on a real store: what it shows is what the store has, at exactly the revision that it says.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use pintle_cache::{BodyFormat, Error, Feed, Frame, Interest, Limits, Next, Pool};
use pintle_storage::{Backend, Op, RangeRequest, Revision, Txn};
use pintle_storage_embedded::{Options, Store};
use support::{Plain, WAIT, changes, fixture, show};

#[tokio::test]
async fn it_loads_on_first_use_and_follows() {
    let fixture = fixture(Limits::default()).await;
    fixture.put("pods/a", "1").await;
    fixture.put("other/a", "1").await;
    fixture.pods.ready().await.unwrap();
    assert_eq!(fixture.contents().await, ["a=1"]);
    fixture.put("pods/n/b", "2").await;
    fixture.put("pods/a", "3").await;
    assert_eq!(fixture.contents().await, ["a=3", "n/b=2"]);
    fixture.delete("pods/a").await;
    assert_eq!(fixture.contents().await, ["n/b=2"]);
    assert_eq!(fixture.pods.get("n/b").unwrap().stored(), "2");
}

#[tokio::test]
async fn the_first_to_ask_is_told_of_what_happened_before() {
    let fixture = fixture(Limits::default()).await;
    fixture.put("other/a", "1").await;
    let created = fixture.put("pods/a", "1").await;
    fixture.put("pods/b", "2").await;
    fixture.delete("pods/b").await;
    fixture.pods.ready().await.unwrap();
    let mut cursor = fixture.pods.watch(created, Interest::Everything).unwrap();
    assert_eq!(changes(&mut cursor).await, ["+b", "-b"]);
    assert_eq!(show(&fixture.pods.snapshot().unwrap()), ["a=1"]);
    assert_eq!(show(&fixture.pods.snapshot_at(created).await.unwrap()), ["a=1"]);
}

#[tokio::test]
async fn of_what_happened_before_anybody_asked_only_the_last_is_kept() {
    let fixture = fixture(Limits::default()).await;
    let first = fixture.put("pods/a", "1").await;
    let mut last = first;
    for number in 0..300 {
        last = fixture.put("pods/a", &number.to_string()).await;
    }
    fixture.pods.wait_for(last, WAIT).await.unwrap();
    fixture.pods.ready().await.unwrap();
    let too_old = fixture.pods.watch(first, Interest::Everything);
    assert!(matches!(too_old, Err(Error::TooOld { .. })));
    let mut cursor = fixture.pods.watch(last - 256, Interest::Everything).unwrap();
    assert_eq!(changes(&mut cursor).await.len(), 256);
    // A value that is larger than all room leaves nothing but where it was.
    let large = fixture.feed.resource(Bytes::from_static(b"/r/large/"), || Arc::new(Plain::default()));
    let before = fixture.put("large/a", "1").await;
    let after = fixture.put("large/a", &"x".repeat(1 << 20)).await;
    large.wait_for(after, WAIT).await.unwrap();
    large.ready().await.unwrap();
    assert!(large.watch(before, Interest::Everything).is_err());
    assert!(large.watch(after, Interest::Everything).is_ok());
    assert_eq!(large.get("a").unwrap().revision(), after);
}

#[tokio::test]
async fn a_list_of_thousands_is_loaded_in_pages_of_one_revision() {
    let fixture = fixture(Limits::default()).await;
    for page in 0..25 {
        let op = |item| Op::Put {
            key: Bytes::from(format!("/r/pods/{page:02}-{item:03}")),
            value: Bytes::from_static(b"x"),
            lease: None,
        };
        let then = (0..100).map(op).collect();
        fixture.store.txn(Txn { then, ..Txn::default() }).await.unwrap();
    }
    fixture.pods.ready().await.unwrap();
    assert_eq!(fixture.pods.snapshot().unwrap().objects.len(), 2500);
}

#[tokio::test]
async fn a_cursor_sees_every_change_once_and_a_late_one_expires_alone() {
    let fixture = fixture(Limits { changes: 4, bytes: 1 << 20 }).await;
    fixture.pods.ready().await.unwrap();
    let start = fixture.pods.snapshot().unwrap().revision;
    let (mut quick, mut late) = (
        fixture.pods.watch(start, Interest::Everything).unwrap(),
        fixture.pods.watch(start, Interest::Everything).unwrap(),
    );
    for round in 0..3 {
        fixture.put("pods/a", &format!("{round}")).await;
        assert_eq!(changes(&mut quick).await, ["+a"]);
    }
    fixture.delete("pods/a").await;
    assert_eq!(changes(&mut quick).await, ["-a"]);
    fixture.put("pods/b", "1").await;
    assert_eq!(changes(&mut quick).await, ["+b"]);
    assert!(matches!(late.next().await, Next::Expired));
    let error = fixture.pods.watch(start, Interest::Everything).unwrap_err();
    assert!(matches!(error, Error::TooOld { requested, .. } if requested == start), "{error}");
}

#[tokio::test]
async fn a_deletion_shows_the_last_object_at_the_deletions_revision() {
    let fixture = fixture(Limits::default()).await;
    let pool = Pool::new(1 << 20);
    fixture.pods.ready().await.unwrap();
    let (_, mut cursor) = fixture.pods.snapshot_and_watch(Interest::Everything).unwrap();
    fixture.put("pods/a", "last").await;
    let gone = fixture.delete("pods/a").await;
    fixture.pods.wait_for(gone, WAIT).await.unwrap();
    let Next::Changes(changes) = cursor.next().await else { panic!() };
    let change = changes.last().unwrap();
    assert!(change.deleted);
    let body = change.entry.body(&**fixture.pods.kind(), &pool, BodyFormat(7)).unwrap();
    assert_eq!(body, format!("7:last@{gone}"));
}

#[tokio::test]
async fn a_body_is_encoded_once_while_there_is_room() {
    let store = Arc::new(Store::open(Options::memory()).unwrap());
    let feed = Feed::start(store.clone(), Bytes::from_static(b"/r/"), Limits::default()).await.unwrap();
    let kind = Arc::new(Plain::default());
    let pods = feed.resource(Bytes::from_static(b"/r/pods/"), || kind.clone());
    for name in ["a", "b"] {
        store.txn(Txn::put(format!("/r/pods/{name}").into(), "0123456789".into())).await.unwrap();
    }
    pods.ready().await.unwrap();
    let (a, b) = (pods.get("a").unwrap(), pods.get("b").unwrap());
    let pool = Pool::new(24);
    for _ in 0..3 {
        a.body(&*kind, &pool, BodyFormat(1)).unwrap();
    }
    assert_eq!(kind.encoded.load(Ordering::Relaxed), 1);
    // There is room for one, so that the other's pushes it out.
    b.body(&*kind, &pool, BodyFormat(1)).unwrap();
    assert!(pool.bytes() <= 21);
    a.body(&*kind, &pool, BodyFormat(1)).unwrap();
    assert_eq!(kind.encoded.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn bodies_of_what_was_replaced_make_room_first() {
    let store = Arc::new(Store::open(Options::memory()).unwrap());
    let feed = Feed::start(store.clone(), Bytes::from_static(b"/r/"), Limits::default()).await.unwrap();
    let kind = Arc::new(Plain::default());
    let pods = feed.resource(Bytes::from_static(b"/r/pods/"), || kind.clone());
    let put = async |name: &str| {
        store.txn(Txn::put(format!("/r/pods/{name}").into(), "0123456789".into())).await.unwrap();
    };
    put("stays").await;
    pods.ready().await.unwrap();
    let pool = Pool::new(1024);
    let body = async |name: &str| {
        pods.wait_for_current(WAIT).await.unwrap();
        pods.get(name).unwrap().body(&*kind, &pool, BodyFormat(1)).unwrap();
    };
    body("stays").await;
    for _ in 0..500 {
        put("changes").await;
        body("changes").await;
    }
    assert_eq!(kind.encoded.load(Ordering::Relaxed), 501);
    body("stays").await;
    assert_eq!(kind.encoded.load(Ordering::Relaxed), 501);
    assert!(pool.bytes() <= 1024);
}

#[tokio::test]
async fn a_change_is_encoded_once_for_all_its_watchers_while_there_is_room() {
    let fixture = fixture(Limits::default()).await;
    fixture.pods.ready().await.unwrap();
    let (_, mut one) = fixture.pods.snapshot_and_watch(Interest::Everything).unwrap();
    let (_, mut other) = fixture.pods.snapshot_and_watch(Interest::Everything).unwrap();
    fixture.put("pods/a", "1").await;
    fixture.put("pods/a", "2").await;
    fixture.pods.wait_for_current(WAIT).await.unwrap();
    let (Next::Changes(one), Next::Changes(other)) = (one.next().await, other.next().await) else { panic!() };
    let pool = Pool::new(8 * 15);
    let made = AtomicUsize::new(0);
    let frame = |change: &Arc<pintle_cache::Change>, number| {
        let make = || {
            made.fetch_add(1, Ordering::Relaxed);
            Ok::<_, String>(Bytes::from(format!("{number} {:08}", change.revision)))
        };
        change.frame(&pool, Frame(number), make).unwrap()
    };
    let (first, again) = (frame(&one[0], 1), frame(&other[0], 1));
    assert_eq!(made.load(Ordering::Relaxed), 1);
    assert_eq!(first.as_ptr(), again.as_ptr());
    // Ten bytes each in a room for fifteen: another form pushes out the first.
    assert_eq!(frame(&one[0], 2)[0], b'2');
    assert_eq!(frame(&other[0], 2)[0], b'2');
    assert_eq!(made.load(Ordering::Relaxed), 2);
    frame(&one[0], 1);
    assert_eq!(made.load(Ordering::Relaxed), 3);
    assert!(pool.bytes() <= 15);
    // An error is returned to its caller and not kept for others.
    let failed = one[1].frame(&pool, Frame(1), || Err("no".to_owned()));
    assert_eq!(failed.unwrap_err(), "no");
    frame(&one[1], 1);
    assert_eq!(made.load(Ordering::Relaxed), 4);
    // So many forms at once are not kept.
    let roomy = Pool::new(1 << 20);
    for _ in 0..2 {
        for number in 100..200 {
            one[1].frame(&roomy, Frame(number), || Ok::<_, String>(Bytes::from_static(b"x"))).unwrap();
        }
    }
    assert!(roomy.bytes() < 10);
}

#[tokio::test]
async fn the_past_can_be_listed_while_its_changes_are_kept() {
    let fixture = fixture(Limits::default()).await;
    fixture.pods.ready().await.unwrap();
    let mut at = Vec::new();
    at.push(fixture.put("pods/a", "1").await);
    at.push(fixture.put("pods/b", "1").await);
    at.push(fixture.put("pods/a", "2").await);
    at.push(fixture.delete("pods/b").await);
    fixture.pods.wait_for(at[3], WAIT).await.unwrap();
    let past = async |revision| show(&fixture.pods.snapshot_at(revision).await.unwrap());
    assert_eq!(past(at[0]).await, ["a=1"]);
    assert_eq!(past(at[1]).await, ["a=1", "b=1"]);
    assert_eq!(past(at[2]).await, ["a=2", "b=1"]);
    assert_eq!(past(at[3]).await, ["a=2"]);
    assert!(matches!(fixture.pods.snapshot_at(at[3] + 100).await, Err(Error::TooLarge { .. })));
}

/// Another server may not have it any more, and would refuse.
#[tokio::test]
async fn compacted_revisions_are_not_listed_from_the_history() {
    let fixture = fixture(Limits::default()).await;
    fixture.pods.ready().await.unwrap();
    let mut at = Vec::new();
    for value in ["1", "2", "3", "4"] {
        at.push(fixture.put("pods/a", value).await);
    }
    fixture.pods.wait_for(at[3], WAIT).await.unwrap();
    fixture.store.compact(Revision(at[1])).await.unwrap();
    assert!(matches!(
        fixture.pods.snapshot_at(at[0]).await,
        Err(Error::TooOld { oldest, .. }) if oldest == at[1]
    ));
    assert_eq!(show(&fixture.pods.snapshot_at(at[1]).await.unwrap()), ["a=2"]);
    // Watches see all changes that are kept.
    let mut cursor = fixture.pods.watch(at[0], Interest::Everything).unwrap();
    assert_eq!(changes(&mut cursor).await.len(), 3);

    // The store is not asked for every list; but before long.
    fixture.store.compact(Revision(at[3])).await.unwrap();
    assert_eq!(show(&fixture.pods.snapshot_at(at[2]).await.unwrap()), ["a=3"]);
    fixture.clock.advance(Duration::from_secs(15));
    assert!(matches!(fixture.pods.snapshot_at(at[2]).await, Err(Error::TooOld { .. })));
    assert_eq!(show(&fixture.pods.snapshot_at(at[3]).await.unwrap()), ["a=4"]);
}

#[tokio::test]
async fn pages_of_the_past_are_the_same_however_much_changes_between_them() {
    let fixture = fixture(Limits { changes: 150, bytes: 1 << 20 }).await;
    fixture.pods.ready().await.unwrap();
    let mut at = Vec::new();
    for step in 0..400_u32 {
        let key = format!("pods/{}", step * 7 % 23);
        let revision = match step % 5 {
            4 => fixture.delete(&key).await,
            _ => fixture.put(&key, &(step % 3).to_string()).await,
        };
        fixture.pods.wait_for(revision, WAIT).await.unwrap();
        at.push((revision, fixture.pods.snapshot().unwrap()));
        // Back and forth through the past.
        let (revision, expected) = &at[at.len() - 1 - (step as usize * 13) % at.len().min(140)];
        let past = fixture.pods.snapshot_at(*revision).await.unwrap();
        assert_eq!(show(&past), show(expected));
        for value in ["0", "1", "2"] {
            let keys = |snapshot: &pintle_cache::Snapshot| -> Vec<String> {
                snapshot.by_field(0, value, "").unwrap().map(|entry| entry.key().to_owned()).collect()
            };
            assert_eq!(keys(&past), keys(expected));
        }
    }
    assert!(matches!(fixture.pods.snapshot_at(at[0].0).await, Err(Error::TooOld { .. })));
}

#[tokio::test]
async fn objects_are_found_by_an_indexed_field_in_the_order_of_their_keys() {
    let fixture = fixture(Limits::default()).await;
    fixture.put("pods/a/2", "n1").await;
    fixture.put("pods/b/1", "n1").await;
    fixture.put("pods/a/3", "n2").await;
    fixture.put("pods/a/bad", "bad").await;
    fixture.pods.ready().await.unwrap();
    let found = |value: &str, from: &str| -> String {
        let snapshot = fixture.pods.snapshot().unwrap();
        let found: Vec<_> = snapshot.by_field(0, value, from).unwrap().map(|e| e.key().to_owned()).collect();
        found.join(" ")
    };
    // An object that cannot be read is listed, so that the client gets the error.
    assert_eq!(found("n1", ""), "a/bad a/2 b/1");
    fixture.put("pods/a/bad", "").await;
    fixture.put("pods/a/1", "n1").await;
    fixture.put("pods/a/2", "n2").await;
    let before = fixture.put("pods/c/1", "n1").await;
    fixture.delete("pods/b/1").await;
    fixture.pods.wait_for_current(WAIT).await.unwrap();
    assert_eq!(found("n1", ""), "a/1 c/1");
    assert_eq!(found("n1", "a/1\0"), "c/1");
    assert_eq!(found("n2", ""), "a/2 a/3");
    assert_eq!(found("", ""), "a/bad");
    assert_eq!(found("n", ""), "");
    assert!(fixture.pods.snapshot().unwrap().by_field(1, "n1", "").is_none());
    let old = fixture.pods.snapshot_from_store(before).await.unwrap();
    assert_eq!(old.by_field(0, "n1", "b").unwrap().count(), 2);
}

#[tokio::test]
async fn revisions_before_the_history_are_listed_from_the_store() {
    let fixture = fixture(Limits { changes: 1, bytes: 1 << 20 }).await;
    fixture.pods.ready().await.unwrap();
    for key in ["a/1", "b/1", "b/2", "b/3", "c/1"] {
        fixture.put(&format!("pods/{key}"), "old").await;
    }
    fixture.put("other/x", "1").await;
    let past = fixture.put("pods/b/2", "new").await;
    fixture.put("pods/b/1", "later").await;
    let last = fixture.delete("pods/c/1").await;
    fixture.pods.wait_for(last, WAIT).await.unwrap();
    assert!(matches!(fixture.pods.snapshot_at(past).await, Err(Error::TooOld { .. })));
    let snapshot = fixture.pods.snapshot_from_store(past).await.unwrap();
    assert_eq!(show(&snapshot), ["a/1=old", "b/1=old", "b/2=new", "b/3=old", "c/1=old"]);
    assert_eq!(snapshot.revision, past);
    // An object that has not changed since is the cache's own entry.
    assert!(Arc::ptr_eq(snapshot.objects.get("b/2").unwrap(), &fixture.pods.get("b/2").unwrap()));

    let page = async |prefix: &str, from: &str, limit| {
        let page = fixture.pods.page_from_store(past, prefix, from, limit).await.unwrap();
        let keys: Vec<_> = page.entries.iter().map(|entry| entry.key().to_owned()).collect();
        assert_eq!(page.has_more(), page.remaining > 0);
        (keys.join(" "), page.remaining)
    };
    assert_eq!(page("b/", "", 2).await, ("b/1 b/2".to_owned(), 1));
    assert_eq!(page("b/", "b/2\0", 2).await, ("b/3".to_owned(), 0));
    assert_eq!(page("b/", "b/4", 2).await, (String::new(), 0));
    assert_eq!(page("", "b/3", 0).await, ("b/3 c/1".to_owned(), 0));
    assert_eq!(page("", "", 1).await, ("a/1".to_owned(), 4));

    fixture.store.compact(Revision(last)).await.unwrap();
    let error = fixture.pods.snapshot_from_store(past).await.unwrap_err();
    assert!(matches!(error, Error::Storage(pintle_storage::Error::Compacted { .. })), "{error}");
    let error = fixture.pods.page_from_store(past, "b/", "", 2).await.unwrap_err();
    assert!(matches!(error, Error::Storage(pintle_storage::Error::Compacted { .. })), "{error}");
}

#[tokio::test]
async fn changes_elsewhere_are_progress() {
    let fixture = fixture(Limits::default()).await;
    fixture.pods.ready().await.unwrap();
    let (snapshot, mut cursor) = fixture.pods.snapshot_and_watch(Interest::Everything).unwrap();
    let elsewhere = fixture.put("other/x", "1").await;
    fixture.pods.wait_for(elsewhere, WAIT).await.unwrap();
    assert!(elsewhere > snapshot.revision);
    assert_eq!(cursor.progress(), Some(elsewhere));
    assert!(fixture.feed.seen() >= elsewhere);
    fixture.put("pods/a", "1").await;
    fixture.pods.wait_for_current(WAIT).await.unwrap();
    assert_eq!(cursor.progress(), None);
}

#[tokio::test]
async fn an_unreadable_value_does_not_stop_the_others() {
    let fixture = fixture(Limits::default()).await;
    fixture.pods.ready().await.unwrap();
    fixture.put("pods/a", "bad").await;
    fixture.put("pods/b", "good").await;
    assert_eq!(fixture.contents().await, ["a=it is bad", "b=good"]);
}

/// Writers and readers at once: every snapshot is what the store had at its revision.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_is_exactly_the_store_at_its_revision() {
    let fixture = Arc::new(fixture(Limits::default()).await);
    fixture.pods.ready().await.unwrap();
    let writer = {
        let fixture = fixture.clone();
        tokio::spawn(async move {
            for step in 0..400u32 {
                let key = format!("pods/{}", step * 7 % 13);
                if step % 5 == 4 {
                    fixture.delete(&key).await;
                } else {
                    fixture.put(&key, &step.to_string()).await;
                }
            }
        })
    };
    while !writer.is_finished() {
        let snapshot = fixture.pods.snapshot().unwrap();
        let request = RangeRequest {
            prefix: Bytes::from_static(b"/r/pods/"),
            at: Some(Revision(snapshot.revision)),
            ..Default::default()
        };
        let stored = fixture.store.range(request).await.unwrap();
        let stored: Vec<(String, Revision)> = stored
            .kvs
            .iter()
            .map(|kv| (String::from_utf8_lossy(&kv.key[8..]).into_owned(), kv.mod_revision))
            .collect();
        let cached: Vec<(String, Revision)> =
            snapshot.objects.iter().map(|e| (e.key().to_owned(), Revision(e.revision()))).collect();
        assert_eq!(cached, stored, "at {}", snapshot.revision);
        tokio::task::yield_now().await;
    }
    writer.await.unwrap();
}

#[tokio::test]
async fn a_closed_store_ends_the_feed_and_what_was_seen_stays() {
    let fixture = fixture(Limits::default()).await;
    fixture.pods.ready().await.unwrap();
    let (_, mut cursor) = fixture.pods.snapshot_and_watch(Interest::Everything).unwrap();
    fixture.put("pods/a", "1").await;
    fixture.pods.wait_for_current(WAIT).await.unwrap();
    fixture.store.close().await.unwrap();
    assert_eq!(changes(&mut cursor).await, ["+a"]);
    assert!(fixture.pods.wait_for(1000, Duration::from_millis(10)).await.is_err());
}
