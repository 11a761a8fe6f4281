//! A control plane from its start to its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use pintle_auth::authorizer::rbac::Escalation;
use pintle_codec::negotiate::{ENCODINGS, ENCODINGS_WITH_CBOR};
use pintle_controllers::{IdentityConfig, Peers, Runtime, ServiceConfig};
use pintle_discovery::GroupVersion;
use pintle_documentation::Texts;
use pintle_extensions::Extensions;
use pintle_features::{Feature, Features};
use pintle_resources::component_status::Component;
use pintle_resources::service::ServiceNetwork;
use pintle_resources::strategy::Settings;
use pintle_runtime::{Clock, Random, Signal, Spawner, Tasks};
use pintle_schema::Resources;
use pintle_server::chain::ChainConfig;
use pintle_server::delegation::Delegation;
use pintle_server::filter::Handler;
use pintle_server::handlers::Version;
use pintle_server::lifecycle::{Hooks, Lifecycle};
use pintle_server::{Documents, DocumentsConfig, Metrics, Running, Server, ServerConfig};
use pintle_storage::Backend;

use crate::access::rbac::Roles;
use crate::access::{self, ClusterAuthorizers, StoredAccounts, Tokens};
use crate::bootstrap::{self, Bootstrap};
use crate::components::StoreServer;
use crate::config::{ApiConfig, NetworkConfig, StorageConfig};
use crate::consistency::{self, Checker};
use crate::resources::{ResourcesConfig, ServedResources};
use crate::services::Services;
use crate::stores::Stores;
use crate::{Config, Error, api_groups, components, health, identity, peers, storage_versions};

/// How long tasks may take to end by themselves when a control plane stops.
const GRACE: Duration = Duration::from_secs(2);

/// How often the endpoints of the service `kubernetes` are looked at by a server that has its store to itself.
const ALONE_INTERVAL: Duration = Duration::from_secs(60);

/// One control plane. Dropping it ends everything that it started.
pub struct ControlPlane {
    server: Running,
    /// Whether a post-start hook has failed.
    has_failed: bool,
    tasks: Tasks,
    metrics: Metrics,
    backends: Vec<Arc<dyn Backend>>,
    /// Some hold weak references to each other, so the control plane holds them all.
    _stores: Stores,
    _end: EndOnDrop,
}

/// Ends long-running requests, and loops that wait for that moment, with the control plane.
struct EndOnDrop(Signal);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

