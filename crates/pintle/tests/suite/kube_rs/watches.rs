//! The watch verb itself: which events come, and when a watch ends.

use std::time::Duration;

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Resource, ResourceExt};
use tokio::time::timeout;

use super::{api, config_map};
use crate::support::PATIENCE;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    every_change_is_one_event_in_order,
    selections_are_entered_and_left,
    a_watch_begins_where_it_is_told,
    a_watch_ends_in_time_after_a_bookmark,
    metadata_is_watched_alone,
    one_name_is_watched,
}

/// An event in short, such as `ADDED name 17`.
pub(crate) async fn next<K: Resource>(
    events: &mut (impl Stream<Item = kube::Result<WatchEvent<K>>> + Unpin),
) -> (&'static str, String, u64) {
    let event = timeout(PATIENCE, events.next()).await.expect("an event in time").expect("the watch goes on");
    let number = |text: Option<String>| text.expect("a version").parse().expect("a number");
    let short = |name, object: K| (name, object.name_any(), number(object.resource_version()));
    match event.expect("an event") {
        WatchEvent::Added(object) => short("ADDED", object),
        WatchEvent::Modified(object) => short("MODIFIED", object),
        WatchEvent::Deleted(object) => short("DELETED", object),
        WatchEvent::Bookmark(bookmark) => {
            ("BOOKMARK", String::new(), number(Some(bookmark.metadata.resource_version)))
        }
        WatchEvent::Error(status) => ("ERROR", status.message, u64::from(status.code)),
    }
}

fn quiet() -> WatchParams {
    WatchParams::default().disable_bookmarks()
}

async fn version(api: &Api<ConfigMap>) -> String {
    let list = api.list(&ListParams::default()).await.expect("a list");
    list.metadata.resource_version.expect("a version")
}

async fn every_change_is_one_event_in_order(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "watches-order").await;
    let start = version(&api).await;
    let mut events = api.watch(&quiet(), &start).await.expect("a watch").boxed();
    let post = PostParams::default();
    let created = api.create(&post, &config_map("a", "1")).await.expect("created");
    let other = api.create(&post, &config_map("b", "1")).await.expect("created");
    let replaced = api.replace("a", &post, &config_map("a", "2")).await.expect("replaced");
    api.replace("a", &post, &replaced).await.expect("the same again, which is no change");
    api.delete("a", &DeleteParams::default()).await.expect("deleted");
    let mut last = start.parse().expect("a number");
    for (kind, name, object) in [
        ("ADDED", "a", Some(&created)),
        ("ADDED", "b", Some(&other)),
        ("MODIFIED", "a", Some(&replaced)),
        ("DELETED", "a", None),
    ] {
        let (got, got_name, revision) = next(&mut events).await;
        assert_eq!((got, got_name.as_str()), (kind, name));
        assert!(revision > last, "{revision} after {last}");
        last = revision;
        if let Some(object) = object {
            assert_eq!(object.resource_version(), Some(revision.to_string()));
        }
    }
    api.create(&post, &config_map("last", "1")).await.expect("created");
    assert_eq!(next(&mut events).await.1, "last", "nothing in between");
}

async fn selections_are_entered_and_left(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "watches-selection").await;
    let post = PostParams::default();
    let start = version(&api).await;
    let mut events = api.watch(&quiet().labels("value=in"), &start).await.expect("a watch").boxed();
    api.create(&post, &config_map("a", "out")).await.expect("created");
    api.replace("a", &post, &config_map("a", "in")).await.expect("replaced");
    let left = api.replace("a", &post, &config_map("a", "out")).await.expect("replaced");
    api.delete("a", &DeleteParams::default()).await.expect("deleted");
    api.create(&post, &config_map("b", "in")).await.expect("created");
    let (kind, name, _) = next(&mut events).await;
    assert_eq!((kind, name.as_str()), ("ADDED", "a"));
    let event =
        timeout(PATIENCE, events.next()).await.expect("in time").expect("an event").expect("an event");
    let WatchEvent::Deleted(gone) = event else { panic!("{event:?}") };
    assert_eq!(gone.labels()["value"], "in", "as it was last seen");
    assert_eq!(gone.resource_version(), left.resource_version(), "at the version where it left");
    let (kind, name, _) = next(&mut events).await;
    assert_eq!((kind, name.as_str()), ("ADDED", "b"));
}

