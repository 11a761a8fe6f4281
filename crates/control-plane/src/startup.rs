//! The stages of [`ControlPlane::start`](crate::ControlPlane::start), in their order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use pintle_aggregator::{Aggregator, RemoteCatalog};
use pintle_auth::authorizer::rbac::Escalation;
use pintle_auth::{Authenticator, Authorizer};
use pintle_codec::negotiate::{ENCODINGS, ENCODINGS_WITH_CBOR, Encoding};
use pintle_controllers::manager::ElectionConfig;
use pintle_controllers::{Controller, IdentityConfig, NamespaceDeletion, Peers, Runtime, ServiceConfig};
use pintle_discovery::GroupVersion;
use pintle_documentation::Texts;
use pintle_encryption::Encryption;
use pintle_extensions::Extensions;
use pintle_features::{Feature, Features};
use pintle_metrics::Registry;
use pintle_resources::component_status::Component;
use pintle_resources::service::ServiceNetwork;
use pintle_resources::strategy::Settings;
use pintle_runtime::{Random, Signal, Spawner};
use pintle_schema::Resources;
use pintle_server::chain::ChainConfig;
use pintle_server::delegation::Delegation;
use pintle_server::filters::{FlowControlConfig, UnpublishedVersions};
use pintle_server::handlers::HealthRegistry;
use pintle_server::lifecycle::{Hooks, Lifecycle};
use pintle_server::{Documents, DocumentsConfig, Metrics, ServerConfig};
use pintle_storage::Backend;

use crate::access::rbac::Roles;
use crate::access::{self, ClusterAuthorizers, StoredAccounts, Tokens};
use crate::bootstrap::{self, Bootstrap};
use crate::catalog::ServerCatalog;
use crate::components::StoreServer;
use crate::config::{NetworkConfig, StorageConfig};
use crate::consistency::{self, Checker};
use crate::in_process::InProcess;
use crate::managed::ManagedControllers;
use crate::resources::{ResourcesConfig, ServedResources};
use crate::services::Services;
use crate::stores::Stores;
use crate::{
    Config, Error, aggregation, api_groups, components, encryption, flow_control, health, identity, peers,
    storage_versions,
};

/// Interval of repairs of the endpoints of the service `kubernetes` by a server that has its store to itself.
const ALONE_INTERVAL: Duration = Duration::from_secs(60);

/// The state that the stages share.
pub(crate) struct Startup {
    backend: Arc<dyn Backend>,
    features: Features,
    registry: Registry,
    pub(crate) metrics: Metrics,
    auth_metrics: pintle_auth::Metrics,
    lifecycle: Lifecycle,
    hooks: Hooks,
    spawner: Spawner,
    /// The runtime of controllers, which end when long-running requests do.
    runtime: Runtime,
    settings: Settings,
    /// The controller of the conditions of flow schemas, where there is one.
    flow_schema_conditions: Option<Arc<dyn Controller>>,
    /// The built-in group versions that are served.
    served: Vec<GroupVersion>,
    encodings: &'static [Encoding],
}

/// Authentication and authorization of requests.
pub(crate) struct Access {
    authenticator: Arc<dyn Authenticator>,
    authorizer: Arc<dyn Authorizer>,
    roles: Roles,
    tokens: Tokens,
}

impl Startup {
    /// Registers metrics and chooses the group versions that are served.
    pub(crate) fn new(backend: Arc<dyn Backend>, config: &Config) -> Result<Startup, Error> {
        let (features, registry, spawner) = (config.features, config.registry.clone(), config.spawner());
        let auth_metrics = config.auth_metrics.clone();
        let metrics = Metrics::new(&registry, &auth_metrics).map_err(Error::part)?;
        let lifecycle = Lifecycle::default();
        let runtime = Runtime {
            spawner: spawner.ending_at(lifecycle.not_accepting.clone()),
            clock: config.clock.clone(),
            random: config.random.clone(),
            metrics: pintle_controllers::Metrics::new(&registry).map_err(Error::part)?,
        };
        metrics.build_info(&config.version).map_err(Error::part)?;
        let gates = features.iter().map(|(gate, enabled)| (gate.name, gate.stage.as_str(), enabled));
        metrics.features(gates).map_err(Error::part)?;
        let has_cbor = features.enabled(Feature::CBORServingAndStorage);
        Ok(Startup {
            backend,
            features,
            registry,
            metrics,
            auth_metrics,
            lifecycle,
            hooks: Hooks::default(),
            spawner,
            runtime,
            settings: settings(config),
            flow_schema_conditions: None,
            served: api_groups::served(&Resources::builtin()?, &config.api.groups, features)?,
            encodings: if has_cbor { ENCODINGS_WITH_CBOR } else { ENCODINGS },
        })
    }

