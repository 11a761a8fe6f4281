//! `endpointslice-controller`: the EndpointSlices of services with a selector, from the pods that it selects.
//!
//! ```text
//! services        filed by selector (`selectors`)   -> a pod's labels lead to the services that it concerns
//! pods            followed while a service with a selector exists
//! EndpointSlices  followed too, for changes of other writers (`written`)
//!                          |
//!                          v
//! service -> pods -> endpoints by ports and family (`endpoints`) -> writes of slices (`packing`)
//! ```
//!
//! Slices are read from a cache that has every write that was answered, so the controller always sees its own. Hints of
//! `service.kubernetes.io/topology-mode: Auto` are left to kube-controller-manager.

mod changes;
mod endpoints;
mod metrics;
mod packing;
mod selectors;
mod written;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pintle_cache::Entry;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::time::Time;
use pintle_meta::{Object, Reason, Status, Value};
use pintle_metrics::Registry;
use pintle_registry::{Result, Store, cache_error};
use pintle_runtime::{Clock, Random};
use serde_json::json;

use crate::api::{ApiClient, Location};
use crate::events::Recorder;
use crate::runtime::{Controller, Key, RateLimits, Requeue, Seen, Source, Waiting, follow};
use endpoints::{Family, endpoint, has_endpoint, ports, publishes_not_ready};
use metrics::Metrics;
use packing::{Desired, MANAGED_BY, MANAGER, Plan, SERVICE_NAME, Totals, plan};
use selectors::Selectors;
use written::Written;

/// Endpoints in a slice, at most.
const MOST_ENDPOINTS: usize = 100;

/// How soon a service is looked at after another writer has changed its slices.
const FOREIGN_DELAY: Duration = Duration::from_secs(1);

/// How often a service that fails is tried again.
const RETRIES: u32 = 15;

/// How long a read of a cache waits for what is stored already.
const WAIT: Duration = Duration::from_secs(3);

const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";
const ZONE: &str = "topology.kubernetes.io/zone";

/// The stores that the controller follows and reads.
#[derive(Clone)]
pub struct EndpointSliceStores {
    pub services: Arc<Store>,
    pub pods: Arc<Store>,
    pub nodes: Arc<Store>,
    pub slices: Arc<Store>,
}

/// Keeps the EndpointSlices of services.
#[derive(Clone)]
pub struct EndpointSlices(Arc<Inner>);

struct Inner {
    stores: EndpointSliceStores,
    api: ApiClient,
    events: Recorder,
    clock: Clock,
    metrics: Metrics,
    selectors: Mutex<Selectors>,
    written: Mutex<Written>,
    /// How often in a row each service failed.
    failures: Mutex<HashMap<Key, u32>>,
    /// Services with a selector.
    selecting: Waiting,
}

impl EndpointSlices {
    pub const NAME: &'static str = "endpointslice-controller";

    pub fn new(
        stores: EndpointSliceStores,
        api: ApiClient,
        clock: Clock,
        random: Random,
        registry: &Registry,
    ) -> std::result::Result<EndpointSlices, pintle_metrics::Error> {
        Ok(EndpointSlices(Arc::new(Inner {
            stores,
            events: Recorder::new(api.clone(), "endpoint-slice-controller", clock.clone(), random),
            api,
            clock,
            metrics: Metrics::new(registry)?,
            selectors: Mutex::default(),
            written: Mutex::default(),
            failures: Mutex::default(),
            selecting: Waiting::default(),
        })))
    }
}

impl Inner {
    fn selectors(&self) -> MutexGuard<'_, Selectors> {
        self.selectors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn sync(&self, key: &str) -> Result<()> {
        let services = &self.stores.services;
        services.cache().ready().await.map_err(|error| cache_error(&error))?;
        let service = services.cache().get(key).map(|entry| services.object(&entry)).transpose()?;
        let Some(service) = service else {
            self.written().forget(key);
            self.metrics.set(key, None);
            return Ok(());
        };
        let selector = selector(&service);
        if selector.is_empty() || service.text_at(&["spec", "type"]) == "ExternalName" {
            return Ok(());
        }
        let pods = self.pods(&service, &selector).await?;
        let slices = self.slices(&service).await?;
        let triggered = self.written().trigger_time(key, &service, &pods);
        let done = self.reconcile(key, &service, &pods, &slices, triggered).await;
        if let Err(status) = &done {
            let (namespace, name) = (service.namespace(), service.name());
            let message =
                format!("Error updating Endpoint Slices for Service {namespace}/{name}: {}", status.message);
            let reason = "FailedToUpdateEndpointSlices";
            self.events.warn(("v1", "Service"), &service, reason, &message).await;
        }
        done
    }

