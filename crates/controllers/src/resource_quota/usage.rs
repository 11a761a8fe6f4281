//! Counting what the objects of a namespace take of a quota.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pintle_cache::Entry;
use pintle_meta::time::Time;
use pintle_meta::{Status, Value};
use pintle_quota::{Evaluators, Quota, ResourceList, StoredSurroundings, is_ignored};
use pintle_registry::{Result, Store, cache_error};
use pintle_runtime::Clock;

use super::index::{EVALUATED, GroupResource, RESOURCE_CLAIMS, resources_of};
use crate::catalog::{Catalog, CatalogResource, ObjectKeys};

/// Objects that are looked at before other tasks of the thread get their turn.
const CHUNK: usize = 64;

/// How long a read of a cache waits for what is stored already.
const WAIT: Duration = Duration::from_secs(3);

/// Counts usage: of pods, services and claims from their caches, of all other resources by the keys in their stores.
pub(super) struct UsageCounter {
    pub(super) evaluators: Evaluators,
    pub(super) surroundings: Arc<StoredSurroundings>,
    /// The stores of [`EVALUATED`] resources that are served.
    pub(super) stores: HashMap<GroupResource, Arc<Store>>,
    pub(super) catalog: Arc<dyn Catalog>,
    pub(super) clock: Clock,
    /// Where the objects of counted resources are stored, once that was looked up.
    pub(super) places: Mutex<HashMap<GroupResource, ObjectKeys>>,
}

/// The usage of a quota.
#[derive(Debug, Default)]
pub(super) struct Usage {
    pub(super) used: ResourceList,
    /// Why some of it is not known.
    pub(super) errors: Vec<String>,
    /// When usage falls without a change of an object.
    pub(super) falls_after: Option<Duration>,
}

impl UsageCounter {
    /// Counts what is used of the limits of a quota that can be counted.
    pub(super) async fn count(&self, quota: &Quota) -> Usage {
        let mut usage = Usage::default();
        for resource in resources_of(&self.evaluators, quota.hard.names()) {
            let counted = match self.stores.get(&resource) {
                Some(store) => self.evaluated(&resource, store, quota, &mut usage).await,
                None if is_evaluated(&resource) => continue,
                None => self.counted(&resource, quota).await,
            };
            match counted {
                Ok(Some(total)) => usage.used.add(&total),
                Ok(None) => {}
                Err(status) => usage.errors.push(status.message.to_string()),
            }
        }
        usage
    }

    /// Counts the objects of a resource by their keys; `None` if it is not served.
    async fn counted(&self, resource: &GroupResource, quota: &Quota) -> Result<Option<ResourceList>> {
        let Some(keys) = self.keys_of(resource).await else { return Ok(None) };
        let evaluator = self.evaluators.of(&resource.0, &resource.1);
        if !evaluator.counts_objects_only(quota) {
            // Objects without scopes count for no quota that has some.
            return Ok(Some(evaluator.total(quota, [])));
        }
        let prefix = [&keys.prefix, quota.namespace.as_bytes(), b"/"].concat();
        let count = keys.backend.count(&prefix).await.map_err(Status::internal)?;
        Ok(Some(evaluator.total_of_count(quota, i64::try_from(count).unwrap_or(i64::MAX))))
    }

    /// Counts the objects of a resource by what they say.
    async fn evaluated(
        &self,
        resource: &GroupResource,
        store: &Arc<Store>,
        quota: &Quota,
        usage: &mut Usage,
    ) -> Result<Option<ResourceList>> {
        let is_claims = (resource.0.as_str(), resource.1.as_str()) == RESOURCE_CLAIMS;
        if is_claims {
            self.surroundings.ready_for_claim(&Value::NULL).await?;
        }
        let evaluator = self.evaluators.of(&resource.0, &resource.1);
        if !quota.hard.names().any(|name| evaluator.tracks(name)) {
            return Ok(None);
        }
        let snapshot = store.cache().snapshot_now(WAIT).await.map_err(|error| cache_error(&error))?;
        let prefix = format!("{}/", quota.namespace);
        if evaluator.counts_objects_only(quota) {
            let count = snapshot.objects.iter_prefix(&prefix).count();
            return Ok(Some(evaluator.total_of_count(quota, i64::try_from(count).unwrap_or(i64::MAX))));
        }
        let entries: Vec<Arc<Entry>> = snapshot.objects.iter_prefix(&prefix).cloned().collect();
        drop(snapshot);
        let mut total = evaluator.total(quota, []);
        for chunk in entries.chunks(CHUNK) {
            let mut objects = Vec::with_capacity(chunk.len());
            for entry in chunk {
                match store.object(entry) {
                    Ok(object) => objects.push(object),
                    Err(status) => usage.errors.push(status.message.to_string()),
                }
            }
            for object in &objects {
                if is_claims {
                    self.surroundings.ready_for_claim(object).await?;
                }
                let ends = self.grace_left(object);
                usage.falls_after = usage.falls_after.into_iter().chain(ends).min();
            }
            total.add(&evaluator.total(quota, &objects));
            tokio::task::yield_now().await;
        }
        Ok(Some(total))
    }

    /// Returns the time until an object that is being deleted should be gone: a pod that is stuck then counts no more.
    fn grace_left(&self, object: &Value) -> Option<Duration> {
        let deleted = object.deletion_timestamp().and_then(|time| Time::parse(time).ok())?;
        let grace = object.at(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64)?;
        let end = Time::from_unix(deleted.unix_seconds().saturating_add(grace).saturating_add(1), 0);
        let left = end.nanos_since(&Time::from(self.clock.now()));
        u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_nanos)
    }

    /// Returns where the objects of a resource are that is counted alone; `None` if it is not served, or no quota can limit it.
    pub(super) async fn keys_of(&self, resource: &GroupResource) -> Option<ObjectKeys> {
        if is_ignored(&resource.0, &resource.1) {
            return None;
        }
        if let Some(known) = self.known_keys(resource) {
            return Some(known);
        }
        let found = self.served(resource).await?;
        let keys = found.stored.filter(|_| found.is_namespaced && found.verbs.list && found.verbs.delete)?;
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.insert(resource.clone(), keys.clone());
        Some(keys)
    }

    /// Returns where the objects of a resource are, whether a quota can limit it or not.
    pub(super) async fn keys_of_any(&self, resource: &GroupResource) -> Option<ObjectKeys> {
        self.served(resource).await?.stored
    }

    async fn served(&self, resource: &GroupResource) -> Option<CatalogResource> {
        let mut served = self.catalog.snapshot().await.resources.into_iter();
        served.find(|found| found.resource.group == resource.0 && found.resource.resource == resource.1)
    }

    fn known_keys(&self, resource: &GroupResource) -> Option<ObjectKeys> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).get(resource).cloned()
    }

    /// Returns whether a name of a quota without usage can be counted by now.
    pub(super) fn can_count(&self, name: &str) -> bool {
        let resources = resources_of(&self.evaluators, [name]);
        resources.iter().any(|resource| match is_evaluated(resource) {
            true => self.evaluators.of(&resource.0, &resource.1).tracks(name),
            false => self.known_keys(resource).is_some(),
        })
    }
}

/// Returns whether the objects of a resource have usage beyond their number.
pub(super) fn is_evaluated(resource: &GroupResource) -> bool {
    EVALUATED.contains(&(resource.0.as_str(), resource.1.as_str()))
}
