//! Giving up history.

use super::Capabilities;
use super::support::{
    Store, bytes, change, changes, delete, get, get_at, keys, last_words, put, range, watch,
};
use crate::{Error, RangeRequest, Revision, WatchRequest};

fn compacted(error: &Error, revision: Revision) -> bool {
    matches!(error, Error::Compacted { requested, .. } if *requested == revision)
}

/// `/c/a` at four revisions, compacted to the third.
async fn history(store: &Store) -> [Revision; 4] {
    let mut revisions = [Revision::ZERO; 4];
    for (i, revision) in revisions.iter_mut().enumerate() {
        *revision = put(store, "/c/a", &i.to_string()).await;
    }
    store.compact(revisions[2]).await.unwrap();
    revisions
}

pub async fn reads_before_the_compacted_revision_fail(store: Store, _: Capabilities) {
    let [one, two, three, four] = history(&store).await;
    for gone in [one, two] {
        let error = get_at(&store, "/c/a", gone).await.unwrap_err();
        assert!(compacted(&error, gone), "{error:?}");
        let request = RangeRequest { prefix: bytes("/c/"), at: Some(gone), ..RangeRequest::default() };
        let error = store.range(request).await.unwrap_err();
        assert!(compacted(&error, gone), "{error:?}");
    }
    assert_eq!(
        get_at(&store, "/c/a", three).await.unwrap().unwrap().value,
        "2",
        "the compacted revision itself stays"
    );
    assert_eq!(get_at(&store, "/c/a", four).await.unwrap().unwrap().value, "3");
    let known = store.compacted_revision().await.unwrap();
    assert!(known == three || known == Revision::ZERO, "{known}");
}

pub async fn compacting_again_is_not_an_error(store: Store, _: Capabilities) {
    let [one, _, three, four] = history(&store).await;
    store.compact(three).await.unwrap();
    store.compact(one).await.unwrap();
    assert!(get_at(&store, "/c/a", three).await.is_ok(), "compacting never goes back or ahead by itself");
    store.compact(four).await.unwrap();
    assert!(compacted(&get_at(&store, "/c/a", three).await.unwrap_err(), three));
}

pub async fn compacting_ahead_of_the_store_is_refused(store: Store, _: Capabilities) {
    let now = put(&store, "/a", "").await;
    let error = store.compact(Revision(now.0 + 5)).await.unwrap_err();
    assert!(
        matches!(error, Error::FutureRevision { requested, .. } if requested.0 == now.0 + 5),
        "{error:?}"
    );
    assert!(get_at(&store, "/a", now).await.is_ok());
}

pub async fn compaction_keeps_what_is_there(store: Store, _: Capabilities) {
    let old = put(&store, "/k/old", "untouched").await;
    put(&store, "/k/gone", "").await;
    put(&store, "/k/new", "1").await;
    delete(&store, "/k/gone").await;
    let last = put(&store, "/k/new", "2").await;
    store.compact(last).await.unwrap();
    assert_eq!(store.current_revision().await.unwrap(), last, "compacting takes no revision");
    let found = range(&store, "/k/", None).await;
    assert_eq!(keys(&found), ["/k/new", "/k/old"]);
    let kv = get(&store, "/k/old").await.unwrap();
    assert_eq!((kv.create_revision, kv.mod_revision), (old, old), "versions survive");
    assert_eq!(put(&store, "/k/new", "3").await, last.next());
}

pub async fn a_watch_from_before_the_compacted_revision_ends(store: Store, _: Capabilities) {
    let [one, two, ..] = history(&store).await;
    for from in [Revision::ZERO, one, two] {
        let request = WatchRequest { prefix: bytes("/c/"), from, prev: true, progress: true };
        let error = match store.watch(request).await {
            Ok(stream) => last_words(stream).await,
            Err(error) => error,
        };
        assert!(compacted(&error, from), "from {from}: {error:?}");
    }
}

pub async fn a_watch_from_after_the_compacted_revision_goes_on(store: Store, _: Capabilities) {
    let [.., four] = history(&store).await;
    let mut from_history = watch(&store, "/c/", four).await;
    let mut from_now = watch(&store, "/c/", four.next()).await;
    assert_eq!(changes(&mut from_history).await.0, four);
    // Both have seen everything, so that giving up all history concerns neither.
    for value in ["4", "5"] {
        let written = put(&store, "/c/a", value).await;
        store.compact(Revision(written.0 - 1)).await.unwrap();
        for stream in [&mut from_history, &mut from_now] {
            let (revision, events) = changes(stream).await;
            assert_eq!(revision, written);
            assert_eq!(change(&events[0]).1.as_deref(), Some(value));
        }
    }
}

pub async fn compaction_under_load_holds_nobody_up(store: Store, _: Capabilities) {
    let from = store.current_revision().await.unwrap().next();
    let mut stream = watch(&store, "/busy/", from).await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let store = store.clone();
        writers.spawn(async move {
            for i in 0..50 {
                put(&store, &format!("/busy/{writer}"), &i.to_string()).await;
            }
        });
    }
    let mut expected = from;
    while expected.0 < from.0 + 400 {
        let (revision, _) = changes(&mut stream).await;
        assert_eq!(revision, expected);
        if revision.0.is_multiple_of(20) {
            // The watcher has seen everything before this revision, so compacting there must not end it.
            store.compact(revision).await.unwrap();
        }
        expected = expected.next();
    }
    writers.join_all().await;
    for writer in 0..8 {
        assert_eq!(get(&store, &format!("/busy/{writer}")).await.unwrap().value, "49");
    }
}