impl ControlPlane {
    /// Starts a control plane on a store. When it returns, requests are served; [`ControlPlane::is_started`] says whether
    /// the post-start hooks are done, as `/readyz` does.
    ///
    /// Errors: the configuration cannot be used, or the store does not answer.
    pub async fn start(backend: Arc<dyn Backend>, mut config: Config) -> Result<ControlPlane, Error> {
        let (features, registry, spawner) = (config.features, config.registry.clone(), config.spawner());
        let auth_metrics = config.auth_metrics.clone();
        let metrics = Metrics::new(&registry, &auth_metrics).map_err(Error::part)?;
        let lifecycle = Lifecycle::default();
        let stop = lifecycle.not_accepting.clone();
        let runtime = Runtime {
            spawner: spawner.ending_at(stop.clone()),
            clock: config.clock.clone(),
            random: config.random.clone(),
            metrics: pintle_controllers::Metrics::new(&registry).map_err(Error::part)?,
        };
        metrics.build_info(&config.version).map_err(Error::part)?;
        let gates = features.iter().map(|(gate, enabled)| (gate.name, gate.stage.as_str(), enabled));
        metrics.features(gates).map_err(Error::part)?;

        let settings = settings(&config);
        let mut hooks = Hooks::default();
        let health = health::registry(config.health, &backend, &config.storage.overrides, &config.clock);
        if features.enabled(Feature::WatchCacheInitializationPostStartHook) {
            health::add_hook(backend.clone(), &mut hooks);
        }
        let served = api_groups::served(&Resources::builtin()?, &config.api.groups, features)?;
        let backends: Vec<Arc<dyn Backend>> =
            std::iter::once(&backend).chain(&config.storage.overrides.backends).cloned().collect();
        let network = service_network(&config.network, &settings);
        let stores =
            Stores::open(backend.clone(), &mut config.storage, &settings, network, &spawner, &config.clock)
                .await?;

        let accounts = Arc::new(StoredAccounts::new(&stores, auth_metrics.clone())?);
        let tokens = Tokens::new(&config.authentication, accounts, auth_metrics.clone())?;
        let authenticator = access::authenticator(&config.authentication, tokens.clone());
        let roles = Roles::new(&stores)?;
        let authorizers = ClusterAuthorizers::new(&stores, &roles, features, &auth_metrics);
        let authorizer = (config.authorization)(&authorizers).map_err(Error::Part)?;
        access::rbac::add_hooks(&stores, &roles, &mut hooks, features, &runtime)?;

        let mut waiting = None;
        if features.enabled(Feature::APIServerIdentity) {
            let identity = identity(&config.network, features, &config.random);
            if features.enabled(Feature::StorageVersionAPI) {
                let name = &identity.name;
                let added =
                    storage_versions::add_hook(&stores, &settings, &served, name, &mut hooks, &runtime)?;
                waiting = Some(added);
            }
            bootstrap::add_identity(&stores, identity, &mut hooks, &runtime)?;
        }
        let bootstrap = Bootstrap {
            service: kubernetes_service(&config.network, &config.storage, &backend),
            service_ranges: config.network.service_ranges.clone(),
            trust: config.authentication.trust,
            trust_changed: config.authentication.trust_changed,
        };
        bootstrap.add_hooks(&stores, &settings, &served, &mut hooks, &runtime)?;

        let encodings =
            if features.enabled(Feature::CBORServingAndStorage) { ENCODINGS_WITH_CBOR } else { ENCODINGS };
        let documents = Arc::new(documents(
            &config.network,
            &config.api,
            &config.version,
            features,
            &served,
            config.clock.clone(),
        ));
        let services = Services::new(
            &stores,
            config.network.listening,
            config.network.endpoint_routing,
            config.random.clone(),
        )?;
        let service_accounts = &config.authentication.service_accounts;
        let resources = ResourcesConfig {
            encodings,
            settings,
            admission_plugins: config.api.admission_plugins.clone(),
            toleration_seconds: config.api.toleration_seconds,
            authorizer: authorizer.clone(),
            escalation: Arc::new(Escalation::new(roles, authorizer.clone())),
            tokens,
            token_requests: service_accounts.token_requests(features),
            delete_workers: config.api.delete_workers,
            min_request_timeout: config.api.min_request_timeout,
            features,
            watch_termination: config.shutdown.watch_termination,
            body_pool: config.storage.body_pool.clone(),
            components: Arc::new(components::statuses(store_servers(&mut config.storage, &backend))?),
            documents: documents.clone(),
            services: Arc::new(services),
            egress: config.network.egress,
            metrics: metrics.clone(),
            registry: registry.clone(),
            stop: stop.clone(),
        };
        let resources = ServedResources::new(&stores, resources, &served)?;
        if let Some(period) = config.storage.count_period {
            let sizes = features.enabled(Feature::SizeBasedListCostEstimate);
            resources.count_stored_objects(&stores, &registry, config.clock.clone(), period, sizes)?;
        }
        if let Some(period) = config.storage.size_period {
            let sizes = pintle_storage::Metrics::new(&registry).map_err(Error::part)?;
            health::report_size(backend, period, sizes, &spawner, config.clock.clone());
        }
        if features.enabled(Feature::DetectCacheInconsistency) {
            let checks = pintle_cache::Metrics::new(&registry).map_err(Error::part)?;
            let checker = Checker::new(&stores, resources.definitions.clone(), checks);
            checker.start(consistency::PERIOD, &spawner, config.clock.clone(), config.random.clone());
        }
        // Where pods are made to run as service accounts, every namespace has one.
        let has_accounts = config.api.admission_plugins.contains(&"ServiceAccount");
        let account_objects = has_accounts.then(|| stores.objects("", "v1", "serviceaccounts")).flatten();
        resources.add_hooks(&stores, &mut hooks, account_objects, &runtime)?;

        let mut endpoints = config.endpoints;
        endpoints.extend(service_accounts.endpoints(&config.network.public_address));
        let server = Server::new(ServerConfig {
            chain: ChainConfig {
                authenticator,
                close_unauthenticated: config.requests.close_unauthenticated,
                front_proxy: config.authentication.front_proxy,
                challenge: config.authentication.challenge,
                authorizer,
                constrained_impersonation: features.enabled(Feature::ConstrainedImpersonation),
                max_read_only: config.requests.max_read_only,
                max_mutating: config.requests.max_mutating,
                request_timeout: config.requests.timeout,
                cors_allowed_origins: config.requests.cors_allowed_origins,
                strict_transport_security: config.requests.strict_transport_security,
                goaway_chance: config.requests.goaway_chance,
                send_retry_after: config.shutdown.send_retry_after,
                encodings,
                compression: features.enabled(Feature::APIResponseCompression),
                unpublished: waiting,
                clock: config.clock,
                random: config.random,
            },
            version: config.version,
            metrics: metrics.clone(),
            health,
            hooks,
            documents,
            flags: features.enabled(Feature::ComponentFlagz).then_some(config.flags),
            status_page: features.enabled(Feature::ComponentStatusz),
            endpoints,
            shutdown_delay: config.shutdown.delay,
            watch_termination: config.shutdown.watch_termination,
            // The aggregator will be the first delegate.
            resources: Arc::new(Delegation::new(vec![
                resources.rest.clone(),
                Arc::new(Extensions::new(resources.definitions.clone(), resources.rest.clone())),
            ])),
            lifecycle,
        });
        let (server, end) = (server.start(&spawner), EndOnDrop(stop));
        Ok(ControlPlane {
            server,
            has_failed: false,
            tasks: config.tasks,
            metrics,
            backends,
            _stores: stores,
            _end: end,
        })
    }

