//! Progress on request.

use super::Capabilities;
use super::support::{Store, next, put, watch};
use crate::{Error, Revision, WatchItem, WatchStream};

async fn progress(stream: &mut WatchStream, at_least: Revision) -> Revision {
    loop {
        match next(stream).await.expect("progress") {
            WatchItem::Progress(revision) if revision >= at_least => return revision,
            WatchItem::Progress(_) => {}
            WatchItem::Changes { events, .. } => panic!("nothing changed here: {events:?}"),
        }
    }
}

/// Whether the store has progress; one that has not must say so.
async fn supported(store: &Store, capabilities: Capabilities) -> bool {
    match store.request_progress().await {
        Ok(()) => assert!(capabilities.progress, "the fixture says that progress is not supported"),
        Err(Error::Unsupported(_)) => {
            assert!(!capabilities.progress, "the fixture says that progress is supported");
        }
        Err(error) => panic!("request_progress: {error}"),
    }
    capabilities.progress
}

pub async fn requested_progress_reaches_the_newest_revision_where_nothing_changed(
    store: Store,
    capabilities: Capabilities,
) {
    if !supported(&store, capabilities).await {
        return;
    }
    let from = store.current_revision().await.unwrap().next();
    let mut quiet = watch(&store, "/quiet/", from).await;
    let mut ahead = watch(&store, "/quiet/", Revision(from.0 + 5)).await;
    for _ in 0..5 {
        let now = put(&store, "/busy/a", "").await;
        store.request_progress().await.unwrap();
        assert!(progress(&mut quiet, now).await >= now);
    }
    let now = put(&store, "/busy/a", "").await;
    store.request_progress().await.unwrap();
    progress(&mut ahead, now).await;
    progress(&mut quiet, now).await;
    store.request_progress().await.unwrap();
    progress(&mut quiet, now).await;
}

pub async fn requested_progress_follows_the_events_before_it(store: Store, capabilities: Capabilities) {
    if !supported(&store, capabilities).await {
        return;
    }
    for _ in 0..300 {
        put(&store, "/p/a", "").await;
    }
    let until = store.current_revision().await.unwrap();
    for from in [Revision::ZERO, Revision(until.0 - 100), until] {
        let mut stream = watch(&store, "/p/", from).await;
        store.request_progress().await.unwrap();
        let mut seen = Revision::ZERO;
        loop {
            match next(&mut stream).await.unwrap() {
                WatchItem::Changes { revision, .. } => seen = revision,
                WatchItem::Progress(revision) => {
                    let due = if revision >= from { revision.min(until) } else { Revision::ZERO };
                    assert!(seen >= due, "progress {revision} before the change at {}", seen.next());
                    if revision >= until {
                        break;
                    }
                }
            }
        }
    }
}
