//! The aggregator: group versions that other servers answer for, each named by an APIService.
//!
//! ```text
//! ApiServices          mirrors the stored APIServices: the remote ones by group version
//! registration         creates the APIServices of what this server serves, and takes up those of other servers
//! availability         the `Available` conditions
//! remote               the documents of other servers: discovery, OpenAPI
//! Proxy                the first delegate: passes requests for remote group versions on
//! ```
//!
//! An APIService without a service is local: its group version is built in, or of custom resources. As long as all are local, nothing
//! here runs, and a request pays for one look at an empty table.
//!
//! Nothing waits for another server but requests for its own group versions. Its documents are fetched by controllers and kept; while
//! it cannot be reached, its group version is listed as `Stale`.

mod api_services;
mod availability;
mod condition;
mod hooks;
mod identity;
mod metrics;
mod proxy;
mod registration;
mod remote;
mod server;

use std::sync::Arc;

use async_trait::async_trait;
use pintle_controllers::{CatalogResource, Runtime};
use pintle_discovery::GroupSource;
use pintle_metrics::Registry;
use pintle_outbound::KeyPair;
use pintle_outbound::egress::Selector;
use pintle_outbound::services::Resolver;
use pintle_registry::{Client, Store};
use pintle_runtime::Signal;

pub use hooks::HOOKS;
pub use proxy::Proxy;
pub use registration::Registered;

use api_services::ApiServices;
use metrics::Metrics;
use registration::{AutoRegistration, DefinitionRegistration};
use remote::RemoteVersions;
use server::Connector;

/// Number of servers that each controller waits for at the same time: those that do not answer must not hold up the others.
const WAITERS: usize = 16;

/// The parts of a control plane that the aggregator is made of.
pub struct AggregatorConfig {
    /// APIServices.
    pub api_services: Client,
    /// The same, written through their status.
    pub statuses: Client,
    pub services: Arc<Store>,
    /// The slices of services' endpoints.
    pub slices: Arc<Store>,
    pub definitions: Arc<Store>,
    /// Knows the versions of definitions.
    pub definition_versions: Arc<dyn DefinitionVersions>,
    /// The built-in group versions that are served: group and version.
    pub builtin: Vec<(String, String)>,
    /// Knows where services are.
    pub resolver: Arc<dyn Resolver>,
    /// The proxies on the way to other servers.
    pub egress: Option<Selector>,
    /// The certificate by which other servers know this one.
    pub key_pair: Option<KeyPair>,
    /// Whether redirects of other servers are refused.
    pub refuses_redirects: bool,
    /// Whether other servers are told the uids of users (feature gate `RemoteRequestHeaderUID`).
    pub uid_headers: bool,
    pub registry: Registry,
    pub runtime: Runtime,
}

/// Knows the definitions of custom resources.
#[async_trait]
pub trait DefinitionVersions: Send + Sync + 'static {
    /// Waits until all stored definitions are known. An error is worth another attempt.
    async fn ready(&self) -> Result<(), String>;

    /// Returns the group and the served versions of a definition, as current as its cache; `None` if there is none of the name.
    fn served(&self, name: &str) -> Option<(String, Vec<String>)>;

    /// Returns the names of all definitions.
    fn names(&self) -> Vec<String>;
}

/// The aggregator of a control plane.
pub struct Aggregator {
    config: AggregatorConfig,
    services: Arc<ApiServices>,
    versions: Arc<RemoteVersions>,
    auto: Arc<AutoRegistration>,
    definitions: Arc<DefinitionRegistration>,
    metrics: Metrics,
}

impl Aggregator {
    /// Errors: its metrics cannot be registered.
    pub fn new(config: AggregatorConfig) -> Result<Aggregator, pintle_metrics::Error> {
        let connector = Arc::new(Connector {
            resolver: config.resolver.clone(),
            egress: config.egress.clone(),
            key_pair: config.key_pair.clone(),
            uid_headers: config.uid_headers,
            clock: config.runtime.clock.clone(),
            random: config.runtime.random.clone(),
        });
        let services = Arc::new(ApiServices::new(config.api_services.store().clone(), connector));
        let metrics = Metrics::new(&config.registry, &services)?;
        let builtin = config.builtin.iter().map(|(group, version)| (group.as_str(), version.as_str()));
        let auto = Arc::new(AutoRegistration::new(config.api_services.clone(), builtin));
        let definitions = Arc::new(DefinitionRegistration::new(
            config.definitions.clone(),
            config.definition_versions.clone(),
            auto.clone(),
        ));
        let versions = Arc::new(RemoteVersions::default());
        Ok(Aggregator { config, services, versions, auto, definitions, metrics })
    }

    /// Returns the source of remote group versions for discovery and OpenAPI.
    pub fn group_source(&self) -> Arc<dyn GroupSource> {
        self.versions.publisher().clone()
    }

    /// Returns the check that fails until the APIServices of all built-in group versions have been available.
    pub fn registered(&self) -> Registered {
        Registered::new(self.config.api_services.clone(), self.auto.builtin())
    }

    /// Returns a function that says whether the APIServices are loaded.
    pub fn loaded(&self) -> Box<dyn Fn() -> bool + Send + Sync> {
        let services = self.services.clone();
        Box::new(move || services.is_loaded())
    }

    /// Returns the first delegate. `stop` is set when long-running requests end.
    pub fn proxy(&self, stop: Signal) -> Proxy {
        Proxy::new(self.services.clone(), self.config.refuses_redirects, self.config.uid_headers, stop)
    }

    /// Returns the remote resources, for controllers of all kinds of objects.
    pub fn catalog(&self) -> RemoteCatalog {
        RemoteCatalog { services: self.services.clone(), versions: self.versions.clone() }
    }
}

/// The resources of other servers. Clones are the same.
#[derive(Clone)]
pub struct RemoteCatalog {
    services: Arc<ApiServices>,
    versions: Arc<RemoteVersions>,
}

impl RemoteCatalog {
    /// Returns the resources of available servers, each in its preferred version, and the group versions whose resources are not
    /// known, with the reason.
    pub async fn resources(&self) -> (Vec<CatalogResource>, Vec<(String, String)>) {
        // Without its APIServices nothing is known of what is remote; a later look finds them.
        let _ = self.services.ready().await;
        self.versions.catalog(&self.services.all_remote())
    }

    /// Returns the resource of a kind in exactly this version, and whether it is namespaced.
    pub fn resource_of_kind(&self, group: &str, version: &str, kind: &str) -> Option<(String, bool)> {
        self.versions.resource_of_kind(group, version, kind)
    }
}
