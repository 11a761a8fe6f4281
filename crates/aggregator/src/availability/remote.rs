//! The availability of APIServices of other servers.
//!
//! Each is looked at when it changes, when its service or the endpoints of that change, and every half minute, since a server can
//! disappear without a change. Without remote APIServices, nothing runs and no cache is loaded.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pintle_cache::{Entry, Interest, Next};
use pintle_controllers::{Controller, Key, RateLimits, Requeue, Source, WorkQueue};
use pintle_meta::{Status, Value, quote};
use pintle_registry::{Client, Result, Store};
use pintle_runtime::Clock;

use super::probe::probe;
use crate::api_services::{ApiServices, RemoteService};
use crate::condition::Availability;
use crate::metrics::Metrics;
use crate::registration::{Subscribers, subscribe};

/// Retries of both controllers of availability: fast at first, and never slow, since no change may tell that a server is back.
pub(super) const LIMITS: RateLimits = RateLimits {
    base_delay: Duration::from_millis(5),
    max_delay: Duration::from_secs(30),
    per_second: 1000.0,
    burst: 1000.0,
};

/// Interval of probes of a server that answers.
const INTERVAL: Duration = Duration::from_secs(30);

/// Delay before a cache that could not be loaded is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// The label with the service of a slice.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The caches that availability depends on.
#[derive(Clone)]
pub(crate) struct Stores {
    pub(crate) services: Arc<Store>,
    /// The slices of services' endpoints.
    pub(crate) slices: Arc<Store>,
}

/// Keeps the condition of remote APIServices.
pub(crate) struct RemoteAvailability {
    statuses: Client,
    metrics: Metrics,
    api_services: Arc<ApiServices>,
    stores: Stores,
    subscribers: Arc<Subscribers>,
    clock: Clock,
}

impl RemoteAvailability {
    pub(crate) fn new(
        statuses: Client,
        metrics: Metrics,
        api_services: Arc<ApiServices>,
        stores: Stores,
        subscribers: Arc<Subscribers>,
        clock: Clock,
    ) -> RemoteAvailability {
        RemoteAvailability { statuses, metrics, api_services, stores, subscribers, clock }
    }

    /// Returns the state of a remote APIService; an error also where it could not be found out.
    async fn examine(&self, remote: &RemoteService) -> Availability {
        let reference = &remote.server.service;
        let (namespace, name) = (&reference.namespace, &reference.name);
        let place = format!("service/{name} in {}", quote(namespace));
        let unknown = |reason, error: &dyn std::fmt::Display| {
            Availability::unknown(reason, format!("{place} cannot be checked due to: {error}"))
        };
        let service = match object(&self.stores.services, &format!("{namespace}/{name}")).await {
            Ok(Some(service)) => service,
            Ok(None) => return Availability::failed("ServiceNotFound", format!("{place} is not present")),
            Err(error) => return unknown("ServiceAccessError", &error),
        };
        if service.text_at(&["spec", "type"]) == "ClusterIP" {
            let is_port =
                |port: &&Value| port.get("port").and_then(Value::as_i64) == Some(reference.port.into());
            let Some(port) = service.items_at(&["spec", "ports"]).iter().find(is_port) else {
                let message = format!("{place} is not listening on port {}", reference.port);
                return Availability::failed("ServicePortError", message);
            };
            let port = port.text_at(&["name"]);
            match slices(&self.stores.slices, namespace, name).await {
                Err(error) => return unknown("EndpointsAccessError", &error),
                Ok(slices) if slices.is_empty() => {
                    let message = format!("cannot find endpointslices for {place}");
                    return Availability::failed("EndpointsNotFound", message);
                }
                Ok(slices) if !slices.iter().any(|slice| has_endpoint(slice, port)) => {
                    let port = quote(port);
                    let message =
                        format!("endpointslices for {place} have no addresses with port name {port}");
                    return Availability::failed("MissingEndpoints", message);
                }
                Ok(_) => {}
            }
        }
        match probe(remote).await {
            Ok(()) => Availability::passed(),
            Err(reason) => Availability::failed(FAILED_CHECK, reason),
        }
    }
}

/// The reason of a server that does not answer. No change tells when it does, so it is retried.
const FAILED_CHECK: &str = "FailedDiscoveryCheck";

/// Returns an object of a cache.
async fn object(store: &Store, key: &str) -> std::result::Result<Option<Value>, String> {
    store.cache().ready().await.map_err(|error| error.to_string())?;
    let Some(entry) = store.cache().get(key) else { return Ok(None) };
    store.object(&entry).map(Some).map_err(|status| status.message)
}

/// Returns the slices of a service.
async fn slices(store: &Store, namespace: &str, service: &str) -> std::result::Result<Vec<Value>, String> {
    store.cache().ready().await.map_err(|error| error.to_string())?;
    let snapshot =
        store.cache().snapshot_since(0, Duration::ZERO).await.map_err(|error| error.to_string())?;
    let prefix = format!("{namespace}/");
    let mut found = Vec::new();
    for entry in snapshot.objects.iter_prefix(&prefix) {
        if service_of(entry).is_some_and(|name| name == service) {
            found.push(store.object(entry).map_err(|status| status.message)?);
        }
    }
    Ok(found)
}