    /// Returns the pods that a service selects.
    async fn pods(&self, service: &Value, selector: &[(&str, &str)]) -> Result<Vec<Value>> {
        let is_selected = |entry: &&Arc<Entry>| {
            let has = |(key, value): &(&str, &str)| {
                entry.read().is_ok_and(|facts| facts.label(key) == Some(*value))
            };
            selector.iter().all(has)
        };
        // As new as the change that led here.
        let cache = self.stores.pods.cache();
        cache.ready().await.map_err(|error| cache_error(&error))?;
        let pods = cache.snapshot().map_err(|error| cache_error(&error))?;
        let namespace = format!("{}/", service.namespace());
        let selected = pods.objects.iter_prefix(&namespace).filter(is_selected);
        selected.map(|entry| self.stores.pods.object(entry)).collect()
    }

    /// Returns the slices of a service that this controller looks after.
    async fn slices(&self, service: &Value) -> Result<Vec<Value>> {
        let cache = self.stores.slices.cache();
        let slices = cache.snapshot_now(WAIT).await.map_err(|error| cache_error(&error))?;
        let namespace = format!("{}/", service.namespace());
        let is_meant = |entry: &&Arc<Entry>| {
            entry.read().is_ok_and(|facts| {
                facts.label(SERVICE_NAME) == Some(service.name()) && facts.label(MANAGED_BY) == Some(MANAGER)
            })
        };
        let meant = slices.objects.iter_prefix(&namespace).filter(is_meant);
        let slices: Result<Vec<Value>> = meant.map(|entry| self.stores.slices.object(entry)).collect();
        Ok(slices?.into_iter().filter(|slice| slice.deletion_timestamp().is_none()).collect())
    }

    async fn reconcile(
        &self,
        key: &str,
        service: &Value,
        pods: &[Value],
        slices: &[Value],
        triggered: Option<Time>,
    ) -> Result<()> {
        let families = Family::of_service(service);
        let (mut errors, mut totals) = (Vec::new(), Totals::default());
        let (mut added, mut removed, mut changed) = (0, 0, 0);
        for family in &families {
            let of_family = |slice: &&Value| slice.text_at(&["addressType"]) == family.name();
            let existing: Vec<Value> = slices.iter().filter(of_family).cloned().collect();
            let desired = self.desired(service, pods, *family, &mut errors).await?;
            let plan = plan(service, *family, desired, &existing, MOST_ENDPOINTS);
            totals.endpoints += plan.totals.endpoints;
            totals.slices += plan.totals.slices;
            totals.fewest += plan.totals.fewest;
            (added, removed) = (added + plan.added, removed + plan.removed);
            changed += plan.create.len() + plan.update.len() + plan.delete.len();
            if let Err(error) = self.write(key, service, plan, triggered).await {
                errors.push(error);
            }
        }
        // Of a family that the service has no more.
        let is_left =
            |slice: &&Value| !families.iter().any(|family| slice.text_at(&["addressType"]) == family.name());
        for slice in slices.iter().filter(is_left) {
            if let Err(status) = self.delete(key, slice).await {
                let (namespace, name) = (service.namespace(), service.name());
                let of =
                    format!("error deleting {} EndpointSlice for Service {namespace}/{name}", slice.name());
                errors.push(format!("{of}: {}", status.message));
            }
        }
        let distribution = service.text_at(&["spec", "trafficDistribution"]);
        let distribution = (!distribution.is_empty()).then(|| distribution.to_owned());
        self.metrics.planned(added, removed, changed, service);
        self.metrics.set(key, Some((totals, distribution)));
        match &*errors {
            [] => Ok(()),
            [only] => Err(Box::new(Status::plain(only.clone()))),
            all => Err(Box::new(Status::plain(format!("[{}]", all.join(", "))))),
        }
    }

    /// Returns the endpoints that a service should have in a family.
    async fn desired(
        &self,
        service: &Value,
        pods: &[Value],
        family: Family,
        errors: &mut Vec<String>,
    ) -> Result<Desired> {
        let mut desired = Desired::default();
        for pod in pods.iter().filter(|pod| has_endpoint(pod)) {
            let ports = ports(service, pod);
            let name = pod.text_at(&["spec", "nodeName"]);
            let node = self.node(name).await?;
            if node.is_none() && !publishes_not_ready(service) {
                let (namespace, of) = (service.namespace(), service.name());
                errors.push(format!(
                    "skipping Pod {} for Service {namespace}/{of}: Node {name} Not Found",
                    pod.name()
                ));
                desired.add(ports, None);
                continue;
            }
            let zone = node.as_ref().and_then(|node| node.label(ZONE));
            desired.add(ports, endpoint(pod, zone, service, family));
        }
        Ok(desired)
    }

    async fn node(&self, name: &str) -> Result<Option<Value>> {
        let nodes = &self.stores.nodes;
        nodes.cache().ready().await.map_err(|error| cache_error(&error))?;
        nodes.cache().get(name).map(|entry| nodes.object(&entry)).transpose()
    }

