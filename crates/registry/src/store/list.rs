//! Reading many objects, for the server itself: lists of clients are made of the cache's bodies.

use std::sync::Arc;
use std::time::Duration;

use pintle_cache::{Entry, Error, Snapshot};
use pintle_meta::{Status, Value};

use super::Store;
use crate::Result;

/// How long a read waits for what the store has already.
const WAIT: Duration = Duration::from_secs(3);

impl Store {
    /// All objects of a namespace, or of a resource that is in none; as linearizable as the store is.
    pub async fn list(&self, namespace: &str) -> Result<Vec<Value>> {
        let snapshot = self.config.cache.snapshot_now(WAIT).await.map_err(|error| cache_error(&error))?;
        let prefix = if self.config.namespaced { format!("{namespace}/") } else { String::new() };
        self.decoded(&snapshot, &prefix)
    }

    /// All objects of a namespace as the cache has them, loaded if need be; of all namespaces for an empty one. Has every write
    /// that was answered where the store's revision is free to read; else the store is not asked.
    pub async fn list_cached(&self, namespace: &str) -> Result<Vec<Value>> {
        let (snapshot, prefix) = self.snapshot_cached(namespace).await?;
        self.decoded(&snapshot, &prefix)
    }

    /// Returns the entries of what [`Store::list_cached`] decodes, by key, for callers that may not need all of them.
    pub async fn entries_cached(&self, namespace: &str) -> Result<Vec<Arc<Entry>>> {
        let (snapshot, prefix) = self.snapshot_cached(namespace).await?;
        Ok(entries(&snapshot, &prefix).cloned().collect())
    }

    /// Returns a snapshot of the cache and the prefix of keys in a namespace.
    async fn snapshot_cached(&self, namespace: &str) -> Result<(Snapshot, String)> {
        let known = self.config.backend.known_revision().map_or(0, |revision| revision.0);
        let snapshot =
            self.config.cache.snapshot_since(known, WAIT).await.map_err(|error| cache_error(&error))?;
        let in_one = self.config.namespaced && !namespace.is_empty();
        Ok((snapshot, if in_one { format!("{namespace}/") } else { String::new() }))
    }

    /// Returns the objects whose keys begin with a prefix.
    fn decoded(&self, snapshot: &Snapshot, prefix: &str) -> Result<Vec<Value>> {
        entries(snapshot, prefix).map(|entry| self.object(entry)).collect()
    }
}

/// Returns the entries whose keys begin with a prefix.
fn entries<'s>(snapshot: &'s Snapshot, prefix: &'s str) -> impl Iterator<Item = &'s Arc<Entry>> {
    snapshot.objects.iter_from(prefix).take_while(move |entry| entry.key().starts_with(prefix))
}

impl Store {
    /// The same out of the store, for those who ask so rarely that a cache would be kept for nothing.
    pub async fn list_stored(&self, namespace: &str) -> Result<Vec<Value>> {
        let prefix = if self.config.namespaced { format!("{namespace}/") } else { String::new() };
        let cache = &self.config.cache;
        let page = match cache.current_revision().await {
            Ok(revision) => cache.page_from_store(revision, &prefix, "", 0).await,
            Err(error) => Err(error),
        };
        let page = page.map_err(|error| cache_error(&error))?;
        page.entries.iter().map(|entry| self.object(entry)).collect()
    }
}

/// Why the cache could not answer a read, as clients know it.
pub fn cache_error(error: &Error) -> Box<Status> {
    use pintle_storage::Error as Storage;
    Box::new(match error {
        Error::TooOld { .. } => Status::expired(error.to_string()),
        Error::TooLarge { requested, current } => Status::resource_version_too_large(*requested, *current, 1),
        Error::NotReady => Status::too_many_requests(error.to_string(), 1),
        Error::Storage(Storage::Compacted { .. }) => {
            Status::expired("The resourceVersion for the provided list is too old.")
        }
        Error::Storage(Storage::FutureRevision { requested, current }) => {
            Status::resource_version_too_large(requested.0, current.0, 1)
        }
        Error::Storage(Storage::Undecryptable(values)) if !values.is_empty() => {
            let key = pintle_meta::quote(&String::from_utf8_lossy(&values[0].key));
            Status::internal(format!("unable to transform key {key}: {}", values[0].reason))
        }
        Error::Storage(error) => crate::outage::status(error),
        error => Status::internal(error),
    })
}
