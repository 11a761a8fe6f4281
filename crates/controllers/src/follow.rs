//! How controllers of a single object run: when it changes, when they are told, and every minute to be sure.
//!
//! A watch of one key costs next to nothing, where the cache of all objects of its kind would have to be loaded and kept.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use pintle_registry::Store;
use pintle_storage::{WatchItem, WatchRequest, WatchStream};
use tokio::sync::Notify;

const INTERVAL: Duration = Duration::from_secs(60);
/// How soon a store that could not be watched is asked again.
const PAUSE: Duration = Duration::from_secs(10);

/// Does one round after another until `shutdown`. `own` is the object's key below those of its resource.
pub(crate) fn follow<F>(
    store: Arc<Store>,
    own: String,
    told: Arc<Notify>,
    round: impl Fn() -> F + Send + Sync + 'static,
    shutdown: impl Future<Output = ()> + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(async move {
        let rounds = async {
            loop {
                // Before the first round, so that nothing is missed.
                let mut changes = watch(&store, &own).await;
                loop {
                    round().await;
                    let go_on = tokio::select! {
                        changed = changed(&mut changes) => changed,
                        () = told.notified() => true,
                        () = tokio::time::sleep(INTERVAL) => true,
                    };
                    if !go_on {
                        break;
                    }
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::select! {
            () = rounds => {}
            () = shutdown => {}
        }
    });
}

/// Watches the objects of a resource whose keys begin with `own`.
pub(crate) async fn watch(store: &Store, own: &str) -> Option<WatchStream> {
    let config = store.config();
    let prefix = [&config.prefix, own.as_bytes()].concat();
    let from = config.backend.current_revision().await.ok()?.next();
    let request = WatchRequest { prefix: prefix.into(), from, ..WatchRequest::default() };
    config.backend.watch(request).await.ok()
}

/// Waits for a change of what is watched. Without one the watch is over.
pub(crate) async fn changed(changes: &mut Option<WatchStream>) -> bool {
    let Some(changes) = changes else { return false };
    loop {
        match changes.next().await {
            Some(Ok(WatchItem::Changes { .. })) => return true,
            Some(Ok(WatchItem::Progress(_))) => {}
            Some(Err(_)) | None => return false,
        }
    }
}
