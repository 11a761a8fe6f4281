//! The status of ResourceQuotas: how much of each limit is used.
//!
//! ```text
//! admission plugin   adds to status.used before an object is stored
//! this controller    counts the objects of the namespace and writes status.hard and status.used
//!                      at once         for a quota that is new, or whose limits have changed
//!                      soon            when an object goes, or changes so that it takes less
//!                      a while later   after each charge: the object may not have been stored after all
//! ```
//!
//! The plugin's charge comes before its object, so a count in between would take the charge back and let another request exceed the
//! quota. Therefore a quota is counted only when it was not charged for a moment, and its usage is written only to the version that
//! was read before counting; of two writers one has a conflict and reads again. A count costs as much as the namespace has objects, so
//! one that took long is not repeated soon.

mod index;
mod monitor;
mod usage;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pintle_cache::Entry;
use pintle_features::Features;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::{Object, Reason, Status, Value};
use pintle_quota::{Evaluators, Quota, ResourceList, StoredSurroundings};
use pintle_registry::{Result, Store, cache_error};
use pintle_runtime::Clock;

use crate::api::{ApiClient, Location};
use crate::catalog::Catalog;
use crate::runtime::{Controller, Key, Requeue, Source};
use index::Index;
use usage::UsageCounter;

/// How long a quota must not have been charged before it is counted; longer where other servers may be slow to store an object.
const SETTLE: Duration = Duration::from_millis(100);
const SHARED_SETTLE: Duration = Duration::from_millis(500);

/// How long after a charge a quota is counted, whatever happens.
const VERIFY_AFTER: Duration = Duration::from_secs(5);

/// The parts of the quota controller.
pub struct QuotaConfig {
    pub quotas: Arc<Store>,
    /// The stores of pods, services, claims and resource claims by group and plural name, as far as they are served.
    pub stores: HashMap<(String, String), Arc<Store>>,
    pub surroundings: Arc<StoredSurroundings>,
    pub features: Features,
    pub catalog: Arc<dyn Catalog>,
    pub api: ApiClient,
    pub clock: Clock,
    /// Whether other servers share the store.
    pub is_shared: bool,
}

/// Counts usage and writes it.
struct QuotaStatus {
    quotas: Arc<Store>,
    usage: UsageCounter,
    index: Mutex<Index>,
    api: ApiClient,
    settle: Duration,
}

/// Counts quotas whose usage may have fallen.
pub struct ResourceQuotas(Arc<QuotaStatus>);

/// Counts quotas whose usage is not known yet, so that they need not wait for others.
pub struct UncountedQuotas(Arc<QuotaStatus>);

impl ResourceQuotas {
    pub const NAME: &'static str = "resourcequota-controller";

    /// Returns the two controllers, which share what they know.
    pub fn pair(config: QuotaConfig) -> (ResourceQuotas, UncountedQuotas) {
        let QuotaConfig { quotas, stores, surroundings, features, catalog, api, clock, is_shared } = config;
        let usage = UsageCounter {
            evaluators: Evaluators::new(features, surroundings.clone()),
            surroundings,
            stores,
            catalog,
            clock,
            places: Mutex::default(),
        };
        let settle = if is_shared { SHARED_SETTLE } else { SETTLE };
        let status = Arc::new(QuotaStatus { quotas, usage, index: Mutex::default(), api, settle });
        (ResourceQuotas(status.clone()), UncountedQuotas(status))
    }
}

impl QuotaStatus {
    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a quota has a limit whose usage should be counted before anything else.
    fn is_missing_usage(&self, quota: &Value) -> bool {
        let read = |path: &[&str]| ResourceList::read(quota.at(path));
        let (hard, used) = (read(&["status", "hard"]), read(&["status", "used"]));
        read(&["spec", "hard"]) != hard
            || hard.names().any(|name| !used.contains(name) && self.usage.can_count(name))
    }

