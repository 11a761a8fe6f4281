//! Deletion of namespaces: of all their objects first, and then of the namespace itself.
//!
//! ```text
//! DELETE namespace    deletionTimestamp is set, phase Terminating; spec.finalizers still has "kubernetes"
//! this controller     pods go first, and as long as one is left nothing else does (CVE-2024-7598)
//!                     then all other resources that can be deleted, custom ones too
//!                     conditions say what was found; what has finalizers is looked at again later
//! finalize            "kubernetes" leaves spec.finalizers, and the registry removes the namespace
//! a while later       objects whose creation was under way meanwhile are deleted
//! ```
//!
//! kube-controller-manager's controller may run beside: it writes the same conditions, and of two that finalize a namespace one finds
//! that it is gone.

mod conditions;
mod content;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pintle_cache::Entry;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::time::Time;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Result, Store};
use pintle_runtime::Clock;

use crate::api::{ApiClient, Location};
use crate::catalog::Catalog;
use crate::runtime::{Controller, Key, RateLimits, Requeue, Source};
use conditions::Findings;
use content::{Content, is_pods};

/// The finalizer of namespaces that this controller removes.
const FINALIZER: &str = "kubernetes";

/// Where several servers share a store, how long others may still admit objects into a namespace after its deletion.
const SHARED_DELAY: Duration = Duration::from_secs(5);

/// How long after its end a namespace is looked at once more, for objects whose creation had been admitted before.
const SWEEP_DELAY: Duration = Duration::from_secs(5);

/// Marks the key of a namespace that was removed. No name begins so.
const REMOVED: char = '-';

/// The delay of the first look at content that has to go by itself; each further one takes twice as long.
const FIRST_LOOK: Duration = Duration::from_millis(50);

/// Deletes the content of namespaces.
pub struct NamespaceDeletion {
    namespaces: Arc<Store>,
    /// The place of the phase among the fields of entries.
    phase: usize,
    api: ApiClient,
    catalog: Arc<dyn Catalog>,
    clock: Clock,
    /// Whether other servers share the store.
    is_shared: bool,
    /// How often the content of a namespace was looked at in vain.
    looks: Mutex<HashMap<String, u32>>,
}

impl NamespaceDeletion {
    pub const NAME: &'static str = "namespace-controller";

    /// `namespaces` is only followed, with the place of `status.phase` among their fields; `api` reads and writes.
    pub fn new(
        namespaces: Arc<Store>,
        phase: usize,
        api: ApiClient,
        catalog: Arc<dyn Catalog>,
        clock: Clock,
        is_shared: bool,
    ) -> NamespaceDeletion {
        NamespaceDeletion { namespaces, phase, api, catalog, clock, is_shared, looks: Mutex::default() }
    }

    /// Makes progress with the deletion of a namespace. Returns the seconds after which its content may be gone, or `None` if there
    /// is nothing more to do.
    async fn delete(&self, name: &str) -> Result<Option<u64>> {
        let location = location(name);
        let Some(mut namespace) = self.api.find(&location).await? else { return Ok(None) };
        if namespace.deletion_timestamp().is_none() {
            return Ok(None);
        }
        if namespace.text_at(&["status", "phase"]) != "Terminating" {
            let mut terminating = namespace.clone();
            if let Some(status) = terminating.get_mut("status").and_then(Value::as_object_mut) {
                status.insert("phase", "Terminating");
            }
            namespace = self.api.replace(&location.clone().subresource("status"), &terminating).await?;
        }
        if namespace.items_at(&["spec", "finalizers"]).is_empty() {
            return Ok(None);
        }
        let (findings, estimate) = self.delete_content(&namespace).await;
        let namespace = self.report(&location, namespace, &findings).await?;
        if let Some(error) = findings.error() {
            return Err(Box::new(Status::plain(error)));
        }
        if estimate > 0 {
            return Ok(Some(estimate));
        }
        let mut finalized = namespace;
        if let Some(finalizers) = finalized.at_mut(&["spec", "finalizers"]).and_then(Value::as_list_mut) {
            finalizers.retain(|finalizer| finalizer.as_str() != Some(FINALIZER));
            // The others are a set, which kube-controller-manager's controller writes in this order.
            finalizers.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
            finalizers.dedup();
        }
        self.api.replace(&location.subresource("finalize"), &finalized).await?;
        Ok(None)
    }