/// Returns the name of a slice's service.
fn service_of(entry: &Entry) -> Option<String> {
    Some(entry.read().ok()?.label(SERVICE_NAME)?.to_owned())
}

/// Returns whether a slice has a ready endpoint, and the port.
fn has_endpoint(slice: &Value, port: &str) -> bool {
    let is_ready =
        |endpoint: &Value| endpoint.at(&["conditions", "ready"]).and_then(Value::as_bool) != Some(false);
    let is_port = |found: &Value| {
        found.get("name").and_then(Value::as_str) == Some(port)
            && found.get("port").and_then(Value::as_i64).is_some()
    };
    slice.items_at(&["endpoints"]).iter().any(is_ready) && slice.items_at(&["ports"]).iter().any(is_port)
}

/// Queues the APIServices behind the services that change, while there are remote APIServices.
async fn follow(
    queue: WorkQueue<Key>,
    store: Arc<Store>,
    is_slices: bool,
    api_services: Arc<ApiServices>,
    subscribers: Arc<Subscribers>,
    clock: Clock,
) {
    let mut has_remote = subscribers.has_remote.subscribe();
    loop {
        // The sender lives as long as the subscribers here.
        let _ = has_remote.wait_for(|has| *has).await;
        if store.cache().ready().await.is_err() {
            clock.sleep(PAUSE).await;
            continue;
        }
        let Ok((_, mut cursor)) = store.cache().snapshot_and_watch(Interest::Everything) else {
            clock.sleep(PAUSE).await;
            continue;
        };
        // Changes before the cursor are not seen.
        for remote in api_services.all_remote() {
            queue.add(remote.name.as_str().into());
        }
        while let Next::Changes(changes) = cursor.next().await {
            for change in &changes {
                let Some((namespace, name)) = change.entry.key().split_once('/') else { continue };
                let service = match is_slices {
                    false => Some(name.to_owned()),
                    true => service_of(&change.entry).or_else(|| service_of(change.previous.as_deref()?)),
                };
                let Some(service) = service else { continue };
                for name in api_services.behind(namespace, &service) {
                    queue.add(name.as_str().into());
                }
            }
            if !*has_remote.borrow() {
                break;
            }
        }
    }
}

#[async_trait]
impl Controller for RemoteAvailability {
    fn name(&self) -> &'static str {
        "RemoteAvailabilityController"
    }

    fn sources(&self) -> Vec<Source> {
        let following = |store: &Arc<Store>, is_slices: bool| {
            let (store, clock) = (store.clone(), self.clock.clone());
            let (api_services, subscribers) = (self.api_services.clone(), self.subscribers.clone());
            Source::feeder(move |queue| follow(queue, store, is_slices, api_services, subscribers, clock))
        };
        vec![
            subscribe(&self.subscribers.availability, &self.api_services),
            following(&self.stores.services, false),
            following(&self.stores.slices, true),
        ]
    }

    async fn reconcile(&self, name: &str) -> Result<Requeue> {
        let Some(remote) = self.api_services.named(name) else { return Ok(Requeue::Never) };
        let state = self.examine(&remote).await;
        // As it is now: the probe has taken its time.
        let Some(service) = self.statuses.cached("", name) else { return Ok(Requeue::Never) };
        let is_same =
            self.api_services.named(name).is_some_and(|now| Arc::ptr_eq(&now.server, &remote.server));
        if !is_same {
            return Ok(Requeue::Never);
        }
        super::write(&self.statuses, &self.metrics, &service, &state).await?;
        match state.reason {
            FAILED_CHECK => Err(Box::new(Status::plain(state.message))),
            _ => Ok(Requeue::After(INTERVAL)),
        }
    }

    fn failed(&self, name: &str, status: &Status) {
        tracing::error!("{name} failed with: {}", status.message);
    }

    fn workers(&self) -> usize {
        crate::WAITERS
    }

    fn rate_limits(&self) -> RateLimits {
        LIMITS
    }
}

#[cfg(test)]
mod tests {
    use pintle_registry::testing::object;

    use super::*;

    #[test]
    fn a_slice_counts_with_a_ready_endpoint_and_the_port() {
        let has = |endpoints: &str, ports: &str, port: &str| {
            has_endpoint(&object(&format!(r#"{{"endpoints":{endpoints},"ports":{ports}}}"#)), port)
        };
        let ready = r#"[{"addresses":["10.0.0.1"]}]"#;
        assert!(has(ready, r#"[{"name":"https","port":443}]"#, "https"));
        assert!(has(ready, r#"[{"name":"","port":443}]"#, ""));
        assert!(!has(ready, r#"[{"port":443}]"#, ""), "a port without a name matches none");
        assert!(!has(ready, r#"[{"name":"https"}]"#, "https"));
        assert!(!has(r#"[{"conditions":{"ready":false}}]"#, r#"[{"name":"a","port":1}]"#, "a"));
        assert!(!has("[]", r#"[{"name":"a","port":1}]"#, "a"));
    }
}