    /// Writes what was planned; the first failure ends it.
    async fn write(
        &self,
        key: &str,
        service: &Value,
        plan: Plan,
        triggered: Option<Time>,
    ) -> std::result::Result<(), String> {
        let (namespace, of) = (service.namespace(), service.name());
        let collection = Location::collection(resource(), namespace);
        if service.deletion_timestamp().is_none() {
            for slice in plan.create {
                let slice = with_trigger_time(slice, triggered);
                match self.api.create_object(&collection, &slice).await {
                    Ok(created) => self.written().wrote(key, &created),
                    Err(status) if is_namespace_terminating(&status) => return Ok(()),
                    Err(status) => {
                        let why = &status.message;
                        let message =
                            format!("failed to create EndpointSlice for Service {namespace}/{of}: {why}");
                        return Err(message);
                    }
                }
                self.metrics.wrote("create");
            }
        }
        for slice in plan.update {
            let name = slice.name().to_owned();
            let slice = with_trigger_time(slice, triggered);
            let updated = self.api.replace(&Location::object(resource(), namespace, &name), &slice).await;
            match updated {
                Ok(updated) => self.written().wrote(key, &updated),
                Err(status) => {
                    let why = &status.message;
                    return Err(format!(
                        "failed to update {name} EndpointSlice for Service {namespace}/{of}: {why}"
                    ));
                }
            }
            self.metrics.wrote("update");
        }
        for slice in plan.delete {
            if let Err(status) = self.delete(key, &slice).await {
                let (name, why) = (slice.name(), &status.message);
                return Err(format!(
                    "failed to delete {name} EndpointSlice for Service {namespace}/{of}: {why}"
                ));
            }
        }
        Ok(())
    }

    async fn delete(&self, key: &str, slice: &Value) -> Result<()> {
        self.written().deletes(key, slice);
        let location = Location::object(resource(), slice.namespace(), slice.name());
        self.api.delete(&location, json!({})).await?;
        self.metrics.wrote("delete");
        Ok(())
    }

    /// Counts a failure in a row. Returns whether the service is to be tried again.
    fn fails(&self, key: &str) -> bool {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry(key.into()).or_default();
        *count += 1;
        let again = *count <= RETRIES;
        if !again {
            failures.remove(key);
        }
        again
    }
}

fn resource() -> GroupVersionResource {
    GroupVersionResource::new("discovery.k8s.io", "v1", "endpointslices")
}

fn selector(service: &Value) -> Vec<(&str, &str)> {
    let selector = service.at(&["spec", "selector"]).and_then(Value::as_object);
    let labels = selector.map(Object::iter).into_iter().flatten();
    labels.map(|(key, value)| (key, value.as_str().unwrap_or_default())).collect()
}

fn is_namespace_terminating(status: &Status) -> bool {
    status.reason == Reason::Forbidden && status.message.contains("because it is being terminated")
}

/// Sets the annotation that says since when the change of a slice waited.
fn with_trigger_time(mut slice: Value, triggered: Option<Time>) -> Value {
    if let Some(metadata) = slice.metadata_mut() {
        let annotations = metadata.get_or_insert_with("annotations", || Value::object(Object::default()));
        if let Some(annotations) = annotations.as_object_mut() {
            match triggered {
                Some(time) => annotations.insert(TRIGGER_TIME, time.to_string()),
                None => annotations.remove(TRIGGER_TIME),
            };
        }
    }
    slice
}

#[async_trait]
impl Controller for EndpointSlices {
    fn name(&self) -> &'static str {
        "endpoint_slice"
    }

    fn sources(&self) -> Vec<Source> {
        let own = self.0.clone();
        let services = Source::feeder(move |queue| async move {
            follow(&own.stores.services, &own.clock, |seen| own.see_services(&seen, &queue)).await;
        });
        let own = self.0.clone();
        let others = Source::feeder(move |queue| async move {
            // Changes that were missed concern any service.
            let look_at_all = || own.selecting.all().into_iter().for_each(|key| queue.add(key));
            let while_selecting = || async {
                let pods = follow(&own.stores.pods, &own.clock, |seen| match seen {
                    Seen::All(_) => look_at_all(),
                    Seen::Change(change) => own.see_pod(change, &queue),
                });
                let slices = follow(&own.stores.slices, &own.clock, |seen| match seen {
                    Seen::All(_) => {
                        own.written().clear();
                        look_at_all();
                    }
                    Seen::Change(change) => own.see_slice(change, &queue),
                });
                tokio::join!(pods, slices);
            };
            own.selecting.run(while_selecting).await;
        });
        vec![services, others]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        let synced = self.0.sync(key).await;
        self.0.metrics.synced(synced.is_ok());
        match synced {
            Ok(()) => {
                self.0.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
                Ok(Requeue::Never)
            }
            Err(status) if self.0.fails(key) => Err(status),
            Err(status) => {
                let why = &status.message;
                tracing::info!("Retry budget exceeded, dropping service {key} out of the queue: {why}");
                Ok(Requeue::Never)
            }
        }
    }

    fn failed(&self, key: &str, status: &Status) {
        tracing::info!("Error syncing endpoint slices for service {key}, retrying: {}", status.message);
    }

    fn workers(&self) -> usize {
        5
    }

    fn rate_limits(&self) -> RateLimits {
        RateLimits { base_delay: Duration::from_secs(1), ..RateLimits::default() }
    }
}