    /// Returns the handler of all requests, which authenticates and authorizes them.
    pub fn handler(&self) -> Arc<dyn Handler> {
        self.server.handler().clone()
    }

    /// Returns the server, for listeners.
    pub fn server(&self) -> &Running {
        &self.server
    }

    /// Returns a function that says whether all post-start hooks have finished.
    pub fn is_started(&self) -> impl Fn() -> bool + use<> {
        self.server.is_started()
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns a spawner of tasks that end with this control plane.
    pub fn spawner(&self) -> Spawner {
        self.tasks.spawner()
    }

    /// Returns the number of tasks of the control plane that have not ended.
    pub fn task_count(&self) -> usize {
        self.tasks.count()
    }

    /// Waits until a post-start hook fails. The control plane is to be stopped then.
    pub async fn failed(&mut self) -> Error {
        let error = self.server.failed().await;
        self.has_failed = true;
        error.into()
    }

    /// Stops in order: no new requests, watches and requests end, tasks end, the store closes. After a failure the delay of
    /// the shutdown is skipped.
    pub async fn stop(self) -> Result<(), Error> {
        let result = self.server.shut_down(!self.has_failed).await;
        self.tasks.stop(GRACE).await;
        for backend in self.backends {
            backend.close().await.map_err(Error::Close)?;
        }
        result.map_err(Error::from)
    }
}

fn settings(config: &Config) -> Settings {
    Settings {
        event_ttl: config.api.event_ttl,
        features: config.features,
        ipv6_first: config.network.is_ipv6_first(),
        allow_privileged: config.api.allow_privileged,
        unenforced: config.api.missing_plugins,
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

/// Returns how pods find this server.
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
        (Arc::new(peers::Alone(address)), ALONE_INTERVAL)
    };
    ServiceConfig {
        service_ip: network.service_ip,
        node_port: network.service_node_port,
        port: network.listening.port(),
        peers: Some(peers).filter(|_| network.keeps_endpoints),
        interval,
    }
}

/// Returns discovery and OpenAPI.
fn documents(
    network: &NetworkConfig,
    api: &ApiConfig,
    version: &Version,
    features: Features,
    served: &[GroupVersion],
    clock: Clock,
) -> Documents {
    let config = DocumentsConfig {
        address: network.public_address.clone(),
        version: format!("{}.{}", version.major, version.minor),
        enums: features.enabled(Feature::OpenAPIEnums),
        cbor: features.enabled(Feature::CBORServingAndStorage),
        logs: api.has_logs,
        documentation: &Texts,
        clock,
    };
    Documents::new(config, served.to_vec())
}

/// Returns the servers of the store for `componentstatuses`.
fn store_servers(storage: &mut StorageConfig, backend: &Arc<dyn Backend>) -> Vec<Arc<dyn Component>> {
    let servers = std::mem::take(&mut storage.servers);
    if servers.is_empty() { vec![Arc::new(StoreServer::of(backend.clone()))] } else { servers }
}
