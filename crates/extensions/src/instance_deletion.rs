//! The deletion of all objects of a definition. Finalizers are waited for, up to a limit.

use std::time::{Duration, Instant};

use pintle_meta::Status;
use pintle_registry::{AdmitAll, Context, DeleteOptions, Listed, Store};
use pintle_runtime::Clock;

use crate::conditions::{Condition, terminating};

/// Number of objects that are deleted at once.
const WORKERS: usize = 32;

/// Number of deletions after which it is checked again that the definition is still the same.
const BATCH: usize = 1024;

/// Time in which other servers learn of a deletion.
const PROPAGATION: Duration = Duration::from_millis(500);

/// Interval at which objects with finalizers are listed again.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Time after which a condition reports objects with finalizers; the reference's.
const FINALIZER_TIMEOUT: Duration = Duration::from_secs(60);

/// The reason why objects may be left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeletionFailure {
    /// Listing the objects failed.
    List(String),
    /// Deleting some of them failed.
    Delete(String),
    /// Objects are left, or listing them again failed.
    Check(String),
}

impl DeletionFailure {
    /// Returns the condition that reports it.
    pub(crate) fn condition(&self) -> Condition {
        let (reason, message) = match self {
            DeletionFailure::List(why) => {
                ("InstanceDeletionFailed", format!("could not list instances: {why}"))
            }
            DeletionFailure::Delete(why) => {
                ("InstanceDeletionFailed", format!("could not issue all deletes: {why}"))
            }
            DeletionFailure::Check(why) => {
                let message = format!("could not confirm zero CustomResources remaining: {why}");
                ("InstanceDeletionCheck", message)
            }
        };
        terminating(true, reason, message)
    }

    pub(crate) fn reason(&self) -> &str {
        match self {
            DeletionFailure::List(why) | DeletionFailure::Delete(why) | DeletionFailure::Check(why) => why,
        }
    }
}

