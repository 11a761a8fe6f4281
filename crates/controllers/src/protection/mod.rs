//! Protection of objects that are in use: a finalizer, which goes when nothing uses an object that is being deleted.
//!
//! ```text
//! PersistentVolumeClaim    used by pods that have a node        pvcprotection
//! PersistentVolume         used while it is bound               pvprotection
//! VolumeAttributesClass    used by volumes and claims           vacprotection
//! PodGroup                 used by pods that have not ended     podgroupprotection
//! ```
//!
//! Admission plugins add the finalizer to new objects; older ones get it here. The users of an object are followed only while one that
//! they hold is being deleted (`runtime::Waiting`).

mod persistent_volume_claims;
mod persistent_volumes;
mod pod_groups;
mod volume_attributes_classes;

use std::sync::Arc;
use std::time::Duration;

use pintle_cache::{Change, Entry, Snapshot};
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Result, Store, cache_error};
use pintle_runtime::Clock;

use crate::api::{ApiClient, Location};
use crate::runtime::{Key, Seen, Source, Waiting, WorkQueue, follow};

pub use persistent_volume_claims::ClaimProtection;
pub use persistent_volumes::VolumeProtection;
pub use pod_groups::PodGroupProtection;
pub use volume_attributes_classes::AttributesClassProtection;

/// How long a read of a cache waits for what is stored already.
const WAIT: Duration = Duration::from_secs(3);

/// The finalizer of a resource.
#[derive(Clone)]
struct Finalizer {
    name: &'static str,
    resource: GroupVersionResource,
    objects: Arc<Store>,
    api: ApiClient,
    /// The objects that are being deleted and may be in use.
    waiting: Waiting,
}

impl Finalizer {
    /// Returns whether an object is being deleted and has the finalizer.
    fn holds(&self, object: &Value) -> bool {
        object.deletion_timestamp().is_some() && self.is_on(object)
    }

    /// Returns whether an object should get the finalizer.
    fn is_missing(&self, object: &Value) -> bool {
        object.deletion_timestamp().is_none() && !self.is_on(object)
    }

    fn is_on(&self, object: &Value) -> bool {
        object.finalizers().any(|finalizer| finalizer == self.name)
    }

    /// Follows objects that a predicate selects, and those that wait.
    fn source(&self, is_meant: impl Fn(&Finalizer, &Value) -> bool + Send + Sync + 'static) -> Source {
        let own = self.clone();
        let keys = move |entry: &Entry, deleted: bool| {
            let is_meant = || own.objects.object(entry).is_ok_and(|object| is_meant(&own, &object));
            (own.waiting.contains(entry.key()) || (!deleted && is_meant())).then(|| Key::from(entry.key()))
        };
        Source::informer(self.objects.clone(), keys)
    }

    /// Follows the users of objects while some wait. `see` queues those that a change concerns.
    fn users(
        &self,
        users: &Arc<Store>,
        clock: &Clock,
        see: impl Fn(&Change, &WorkQueue<Key>) + Send + Sync + 'static,
    ) -> Source {
        let (waiting, users, clock) = (self.waiting.clone(), users.clone(), clock.clone());
        Source::feeder(move |queue| async move {
            let while_waiting = || {
                follow(&users, &clock, |seen| match seen {
                    Seen::All(_) => waiting.all().into_iter().for_each(|key| queue.add(key)),
                    Seen::Change(change) => see(change, &queue),
                })
            };
            waiting.run(while_waiting).await;
        })
    }

    /// Returns an object of the cache.
    async fn object(&self, key: &str) -> Result<Option<Value>> {
        self.objects.cache().ready().await.map_err(|error| cache_error(&error))?;
        self.objects.cache().get(key).map(|entry| self.objects.object(&entry)).transpose()
    }

    async fn add(&self, object: &Value) -> Result<()> {
        self.write(object, |finalizers| finalizers.push(Value::string(self.name))).await
    }

    async fn remove(&self, object: &Value) -> Result<()> {
        let is_other = |finalizer: &Value| finalizer.as_str() != Some(self.name);
        self.write(object, |finalizers| finalizers.retain(is_other)).await
    }

    /// Changes the finalizers of exactly this version of an object; one that is gone needs no change.
    async fn write(&self, object: &Value, change: impl FnOnce(&mut Vec<Value>)) -> Result<()> {
        let mut new = object.clone();
        if let Some(metadata) = new.metadata_mut() {
            let finalizers = metadata.get_or_insert_with("finalizers", || Value::list(Vec::new()));
            if let Some(finalizers) = finalizers.as_list_mut() {
                change(finalizers);
            }
        }
        match self.api.replace(&self.location(object), &new).await {
            Err(status) if status.reason != Reason::NotFound => Err(status),
            _ => Ok(()),
        }
    }

    fn location(&self, object: &Value) -> Location {
        Location::object(self.resource.clone(), object.namespace(), object.name())
    }
}

/// Returns the objects of a store, with every write that was answered before.
async fn current(store: &Store) -> Result<Snapshot> {
    store.cache().snapshot_now(WAIT).await.map_err(|error| cache_error(&error))
}

/// Logs why an object could not be looked after.
fn report(kind: &str, key: &str, status: &Status) {
    // Another writer was faster, and the object is looked at again.
    if status.reason != Reason::Conflict {
        tracing::error!("{kind} {key} failed with : {}", status.message);
    }
}

/// Returns whether a pod has ended.
fn has_ended(pod: &Value) -> bool {
    matches!(pod.text_at(&["status", "phase"]), "Succeeded" | "Failed")
}

#[cfg(test)]
fn object(json: &str) -> Value {
    pintle_codec::json::decode_untyped(json.as_bytes()).expect("JSON").value
}
