//! Ends of watches.

use std::time::Duration;

use crate::rest::testing::{BOATS, Boats, BoatsConfig, next_frame};

/// The ERROR event in a frame of JSON, by its code and message.
fn error(frame: &str) -> (u64, String) {
    let event: serde_json::Value = serde_json::from_str(frame).unwrap();
    assert_eq!(event["type"], "ERROR", "{frame}");
    assert_eq!(event["object"]["kind"], "Status");
    (event["object"]["code"].as_u64().unwrap(), event["object"]["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_watch_ends_at_the_time_of_the_clock() {
    let boats = Boats::start(BoatsConfig::default()).await;
    boats.create("a").await;
    let mut watch = boats.request(&format!("GET {BOATS}?watch=1&timeoutSeconds=100"), &[], "").await;
    assert!(next_frame(&mut watch).await.unwrap().contains("ADDED"));
    boats.clock.advance(Duration::from_secs(99));
    boats.create("b").await;
    assert!(next_frame(&mut watch).await.unwrap().contains("\"b\""));
    boats.clock.advance(Duration::from_secs(1));
    assert_eq!(next_frame(&mut watch).await, None);
}

#[tokio::test]
async fn bookmarks_come_within_a_minute_of_the_clock() {
    let boats = Boats::start(BoatsConfig::default()).await;
    boats.create("a").await;
    let mut watch = boats.request(&format!("GET {BOATS}?watch=1&allowWatchBookmarks=1"), &[], "").await;
    assert!(next_frame(&mut watch).await.unwrap().contains("ADDED"));
    for _ in 0..2 {
        boats.clock.advance(Duration::from_secs(60));
        assert!(next_frame(&mut watch).await.unwrap().contains("BOOKMARK"));
    }
}

#[tokio::test]
async fn a_bookmark_that_cannot_be_encoded_is_an_error_event() {
    let boats = Boats::start(BoatsConfig::default()).await;
    boats.create("a").await;
    let accept = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let line = format!("GET {BOATS}?watch=1&allowWatchBookmarks=1&resourceVersion=1");
    let mut watch = boats.request(&line, &[accept], "").await;
    let first = next_frame(&mut watch).await.unwrap();
    assert!(first.contains("ADDED"), "{first}");
    boats.clock.advance(Duration::from_secs(60));
    let (code, message) = error(&next_frame(&mut watch).await.unwrap());
    assert_eq!((code, message.as_str()), (500, "Internal error occurred: a boat without a name"));
    assert_eq!(next_frame(&mut watch).await, None, "it is the last event");
}

#[tokio::test]
async fn a_failure_of_the_store_ends_an_uncached_watch_with_an_error_event() {
    let boats = Boats::start(BoatsConfig { without_watch_cache: true, ..BoatsConfig::default() }).await;
    boats.create("a").await;
    let mut watch = boats.request(&format!("GET {BOATS}?watch=1"), &[], "").await;
    assert!(next_frame(&mut watch).await.unwrap().contains("ADDED"));
    boats.backend.close().await.unwrap();
    let (code, message) = error(&next_frame(&mut watch).await.unwrap());
    assert_eq!((code, message.as_str()), (500, "Internal error occurred: storage is closed"));
    assert_eq!(next_frame(&mut watch).await, None);
}

#[tokio::test]
async fn a_shutdown_ends_watches_within_the_grace_period() {
    let watch_termination = Some(Duration::from_secs(10));
    let boats = Boats::start(BoatsConfig { watch_termination, ..BoatsConfig::default() }).await;
    let line = format!("GET {BOATS}?watch=1");
    let mut first = boats.request(&line, &[], "").await;
    let mut second = boats.request(&line, &[], "").await;
    boats.shutdown.set();
    assert_eq!(next_frame(&mut first).await, None, "at once");
    boats.create("a").await;
    assert!(next_frame(&mut second).await.unwrap().contains("ADDED"), "a little later");
    boats.clock.advance(Duration::from_secs(10));
    assert_eq!(next_frame(&mut second).await, None);
}