    /// Returns the signal that is set when long-running requests end.
    pub(crate) fn stop(&self) -> Signal {
        self.lifecycle.not_accepting.clone()
    }

    /// Makes the health checks, of the stores among others.
    pub(crate) fn health(&mut self, config: &mut Config) -> HealthRegistry {
        if self.features.enabled(Feature::WatchCacheInitializationPostStartHook) {
            health::add_hook(self.backend.clone(), &mut self.hooks);
        }
        let checks = std::mem::take(&mut config.health);
        health::registry(checks, &self.backend, &config.storage.overrides, &config.clock)
    }

    /// Adds the health checks of KMS plugins and the hook that follows the encryption's configuration.
    pub(crate) fn add_encryption(&mut self, encryption: &Arc<Encryption>, health: &mut HealthRegistry) {
        encryption::add_checks(encryption, health);
        encryption::add_hook(encryption, &mut self.hooks, &self.spawner);
    }

    /// Opens the stores of all built-in kinds.
    pub(crate) async fn open_stores(&self, config: &mut Config) -> Result<Stores, Error> {
        let network = service_network(&config.network, &self.settings);
        let backend = self.backend.clone();
        let ends_namespaces =
            !config.storage.is_shared && config.controllers.selection.contains(NamespaceDeletion::NAME);
        let (spawner, clock) = (&self.spawner, &config.clock);
        Stores::open(backend, &mut config.storage, &self.settings, network, spawner, clock, ends_namespaces)
            .await
    }

    /// Makes the authenticators and authorizers, and adds the hooks that create the default roles.
    pub(crate) fn access(&mut self, config: &Config, stores: &Stores) -> Result<Access, Error> {
        let accounts = Arc::new(StoredAccounts::new(stores, self.auth_metrics.clone())?);
        let tokens = Tokens::new(&config.authentication, accounts, self.auth_metrics.clone())?;
        let authenticator = access::authenticator(&config.authentication, tokens.clone());
        let roles = Roles::new(stores)?;
        let authorizers = ClusterAuthorizers::new(stores, &roles, self.features, &self.auth_metrics);
        let authorizer = (config.authorization)(&authorizers).map_err(Error::Part)?;
        access::rbac::add_hooks(stores, &roles, &mut self.hooks, self.features, &self.runtime)?;
        Ok(Access { authenticator, authorizer, roles, tokens })
    }

    /// Adds the hooks that publish the identity of this server and, with StorageVersionAPI, its storage versions. Returns the
    /// check by which writes wait for the latter.
    pub(crate) fn add_identity(
        &mut self,
        config: &Config,
        stores: &Stores,
    ) -> Result<Option<UnpublishedVersions>, Error> {
        if !self.features.enabled(Feature::APIServerIdentity) {
            return Ok(None);
        }
        let identity = identity(&config.network, self.features, &config.random);
        let mut unpublished = None;
        if self.features.enabled(Feature::StorageVersionAPI) {
            let (name, hooks) = (&identity.name, &mut self.hooks);
            let added =
                storage_versions::add_hook(stores, &self.settings, &self.served, name, hooks, &self.runtime)?;
            unpublished = Some(added);
        }
        bootstrap::add_identity(stores, identity, &mut self.hooks, &self.runtime)?;
        Ok(unpublished)
    }