/// Deletes all objects of a store, until there are none left or `is_due` says that they are another definition's by now. It is
/// asked after they were listed; its errors say why that cannot be told.
pub(crate) async fn delete_all<F>(
    store: &Store,
    clock: &Clock,
    is_due: impl Fn() -> F + Send + Sync,
) -> Result<(), DeletionFailure>
where
    F: Future<Output = Result<bool, String>> + Send,
{
    let context = Context::default();
    let message = |status: Box<Status>| status.message;
    // Another server on the same store may learn a moment later that nothing new is let in.
    let mut has_waited = store.config().backend.known_revision().is_some();
    // The time at which all objects without finalizers were deleted.
    let mut asked: Option<Instant> = None;
    loop {
        let all = store.select(&context, |_| true).await.map_err(message);
        let all = all.map_err(|why| {
            if asked.is_some() { DeletionFailure::Check(why) } else { DeletionFailure::List(why) }
        })?;
        if all.entries.is_empty() {
            if std::mem::replace(&mut has_waited, true) {
                return Ok(());
            }
            clock.sleep(PROPAGATION).await;
            continue;
        }
        match asked {
            Some(since) if clock.instant().saturating_duration_since(since) >= FINALIZER_TIMEOUT => {
                return Err(DeletionFailure::Check("context deadline exceeded".into()));
            }
            // The rest have finalizers.
            Some(_) => clock.sleep(POLL_INTERVAL).await,
            None => {}
        }
        let options = DeleteOptions::default();
        for some in all.entries.chunks(BATCH) {
            if !is_due().await.map_err(DeletionFailure::Check)? {
                return Ok(());
            }
            let deleted = store.delete_each(&context, some, Listed::Same, &AdmitAll, &options, WORKERS).await;
            deleted.map_err(|status| DeletionFailure::Delete(status.message))?;
        }
        asked.get_or_insert_with(|| clock.instant());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use bytes::Bytes;
    use pintle_cache::{Feed, Limits};
    use pintle_registry::testing::{Untyped, object};
    use pintle_registry::{StoreConfig, Strategy, WriteOptions};
    use pintle_runtime::ManualClock;
    use pintle_storage::{Backend, Txn};
    use pintle_storage_embedded::Options;

    use super::*;

    struct NoRules;

    impl Strategy for NoRules {}

    const PREFIX: &[u8] = b"/registry/example.com/boats/";

    async fn store() -> (Arc<dyn Backend>, Arc<Feed>, Store) {
        let options = Options::memory();
        let backend: Arc<dyn Backend> = Arc::new(pintle_storage_embedded::Store::open(options).unwrap());
        let feed = Feed::start(backend.clone(), Bytes::from_static(PREFIX), Limits::default()).await.unwrap();
        let feed = Arc::new(feed);
        let store = Store::new(StoreConfig {
            group: "example.com".into(),
            resource: "boats".into(),
            kind: "Boat".into(),
            namespaced: false,
            prefix: Bytes::from_static(PREFIX),
            backend: backend.clone(),
            cache: feed.resource(Bytes::from_static(PREFIX), || Arc::new(Untyped)),
            stored: Arc::new(Untyped),
            strategy: Arc::new(NoRules),
        });
        (backend, feed, store)
    }

    async fn boat(store: &Store, name: &str, metadata: &str) {
        let boat = object(&format!(
            r#"{{"apiVersion":"example.com/v1","kind":"Boat","metadata":{{"name":"{name}"{metadata}}}}}"#
        ));
        let mut context = Context::default();
        store.create(&mut context, &boat, &AdmitAll, WriteOptions::default()).await.unwrap();
    }

    #[tokio::test]
    async fn objects_with_finalizers_are_reported_after_a_minute() {
        let (_backend, _feed, store) = store().await;
        boat(&store, "free", "").await;
        boat(&store, "held", r#","finalizers":["example.com/anchor"]"#).await;
        let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let clock = manual.clock();
        let passing = async {
            loop {
                manual.advance(POLL_INTERVAL / 2);
                tokio::task::yield_now().await;
            }
        };
        let stuck = tokio::select! {
            result = delete_all(&store, &clock, || async { Ok(true) }) => result.unwrap_err(),
            () = passing => unreachable!(),
        };
        assert_eq!(stuck, DeletionFailure::Check("context deadline exceeded".into()));
        assert!(clock.now() >= SystemTime::UNIX_EPOCH + FINALIZER_TIMEOUT);
        let condition = stuck.condition();
        assert_eq!((condition.reason, condition.status), ("InstanceDeletionCheck", "True"));
        let message = "could not confirm zero CustomResources remaining: context deadline exceeded";
        assert_eq!(condition.message, message);
        let context = Context::default();
        assert_eq!(store.select(&context, |_| true).await.unwrap().entries.len(), 1);
    }

    #[tokio::test]
    async fn objects_without_finalizers_are_deleted_at_once() {
        let (_backend, _feed, store) = store().await;
        boat(&store, "a", "").await;
        boat(&store, "b", "").await;
        assert_eq!(delete_all(&store, &Clock::system(), || async { Ok(true) }).await, Ok(()));
    }

    #[tokio::test]
    async fn objects_of_another_definition_are_left_alone() {
        let (_backend, _feed, store) = store().await;
        boat(&store, "a", "").await;
        assert_eq!(delete_all(&store, &Clock::system(), || async { Ok(false) }).await, Ok(()));
        let unknown =
            delete_all(&store, &Clock::system(), || async { Err("it is not known".to_owned()) }).await;
        assert_eq!(unknown, Err(DeletionFailure::Check("it is not known".into())));
        assert_eq!(store.select(&Context::default(), |_| true).await.unwrap().entries.len(), 1);
    }

    #[tokio::test]
    async fn a_failed_deletion_is_reported() {
        let (backend, _feed, store) = store().await;
        let junk = Txn::put(Bytes::from([PREFIX, b"junk"].concat()), Bytes::from("junk"));
        backend.txn(junk).await.unwrap();
        let stuck = delete_all(&store, &Clock::system(), || async { Ok(true) }).await.unwrap_err();
        assert_eq!(stuck.condition().reason, "InstanceDeletionFailed");
    }
}
