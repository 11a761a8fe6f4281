//! Health, figures and the end.

use super::Capabilities;
use super::support::{Store, bytes, last_words, put, watch};
use crate::{Error, RangeRequest, Revision, Txn, WatchRequest};

pub async fn a_store_reports_its_health_and_size(store: Store, _: Capabilities) {
    store.health().await.unwrap();
    for i in 0..20 {
        put(&store, &format!("/s/{i}"), &"x".repeat(10_000)).await;
    }
    let stats = store.stats().await.unwrap();
    assert!(stats.size > 0);
    assert!(stats.size_in_use > 0 && stats.size_in_use <= stats.size, "{stats:?}");
}

pub async fn closing_ends_watches_and_refuses_requests(store: Store, _: Capabilities) {
    let now = put(&store, "/a", "").await;
    let stream = watch(&store, "/", now.next()).await;
    store.close().await.unwrap();
    assert_eq!(last_words(stream).await, Error::Closed);
    assert_eq!(store.txn(Txn::put(bytes("/b"), bytes(""))).await.unwrap_err(), Error::Closed);
    assert_eq!(store.get(b"/a", None).await.unwrap_err(), Error::Closed);
    assert_eq!(store.range(RangeRequest::default()).await.unwrap_err(), Error::Closed);
    assert_eq!(store.current_revision().await.unwrap_err(), Error::Closed);
    let request = WatchRequest { from: Revision(1), ..WatchRequest::default() };
    let error = match store.watch(request).await {
        Ok(stream) => last_words(stream).await,
        Err(error) => error,
    };
    assert_eq!(error, Error::Closed);
    store.close().await.expect("closing twice is not an error");
}