    /// Deletes all objects, pods first. Returns what was found, and after how many seconds the rest may be gone.
    async fn delete_content(&self, namespace: &Value) -> (Findings, u64) {
        let snapshot = self.catalog.snapshot().await;
        let deleted_at = namespace.deletion_timestamp().and_then(|text| Time::parse(text).ok());
        let since = deleted_at.map_or(0, |at| Time::from(self.clock.now()).nanos_since(&at));
        let age = Duration::from_nanos(u64::try_from(since).unwrap_or_default());
        let content = Content { api: &self.api, namespace: namespace.name(), age };
        let (mut findings, mut estimate) =
            (Findings { undiscovered: snapshot.failures, ..Findings::default() }, 0);
        let mut resources: Vec<_> = snapshot
            .resources
            .into_iter()
            .filter(|resource| resource.is_namespaced && resource.verbs.delete)
            .collect();
        // Stable: the others stay in the order of discovery.
        resources.sort_by_key(|resource| !is_pods(&resource.resource));
        for resource in &resources {
            let left = content.delete(resource).await;
            let is_pods = is_pods(&resource.resource);
            if let Some(error) = left.error {
                findings.errors.push(match is_pods {
                    true => {
                        format!("failed to delete pods for namespace: {}, err: {error}", namespace.name())
                    }
                    false => error,
                });
            }
            estimate = estimate.max(left.estimate);
            if left.count == 0 {
                continue;
            }
            // As kube-controller-manager, which may run beside: the totals are reported when everything was looked at.
            if is_pods {
                break;
            }
            for (finalizer, count) in left.finalizers {
                *findings.finalizers.entry(finalizer).or_default() += count;
            }
            findings.remaining.push((resource.resource.clone(), left.count));
        }
        (findings, estimate)
    }

    /// Writes the conditions of a namespace if they have changed. Returns it as it is then.
    async fn report(&self, location: &Location, namespace: Value, findings: &Findings) -> Result<Value> {
        let now = Time::from(self.clock.now()).to_string();
        let Some(status) = findings.apply(namespace.get("status").unwrap_or(&Value::NULL), &now) else {
            return Ok(namespace);
        };
        let mut new = namespace.clone();
        if let Some(fields) = new.as_object_mut() {
            fields.insert("status", status);
        }
        let written = self.api.replace(&location.clone().subresource("status"), &new).await;
        written.or_else(|status| {
            // The content matters more than what is said of it.
            tracing::error!(
                namespace = namespace.name(),
                "Couldn't update status condition for namespace: {}",
                status.message
            );
            if status.reason == Reason::Conflict { Err(status) } else { Ok(namespace) }
        })
    }

    /// Deletes objects of a namespace that is gone.
    async fn sweep(&self, name: &str) -> Result<()> {
        if self.api.find_metadata(&location(name)).await?.is_some() {
            return Ok(());
        }
        let content = Content { api: &self.api, namespace: name, age: Duration::MAX };
        for resource in self.catalog.snapshot().await.resources {
            // Only what is in a store of this cluster outlives its namespace.
            if resource.is_namespaced && resource.verbs.delete && resource.stored.is_some() {
                let left = content.delete(&resource).await;
                if let Some(error) = left.error {
                    return Err(Box::new(Status::plain(error)));
                }
            }
        }
        Ok(())
    }

    /// Returns when content that may be gone after some seconds is looked at again. That is the reference's delay, or less at first: what
    /// holds it is mostly a controller that reacts at once.
    fn next_look(&self, name: &str, seconds: u64) -> Duration {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        let count = looks.entry(name.to_owned()).or_default();
        let delay = FIRST_LOOK.saturating_mul(1u32.checked_shl(*count).unwrap_or(u32::MAX));
        *count = count.saturating_add(1);
        delay.min(Duration::from_secs(seconds / 2 + 1))
    }

    fn forget_looks(&self, name: &str) {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

fn location(name: &str) -> Location {
    Location::object(GroupVersionResource::new("", "v1", "namespaces"), "", name)
}

#[async_trait]
impl Controller for NamespaceDeletion {
    fn name(&self) -> &'static str {
        "namespace"
    }

    /// Namespaces that are being deleted and, where this is the only server, those that are gone, under a key of their own.
    fn sources(&self) -> Vec<Source> {
        let (phase, is_shared) = (self.phase, self.is_shared);
        let keys = move |entry: &Entry, deleted: bool| match deleted {
            true if is_shared => None,
            true => Some((Key::from(format!("{REMOVED}{}", entry.key())), SWEEP_DELAY)),
            false if entry.field(phase) != Some("Terminating") => None,
            false => Some((Key::from(entry.key()), if is_shared { SHARED_DELAY } else { Duration::ZERO })),
        };
        vec![Source::delayed_informer(self.namespaces.clone(), keys)]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        if let Some(name) = key.strip_prefix(REMOVED) {
            return self.sweep(name).await.map(|()| Requeue::Never);
        }
        match self.delete(key).await {
            Ok(Some(seconds)) => Ok(Requeue::After(self.next_look(key, seconds))),
            Err(status) if status.reason != Reason::NotFound => Err(status),
            Ok(None) | Err(_) => {
                self.forget_looks(key);
                Ok(Requeue::Never)
            }
        }
    }

    fn failed(&self, namespace: &str, status: &Status) {
        tracing::error!(namespace, "Deletion of namespace failed: {}", status.message);
    }

    fn workers(&self) -> usize {
        10
    }

    fn rate_limits(&self) -> RateLimits {
        RateLimits { max_delay: Duration::from_secs(60), ..RateLimits::default() }
    }
}