    /// Adds the hooks of controllers of objects that every cluster has.
    pub(crate) fn add_bootstrap_controllers(
        &mut self,
        config: &Config,
        stores: &Stores,
    ) -> Result<(), Error> {
        let bootstrap = Bootstrap {
            service: kubernetes_service(&config.network, &config.storage, &self.backend),
            service_ranges: config.network.service_ranges.clone(),
            trust: config.authentication.trust.clone(),
            trust_changed: config.authentication.trust_changed.clone(),
            has_flow_control: config.requests.has_flow_control,
        };
        self.flow_schema_conditions =
            bootstrap.add_hooks(stores, &self.settings, &self.served, &mut self.hooks, &self.runtime)?;
        Ok(())
    }

    /// Makes discovery and OpenAPI.
    pub(crate) fn documents(&self, config: &Config) -> Arc<Documents> {
        let documents = DocumentsConfig {
            address: config.network.public_address.clone(),
            version: format!("{}.{}", config.version.major, config.version.minor),
            enums: self.features.enabled(Feature::OpenAPIEnums),
            cbor: self.features.enabled(Feature::CBORServingAndStorage),
            logs: config.api.has_logs,
            documentation: &Texts,
            clock: config.clock.clone(),
        };
        Arc::new(Documents::new(documents, self.served.clone()))
    }

    /// Makes the endpoints of built-in and custom resources.
    pub(crate) fn serve_resources(
        &self,
        config: &mut Config,
        stores: &Stores,
        access: &Access,
        documents: &Arc<Documents>,
    ) -> Result<ServedResources, Error> {
        let network = &config.network;
        let services =
            Services::new(stores, network.listening, network.endpoint_routing, config.random.clone())?;
        let components = components::statuses(store_servers(&mut config.storage, &self.backend))?;
        let resources = ResourcesConfig {
            encodings: self.encodings,
            settings: self.settings.clone(),
            admission_plugins: config.api.admission_plugins.clone(),
            admission_configurations: config.api.admission_configurations.clone(),
            manifest_folders: config.api.manifest_folders.clone(),
            server_id: if self.features.enabled(Feature::APIServerIdentity) {
                identity::server_id(&config.network.hostname)
            } else {
                String::new()
            },
            toleration_seconds: config.api.toleration_seconds,
            authorizer: access.authorizer.clone(),
            escalation: Arc::new(Escalation::new(access.roles.clone(), access.authorizer.clone())),
            tokens: access.tokens.clone(),
            token_requests: config.authentication.service_accounts.token_requests(self.features),
            delete_workers: config.api.delete_workers,
            min_request_timeout: config.api.min_request_timeout,
            features: self.features,
            watch_termination: config.shutdown.watch_termination,
            body_pool: config.storage.body_pool.clone(),
            components: Arc::new(components),
            documents: documents.clone(),
            services: Arc::new(services),
            egress: config.network.egress.clone(),
            kubelets: config.network.kubelets.clone(),
            connection_rate: config.network.connection_rate,
            hosts: config.network.hosts.clone(),
            metrics: self.metrics.clone(),
            registry: self.registry.clone(),
            spawner: self.spawner.clone(),
            stop: self.stop(),
        };
        ServedResources::new(stores, resources, &self.served)
    }

    /// Starts the tasks that measure and check the stores.
    pub(crate) fn measure_stores(
        &self,
        config: &Config,
        stores: &Stores,
        resources: &ServedResources,
    ) -> Result<(), Error> {
        let clock = &config.clock;
        if let Some(period) = config.storage.count_period {
            let sizes = self.features.enabled(Feature::SizeBasedListCostEstimate);
            resources.count_stored_objects(stores, &self.registry, clock.clone(), period, sizes)?;
        }
        if let Some(period) = config.storage.size_period {
            let sizes = pintle_storage::Metrics::new(&self.registry).map_err(Error::part)?;
            health::report_size(self.backend.clone(), period, sizes, &self.spawner, clock.clone());
        }
        if self.features.enabled(Feature::DetectCacheInconsistency) {
            let checks = pintle_cache::Metrics::new(&self.registry).map_err(Error::part)?;
            let checker = Checker::new(stores, resources.definitions.clone(), checks);
            checker.start(consistency::PERIOD, &self.spawner, clock.clone(), config.random.clone());
        }
        Ok(())
    }

