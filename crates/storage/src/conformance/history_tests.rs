//! A judge that never convicts is worth nothing: each guarantee is broken here by hand, and only its judge may say so.

use bytes::Bytes;

use super::{
    Commit, Guarantee, Recording, Violation, atomic, bookmarkable, check, ordered, reliable, resumable,
    unique,
};
use crate::{Event, KeyValue, Revision, WatchItem};

/// 5 changes a and b, 6 changes a, 7 deletes b.
fn history() -> Vec<Commit> {
    let commit = |revision, changes: &[(&'static str, Option<&'static str>)]| Commit {
        revision: Revision(revision),
        changes: changes.iter().map(|(key, value)| (Bytes::from(*key), value.map(Bytes::from))).collect(),
    };
    vec![
        commit(5, &[("/a", Some("5")), ("/b", Some("5"))]),
        commit(6, &[("/a", Some("6"))]),
        commit(7, &[("/b", None)]),
    ]
}

fn event(revision: u64, key: &'static str) -> Event {
    let (key, revision) = (Bytes::from(key), Revision(revision));
    if revision.0 == 7 {
        return Event::Delete { key, revision, prev: None };
    }
    let value = Bytes::from(revision.to_string());
    let kv = KeyValue {
        key,
        value,
        create_revision: Revision(5),
        mod_revision: revision,
        lease: None,
        stale: false,
    };
    Event::Put { kv, prev: None }
}

fn batch(revision: u64, keys: &[&'static str]) -> WatchItem {
    let events = keys.iter().map(|key| event(revision, key)).collect();
    WatchItem::Changes { revision: Revision(revision), events }
}

fn progress(revision: u64) -> WatchItem {
    WatchItem::Progress(Revision(revision))
}

fn recording(from: u64, items: Vec<WatchItem>) -> Recording {
    Recording {
        name: "test".into(),
        prefix: Bytes::from("/"),
        from: Revision(from),
        until: Revision(7),
        items,
    }
}

fn good() -> Recording {
    recording(
        5,
        vec![progress(4), batch(5, &["/a", "/b"]), batch(6, &["/a"]), batch(7, &["/b"]), progress(7)],
    )
}

fn broken(result: Result<(), Violation>) -> Guarantee {
    result.expect_err("this history is bad").guarantee
}

#[test]
fn a_good_history_keeps_all_guarantees() {
    let resumed = recording(6, vec![batch(6, &["/a"]), batch(7, &["/b"])]);
    let narrow =
        Recording { prefix: Bytes::from("/b"), ..recording(5, vec![batch(5, &["/b"]), batch(7, &["/b"])]) };
    check(&history(), &good(), &[resumed, narrow]).unwrap();
}

#[test]
fn a_batch_after_a_later_one_is_not_ordered() {
    let bad = recording(5, vec![batch(6, &["/a"]), batch(5, &["/a", "/b"]), batch(7, &["/b"])]);
    assert_eq!(broken(ordered(&bad)), Guarantee::Ordered);
    unique(&bad)
        .and(atomic(&history(), &bad))
        .and(reliable(&history(), &bad))
        .and(bookmarkable(&bad))
        .unwrap();
}

#[test]
fn an_event_of_another_revision_in_a_batch_is_not_ordered() {
    let mixed = WatchItem::Changes { revision: Revision(6), events: vec![event(6, "/a"), event(7, "/b")] };
    assert_eq!(broken(ordered(&recording(5, vec![mixed]))), Guarantee::Ordered);
}

#[test]
fn a_change_delivered_twice_is_not_unique() {
    let bad =
        recording(5, vec![batch(5, &["/a", "/b"]), batch(6, &["/a"]), batch(6, &["/a"]), batch(7, &["/b"])]);
    assert_eq!(broken(unique(&bad)), Guarantee::Unique);
    ordered(&bad)
        .and(atomic(&history(), &bad))
        .and(reliable(&history(), &bad))
        .and(bookmarkable(&bad))
        .unwrap();
}

#[test]
fn a_transaction_in_two_batches_is_not_atomic() {
    let bad = recording(5, vec![batch(5, &["/a"]), batch(5, &["/b"]), batch(6, &["/a"]), batch(7, &["/b"])]);
    assert_eq!(broken(atomic(&history(), &bad)), Guarantee::Atomic);
    ordered(&bad).and(unique(&bad)).and(reliable(&history(), &bad)).and(bookmarkable(&bad)).unwrap();
}

#[test]
fn an_invented_change_is_not_atomic() {
    let bad = recording(5, vec![batch(6, &["/a", "/c"])]);
    assert_eq!(broken(atomic(&history(), &bad)), Guarantee::Atomic);
    let bad = recording(5, vec![batch(8, &["/a"])]);
    assert_eq!(broken(atomic(&history(), &bad)), Guarantee::Atomic);
}

#[test]
fn a_skipped_change_is_not_reliable() {
    let bad = recording(5, vec![batch(5, &["/a", "/b"]), batch(7, &["/b"])]);
    assert_eq!(broken(reliable(&history(), &bad)), Guarantee::Reliable);
    ordered(&bad).and(unique(&bad)).and(atomic(&history(), &bad)).and(bookmarkable(&bad)).unwrap();
}

#[test]
fn a_late_watch_that_sees_something_else_is_not_resumable() {
    let skipped = recording(6, vec![batch(7, &["/b"])]);
    assert_eq!(broken(resumable(&good(), &skipped)), Guarantee::Resumable);
    let early = recording(6, vec![batch(5, &["/a", "/b"]), batch(6, &["/a"]), batch(7, &["/b"])]);
    assert_eq!(broken(resumable(&good(), &early)), Guarantee::Resumable);
}

#[test]
fn progress_that_overtakes_a_change_is_not_bookmarkable() {
    let bad = recording(5, vec![batch(5, &["/a", "/b"]), progress(6), batch(6, &["/a"]), batch(7, &["/b"])]);
    assert_eq!(broken(bookmarkable(&bad)), Guarantee::Bookmarkable);
    ordered(&bad).and(unique(&bad)).and(atomic(&history(), &bad)).and(reliable(&history(), &bad)).unwrap();
    let back = recording(5, vec![progress(7), progress(6)]);
    assert_eq!(broken(bookmarkable(&back)), Guarantee::Bookmarkable);
}

#[test]
fn check_names_the_broken_guarantee_of_any_watch() {
    let bad = recording(6, vec![batch(6, &["/a"])]);
    assert_eq!(broken(check(&history(), &good(), &[bad])), Guarantee::Reliable);
}