async fn a_watch_begins_where_it_is_told(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "watches-start").await;
    let post = PostParams::default();
    let first = api.create(&post, &config_map("a", "1")).await.expect("created");
    api.create(&post, &config_map("b", "1")).await.expect("created");
    api.delete("b", &DeleteParams::default()).await.expect("deleted");
    // From a version: all that happened since.
    let mut events =
        api.watch(&quiet(), &first.resource_version().expect("a version")).await.expect("a watch").boxed();
    for expect in ["ADDED", "DELETED"] {
        let (kind, name, _) = next(&mut events).await;
        assert_eq!((kind, name.as_str()), (expect, "b"));
    }
    // From nothing, or from anything: what is there now, as if it had just been added.
    for start in ["", "0"] {
        let mut events = api.watch(&quiet(), start).await.expect("a watch").boxed();
        let (kind, name, revision) = next(&mut events).await;
        assert_eq!(
            (kind, name.as_str(), Some(revision.to_string())),
            ("ADDED", "a", first.resource_version())
        );
    }
    // With initial events: the same, and their end is told.
    let before: u64 = version(&api).await.parse().expect("a number");
    let mut events = api.watch(&WatchParams::default().initial_events(), "").await.expect("a watch").boxed();
    assert_eq!(next(&mut events).await.0, "ADDED");
    let (kind, _, revision) = next(&mut events).await;
    assert_eq!(kind, "BOOKMARK");
    assert!(revision >= before, "others write to the store, too");
}

async fn a_watch_ends_in_time_after_a_bookmark(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "watches-end").await;
    let start = version(&api).await;
    let params = WatchParams::default().timeout(3);
    let mut events = api.watch(&params, &start).await.expect("a watch").boxed();
    let all = timeout(Duration::from_secs(10), async {
        let mut bookmarks = Vec::new();
        while let Some(event) = events.next().await {
            match event.expect("an event") {
                WatchEvent::Bookmark(bookmark) => bookmarks.push(bookmark.metadata.resource_version),
                other => panic!("{other:?}"),
            }
        }
        bookmarks
    });
    let bookmarks = all.await.expect("it ends");
    assert!(!bookmarks.is_empty(), "where to go on from");
    for revision in bookmarks {
        assert!(revision.parse::<u64>().expect("a number") >= start.parse().expect("a number"));
    }
}

async fn metadata_is_watched_alone(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "watches-metadata").await;
    let created = api.create(&PostParams::default(), &config_map("a", "1")).await.expect("created");
    let mut events = api.watch_metadata(&quiet(), "0").await.expect("a watch").boxed();
    let event =
        timeout(PATIENCE, events.next()).await.expect("in time").expect("an event").expect("an event");
    let WatchEvent::Added(object) = event else { panic!("{event:?}") };
    assert_eq!(object.types.as_ref().map(|types| types.kind.as_str()), Some("PartialObjectMetadata"));
    assert_eq!(object.metadata, created.metadata);
}

async fn one_name_is_watched(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "watches-name").await;
    let post = PostParams::default();
    let start = version(&api).await;
    let mut events = api.watch(&quiet().fields("metadata.name=b"), &start).await.expect("a watch").boxed();
    for name in ["a", "b", "c"] {
        api.create(&post, &config_map(name, "1")).await.expect("created");
    }
    api.delete("b", &DeleteParams::default()).await.expect("deleted");
    for expect in ["ADDED", "DELETED"] {
        let (kind, name, _) = next(&mut events).await;
        assert_eq!((kind, name.as_str()), (expect, "b"));
    }
}