    /// Adds the hooks of controllers of namespaces, services and definitions.
    pub(crate) fn add_resource_controllers(
        &mut self,
        config: &Config,
        stores: &Stores,
        resources: &ServedResources,
    ) -> Result<(), Error> {
        // Where pods are made to run as service accounts, every namespace has one.
        let has_accounts = config.api.admission_plugins.contains(&"ServiceAccount");
        let accounts = has_accounts.then(|| stores.client("", "v1", "serviceaccounts")).flatten();
        resources.add_hooks(stores, &mut self.hooks, accounts, &self.runtime)
    }

    /// Makes the aggregator, and adds its hooks, health checks and documents.
    pub(crate) fn add_aggregator(
        &mut self,
        config: &Config,
        stores: &Stores,
        resources: &ServedResources,
        documents: &Documents,
        health: &mut HealthRegistry,
    ) -> Result<Aggregator, Error> {
        let aggregator =
            aggregation::aggregator(config, stores, resources, &self.served, &self.registry, &self.runtime)?;
        documents.add_source(aggregator.group_source());
        aggregation::add_hooks(&aggregator, &resources.definitions, &mut self.hooks, health);
        Ok(aggregator)
    }

    /// Adds the hook of the controllers that run for every cluster. Their requests begin once the result is connected.
    pub(crate) fn add_managed_controllers(
        &mut self,
        config: &Config,
        stores: &Stores,
        resources: &ServedResources,
        remote: RemoteCatalog,
    ) -> Result<Arc<InProcess>, Error> {
        let api = Arc::new(InProcess::new());
        let identity = identity(&config.network, self.features, &config.random);
        let election = match config.storage.is_shared {
            true => Some(ElectionConfig {
                leases: stores.require_client("coordination.k8s.io", "v1", "leases")?,
                identity: identity.holder,
                clock: config.clock.clone(),
                random: config.random.clone(),
            }),
            false => None,
        };
        let managed = ManagedControllers {
            stores,
            config: &config.controllers,
            legacy_signer: config.authentication.service_accounts.legacy_signer.clone(),
            features: self.features,
            served: &self.served,
            registry: &self.registry,
            api: api.clone(),
            catalog: Arc::new(ServerCatalog::new(stores, &self.served, &resources.definitions, remote)),
            runtime: self.runtime.clone(),
            election,
        };
        managed.add_hook(&mut self.hooks)?;
        Ok(api)
    }

    /// Makes priority and fairness with its hooks, if it is on.
    pub(crate) fn flow_control(
        &mut self,
        config: &Config,
        stores: &Stores,
        resources: &ServedResources,
    ) -> Result<Option<FlowControlConfig>, Error> {
        let requests = &config.requests;
        if !requests.has_flow_control {
            self.hooks.post_start(flow_control::MAX_IN_FLIGHT_HOOK, || async { Ok(()) });
            return Ok(None);
        }
        let parts = flow_control::Parts {
            seats: requests.max_read_only.saturating_add(requests.max_mutating),
            stores,
            resources,
            features: self.features,
            registry: &self.registry,
            metrics: &self.metrics,
            conditions: self.flow_schema_conditions.take(),
            runtime: &self.runtime,
        };
        flow_control::flow_control(parts, &mut self.hooks).map(Some)
    }

