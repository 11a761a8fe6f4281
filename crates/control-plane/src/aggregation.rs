//! The aggregator, made of the parts of a control plane.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_aggregator::{Aggregator, AggregatorConfig, DefinitionVersions, HOOKS, Registered};
use pintle_controllers::Runtime;
use pintle_discovery::GroupVersion;
use pintle_extensions::{DefinitionController, Definitions};
use pintle_features::Feature;
use pintle_metrics::Registry;
use pintle_server::handlers::{Check, HealthCheck, HealthRegistry};
use pintle_server::lifecycle::Hooks;

use crate::resources::{ServedResources, status_client};
use crate::stores::Stores;
use crate::{Config, Error, flow_control};

const GROUP: &str = "apiregistration.k8s.io";

/// The reference's order of its post-start hooks, and of the check of registration among them. Those that this server does not have are
/// here, too, so that the order is in one place.
pub(crate) const ORDER: &[&str] = &[
    NOMINAL_HOOKS[0],
    NOMINAL_HOOKS[1],
    flow_control::CONSUMER_HOOK,
    flow_control::FILTER_HOOK,
    flow_control::MAX_IN_FLIGHT_HOOK,
    NOMINAL_HOOKS[2],
    EXTENSIONS_HOOK,
    DefinitionController::HOOK,
    Definitions::HOOK,
    pintle_controllers::SystemNamespaces::HOOK,
    "peer-endpoint-reconciler-controller",
    pintle_controllers::ClusterAuthenticationTrust::HOOK,
    pintle_controllers::Identity::HOOK,
    pintle_controllers::Identity::COLLECTION_HOOK,
    "storage-readiness",
    pintle_controllers::LegacyTokenTracking::HOOK,
    pintle_controllers::ServiceRepair::HOOK,
    pintle_controllers::BootstrapRoles::HOOK,
    pintle_controllers::PriorityClasses::HOOK,
    pintle_controllers::FlowControl::HOOK,
    pintle_controllers::KubernetesService::HOOK,
    pintle_controllers::DefaultServiceRange::HOOK,
    "aggregator-reload-proxy-client-cert",
    HOOKS[0],
    HOOKS[1],
    HOOKS[2],
    HOOKS[3],
    HOOKS[4],
    pintle_controllers::StorageVersions::HOOK,
    HOOKS[5],
    Registered::NAME,
    HOOKS[6],
    HOOKS[7],
];

/// Hooks whose work has no place in a start here: caches are loaded by their first readers, and objects are counted by scrapes. Their names
/// are there for those who ask for a single one.
const NOMINAL_HOOKS: [&str; 3] = [
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "storage-object-count-tracker-hook",
];

/// The hook that loads definitions.
const EXTENSIONS_HOOK: &str = "start-apiextensions-informers";

/// Makes the aggregator.
pub(crate) fn aggregator(
    config: &Config,
    stores: &Stores,
    resources: &ServedResources,
    served: &[GroupVersion],
    registry: &Registry,
    runtime: &Runtime,
) -> Result<Aggregator, Error> {
    let name = "apiservices";
    let aggregation = AggregatorConfig {
        api_services: stores.require_client(GROUP, "v1", name)?,
        statuses: status_client(stores, &resources.settings, GROUP, name)
            .ok_or_else(crate::error::no_resource(name))?,
        services: stores.require_store("services/specs")?,
        slices: stores.require_store("endpointslices")?,
        definitions: stores
            .require_client("apiextensions.k8s.io", "v1", "customresourcedefinitions")?
            .store()
            .clone(),
        definition_versions: Arc::new(Versions(resources.definitions.clone())),
        builtin: served
            .iter()
            .map(|version| (version.group.to_string(), version.version.to_string()))
            .collect(),
        resolver: resources.resolver.clone(),
        egress: config.network.egress.clone(),
        key_pair: config.aggregation.key_pair.clone(),
        refuses_redirects: config.aggregation.refuses_redirects,
        uid_headers: config.features.enabled(Feature::RemoteRequestHeaderUID),
        registry: registry.clone(),
        runtime: runtime.clone(),
    };
    Aggregator::new(aggregation).map_err(Error::part)
}

/// Adds the hooks and health checks of the aggregator, and puts those of the whole start into their order.
pub(crate) fn add_hooks(
    aggregator: &Aggregator,
    definitions: &Arc<Definitions>,
    hooks: &mut Hooks,
    health: &mut HealthRegistry,
) {
    for name in NOMINAL_HOOKS {
        hooks.post_start(name, || async { Ok(()) });
    }
    let loaded = definitions.clone();
    hooks.post_start(EXTENSIONS_HOOK, move || async move {
        loaded.ready().await.map_err(|status| status.message)
    });
    aggregator.add_hooks(hooks);
    hooks.check(HealthCheck::new(Registered::NAME, aggregator.registered()));
    hooks.order_by(ORDER);
    let informers = Informers { definitions: definitions.clone(), api_services: aggregator.loaded() };
    health.add_readyz(HealthCheck::new("informer-sync", informers));
}

/// The definitions of custom resources, as registration sees them.
struct Versions(Arc<Definitions>);

#[async_trait]
impl DefinitionVersions for Versions {
    async fn ready(&self) -> Result<(), String> {
        self.0.ready().await.map_err(|status| status.message)
    }

    fn served(&self, name: &str) -> Option<(String, Vec<String>)> {
        self.0.served_versions(name)
    }

    fn names(&self) -> Vec<String> {
        self.0.names()
    }
}

/// Whether the objects that decide where requests go are loaded.
struct Informers {
    definitions: Arc<Definitions>,
    api_services: Box<dyn Fn() -> bool + Send + Sync>,
}

#[async_trait]
impl Check for Informers {
    async fn check(&self) -> Result<(), String> {
        let kinds = [
            ("*v1.CustomResourceDefinition", self.definitions.is_loaded()),
            ("*v1.APIService", (self.api_services)()),
        ];
        let missing: Vec<&str> = kinds.iter().filter(|(_, loaded)| !loaded).map(|(kind, _)| *kind).collect();
        match missing.len() {
            0 => Ok(()),
            count => Err(format!("{count} informers not started yet: [{}]", missing.join(" "))),
        }
    }
}