    /// Counts a quota and writes what has changed.
    async fn recount(&self, key: &str) -> Result<Requeue> {
        self.quotas.cache().ready().await.map_err(|error| cache_error(&error))?;
        let Some(entry) = self.quotas.cache().get(key) else { return Ok(Requeue::Never) };
        let object = self.quotas.object(&entry)?;
        let mut quota = Quota::read(&object);
        // Nothing is charged to a quota without limits.
        if !quota.hard.is_empty() {
            let now = self.usage.clock.instant();
            let wait = self.index().wait(key, entry.revision(), self.settle, now);
            if !wait.is_zero() {
                return Ok(Requeue::After(wait));
            }
        }
        let old = (std::mem::take(&mut quota.hard), std::mem::take(&mut quota.used));
        quota.hard = ResourceList::read(object.at(&["spec", "hard"]));
        let started = self.usage.clock.instant();
        let usage = self.usage.count(&quota).await;
        let now = self.usage.clock.instant();
        self.index().counted(key, now.saturating_duration_since(started), now);
        let mut used = old.1.masked(|name| quota.hard.contains(name) && !usage.used.contains(name));
        used.add(&usage.used);
        let has_status = |part| object.at(&["status", part]).is_some();
        let is_dirty = quota.hard != old.0 || used != old.1 || !has_status("hard") || !has_status("used");
        if is_dirty && let Err(status) = self.write(key, &object, &used).await {
            return match status.reason {
                // It was charged meanwhile.
                Reason::Conflict => Ok(Requeue::After(self.settle)),
                Reason::NotFound => Ok(Requeue::Never),
                _ => Err(status),
            };
        }
        match &*usage.errors {
            [] => Ok(usage.falls_after.map_or(Requeue::Never, Requeue::After)),
            errors => Err(Box::new(Status::plain(errors.join(", ")))),
        }
    }

    /// Writes limits and usage to exactly this version of a quota.
    async fn write(&self, key: &str, quota: &Value, used: &ResourceList) -> Result<()> {
        let resource = GroupVersionResource::new("", "v1", "resourcequotas");
        let location = Location::object(resource, quota.namespace(), quota.name()).subresource("status");
        let mut new = quota.clone();
        if let Some(fields) = new.as_object_mut() {
            let empty = || Value::object(Object::default());
            let hard = quota.at(&["spec", "hard"]).cloned().unwrap_or_else(empty);
            let status = Object::from_iter([("hard", hard), ("used", used.to_value())]);
            fields.insert("status", Value::object(status));
        }
        let written = self.api.replace(&location, &new).await?;
        if let Ok(revision) = written.resource_version().parse() {
            self.index().wrote(key, revision);
        }
        Ok(())
    }

    fn failed(key: &str, status: &Status) {
        tracing::error!(key, "Error processing resource quota work item: {}", status.message);
    }
}

#[async_trait]
impl Controller for ResourceQuotas {
    fn name(&self) -> &'static str {
        "resourcequota_primary"
    }

    fn sources(&self) -> Vec<Source> {
        let status = self.0.clone();
        vec![Source::feeder(move |queue| status.feed(queue))]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        self.0.recount(key).await
    }

    fn failed(&self, key: &str, status: &Status) {
        QuotaStatus::failed(key, status);
    }

    fn workers(&self) -> usize {
        5
    }
}

#[async_trait]
impl Controller for UncountedQuotas {
    fn name(&self) -> &'static str {
        "resourcequota_priority"
    }

    fn sources(&self) -> Vec<Source> {
        let status = self.0.clone();
        let keys = move |entry: &Entry, deleted: bool| {
            let quota = status.quotas.object(entry).ok().filter(|_| !deleted)?;
            status.is_missing_usage(&quota).then(|| Key::from(entry.key()))
        };
        vec![Source::informer(self.0.quotas.clone(), keys)]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        self.0.recount(key).await
    }

    fn failed(&self, key: &str, status: &Status) {
        QuotaStatus::failed(key, status);
    }

    fn workers(&self) -> usize {
        5
    }
}