    /// Completes the configuration of the server with the results of all stages.
    #[allow(clippy::too_many_arguments, reason = "one for each stage")]
    pub(crate) fn server_config(
        self,
        config: Config,
        health: HealthRegistry,
        access: Access,
        unpublished: Option<UnpublishedVersions>,
        documents: Arc<Documents>,
        resources: &ServedResources,
        aggregator: &Aggregator,
        flow_control: Option<FlowControlConfig>,
    ) -> ServerConfig {
        let (features, stop) = (self.features, self.stop());
        let mut endpoints = config.endpoints;
        let service_accounts = &config.authentication.service_accounts;
        endpoints.extend(service_accounts.endpoints(&config.network.public_address));
        ServerConfig {
            chain: ChainConfig {
                authenticator: access.authenticator,
                close_unauthenticated: config.requests.close_unauthenticated,
                front_proxy: config.authentication.front_proxy,
                challenge: config.authentication.challenge,
                authorizer: access.authorizer,
                constrained_impersonation: features.enabled(Feature::ConstrainedImpersonation),
                max_read_only: config.requests.max_read_only,
                max_mutating: config.requests.max_mutating,
                flow_control,
                request_timeout: config.requests.timeout,
                cors_allowed_origins: config.requests.cors_allowed_origins,
                strict_transport_security: config.requests.strict_transport_security,
                goaway_chance: config.requests.goaway_chance,
                send_retry_after: config.shutdown.send_retry_after,
                encodings: self.encodings,
                compression: features.enabled(Feature::APIResponseCompression),
                unpublished,
                auditor: config.requests.auditor,
                clock: config.clock,
                random: config.random,
            },
            version: config.version,
            metrics: self.metrics,
            health,
            hooks: self.hooks,
            documents,
            flags: features.enabled(Feature::ComponentFlagz).then_some(config.flags),
            status_page: features.enabled(Feature::ComponentStatusz),
            endpoints,
            shutdown_delay: config.shutdown.delay,
            watch_termination: config.shutdown.watch_termination,
            resources: Arc::new(Delegation::new(vec![
                Arc::new(aggregator.proxy(stop)),
                resources.rest.clone(),
                Arc::new(Extensions::new(resources.definitions.clone(), resources.rest.clone())),
            ])),
            lifecycle: self.lifecycle,
        }
    }
}

fn settings(config: &Config) -> Settings {
    Settings {
        event_ttl: config.api.event_ttl,
        features: config.features,
        ipv6_first: config.network.is_ipv6_first(),
        allow_privileged: config.api.allow_privileged,
        clock: config.clock.clone(),
        random: config.random.clone(),
    }
}

/// Returns the networks from which services get addresses and ports.
fn service_network(network: &NetworkConfig, settings: &Settings) -> ServiceNetwork {
    ServiceNetwork {
        ipv6_first: network.is_ipv6_first(),
        dual_stack: network.service_ranges.len() > 1,
        node_ports: network.node_ports,
        random: settings.random.clone(),
    }
}

/// Returns the identity of this server among those of the cluster.
fn identity(network: &NetworkConfig, features: Features, random: &Random) -> IdentityConfig {
    let peers = features.enabled(Feature::UnknownVersionInteroperabilityProxy);
    let address = SocketAddr::new(network.advertised, network.listening.port());
    identity::config(&network.hostname, peers.then(|| address.to_string()), random)
}

/// Returns the configuration of the service `kubernetes`, by which pods find this server.
fn kubernetes_service(
    network: &NetworkConfig,
    storage: &StorageConfig,
    backend: &Arc<dyn Backend>,
) -> ServiceConfig {
    let address = network.advertised;
    let (peers, interval): (Arc<dyn Peers>, _) = if storage.is_shared {
        let leases = peers::Leases::new(backend.clone(), &storage.prefix, address);
        (Arc::new(leases), peers::INTERVAL)
    } else {
        (Arc::new(peers::SingleServer(address)), ALONE_INTERVAL)
    };
    ServiceConfig {
        service_ip: network.service_ip,
        node_port: network.service_node_port,
        port: network.listening.port(),
        peers: Some(peers).filter(|_| network.keeps_endpoints),
        interval,
    }
}

/// Returns the servers of the store for `componentstatuses`.
fn store_servers(storage: &mut StorageConfig, backend: &Arc<dyn Backend>) -> Vec<Arc<dyn Component>> {
    let servers = std::mem::take(&mut storage.servers);
    if servers.is_empty() { vec![Arc::new(StoreServer::from_backend(backend.clone()))] } else { servers }
}
