//! The resources of the control plane, served: endpoints of built-in resources, definitions of custom ones, and admission.

use std::num::NonZeroU64;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use pintle_admission::{
    AdmissionStores, Chain, Clients, Cluster, Configurations, LateChain, ManifestEnvironment,
    ManifestFolders, ManifestMetrics, StoredNamespaces, StoredObjects, StoredPriorityClasses,
    TolerationSeconds, WebhookMetrics,
};
use pintle_auth::Authorizer;
use pintle_auth::authorizer::rbac::Escalation;
use pintle_cache::Pool;
use pintle_codec::negotiate::Encoding;
use pintle_connections::{
    Config as ConnectionsConfig, Connections, KubeletConfig, Stores as ConnectionStores,
};
use pintle_controllers::{
    Controller, DefaultServiceAccounts, Runtime, ServiceRepair, SystemNamespaces, ValidatingPolicyStatus,
};
use pintle_discovery::GroupVersion;
use pintle_extensions::conversion::WebhookEnvironment;
use pintle_extensions::{DefinitionController, Definitions, DefinitionsConfig, StoredAs};
use pintle_features::{Feature, Features};
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::shards::ShardParser;
use pintle_metrics::Registry;
use pintle_outbound::StreamLimits;
use pintle_outbound::egress::{Network, Selector};
use pintle_outbound::hosts::Hosts;
use pintle_outbound::services::Resolver;
use pintle_registry::{Client, Computed, Record, Store, StoredCount};
use pintle_resources::builtin::Builtin;
use pintle_resources::service::Links;
use pintle_resources::strategy::{self, Settings};
use pintle_resources::subresources::TokenRequestSettings;
use pintle_runtime::{Clock, Signal, Spawner};
use pintle_server::lifecycle::{Hooks, WatchTermination};
use pintle_server::rest::{Endpoint, Rest, Shared};
use pintle_server::{Documents, Metrics};

use crate::access::Tokens;
use crate::access::rbac::Roles;
use crate::access::rest_mapper::ServedKinds;
use crate::endpoints::Endpoints;
use crate::error::no_resource;
use crate::manifests::Manifests;
use crate::policy_params::PolicyParams;
use crate::policy_types::PolicyTypes;
use crate::stores::Stores;
use crate::{Error, api_groups};
use crate::{bootstrap, own_writes};

const NETWORKING: &str = "networking.k8s.io";

/// Everything that the endpoints of resources depend on beside their stores.
pub(crate) struct ResourcesConfig {
    pub(crate) encodings: &'static [Encoding],
    pub(crate) settings: Settings,
    pub(crate) admission_plugins: Vec<&'static str>,
    /// The configuration of plugins.
    pub(crate) admission_configurations: Configurations,
    /// Reads static manifests.
    pub(crate) manifest_folders: Option<Arc<dyn ManifestFolders>>,
    /// The identity of this server; empty if it has none.
    pub(crate) server_id: String,
    pub(crate) toleration_seconds: TolerationSeconds,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    /// Checks that users grant only permissions that they have.
    pub(crate) escalation: Arc<Escalation<Roles>>,
    pub(crate) tokens: Tokens,
    /// How tokens of service accounts are issued; `None` without a signer.
    pub(crate) token_requests: Option<TokenRequestSettings>,
    pub(crate) delete_workers: usize,
    pub(crate) min_request_timeout: Duration,
    pub(crate) features: Features,
    /// How long watches may take to end with the server.
    pub(crate) watch_termination: Duration,
    pub(crate) body_pool: Arc<Pool>,
    pub(crate) components: Arc<dyn Computed>,
    /// The documents to which custom resources are added.
    pub(crate) documents: Arc<Documents>,
    /// Finds webhooks behind services.
    pub(crate) services: Arc<dyn Resolver>,
    /// The proxies on the way to webhooks.
    pub(crate) egress: Option<Selector>,
    /// How nodes, pods and services are reached.
    pub(crate) kubelets: KubeletConfig,
    pub(crate) connection_rate: Option<NonZeroU64>,
    pub(crate) hosts: Hosts,
    pub(crate) metrics: Metrics,
    pub(crate) registry: Registry,
    pub(crate) spawner: Spawner,
    /// Set when long-running requests end.
    pub(crate) stop: Signal,
}

/// All resources, served.
pub(crate) struct ServedResources {
    pub(crate) rest: Arc<Rest>,
    pub(crate) definitions: Arc<Definitions>,
    /// Knows where services are.
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) settings: Settings,
    /// Definitions, written through their status.
    definition_statuses: Client,
    /// The controller of the statuses of validating admission policies; `None` where they are not served.
    policy_status: Option<Arc<ValidatingPolicyStatus>>,
}

impl ServedResources {
    /// Serves the resources of these group versions.
    pub(crate) fn new(
        stores: &Stores,
        config: ResourcesConfig,
        served: &[GroupVersion],
    ) -> Result<ServedResources, Error> {
        let name = "customresourcedefinitions";
        let definition_statuses = status_client(stores, &config.settings, "apiextensions.k8s.io", name)
            .ok_or_else(no_resource(name))?;
        let definitions = definitions(stores, &config, definition_statuses.store().clone())?;
        let kinds = ServedKinds::new(served, &definitions);
        let params = PolicyParams::new(stores, served, &definitions);
        let admission = admission(stores, &config, kinds, params)?;
        let connections = connections(stores, &config)?;
        let endpoints = Endpoints {
            connections: &connections,
            resources: &stores.resources,
            kinds: &stores.kinds,
            admission: &admission,
            config: &config,
            served,
        };
        connect_allocations(stores, &endpoints)?;
        let rest = Rest::new(Shared {
            pool: config.body_pool.clone(),
            encodings: config.encodings,
            admission: admission.clone(),
            authorizer: config.authorizer.clone(),
            delete_workers: config.delete_workers,
            min_request_timeout: config.min_request_timeout,
            metrics: config.metrics.clone(),
            clock: config.settings.clock.clone(),
            random: config.settings.random.clone(),
            features: config.features,
            parse_shards: config
                .features
                .enabled(Feature::ShardedListAndWatch)
                .then_some(pintle_cel::parse_shards as ShardParser),
            shutdown: config.stop.clone(),
            termination: Some(config.watch_termination)
                .filter(|grace| !grace.is_zero())
                .map(|grace| Arc::new(WatchTermination::new(grace))),
        });
        for version in stores.resources.versions() {
            let served =
                version.resources.iter().filter(|resource| api_groups::contains(served, version, resource));
            let endpoints: Vec<Endpoint> =
                served.map(|resource| endpoints.endpoint(version, resource)).collect();
            if !endpoints.is_empty() {
                rest.register(version.group, version.version, endpoints);
            }
        }
        let policies = status_client(
            stores,
            &config.settings,
            "admissionregistration.k8s.io",
            "validatingadmissionpolicies",
        );
        let policy_types = PolicyTypes {
            resources: stores.resources.clone(),
            served: served.to_vec(),
            definitions: definitions.clone(),
            random: config.settings.random.clone(),
        };
        let policy_status =
            policies.map(|policies| Arc::new(ValidatingPolicyStatus::new(policies, Arc::new(policy_types))));
        let ResourcesConfig { services: resolver, settings, .. } = config;
        let rest = Arc::new(rest);
        Ok(ServedResources { rest, definitions, resolver, settings, definition_statuses, policy_status })
    }

    /// Adds the hooks of the controllers of namespaces, services and definitions. `accounts`: every namespace gets a default
    /// service account there.
    pub(crate) fn add_hooks(
        &self,
        stores: &Stores,
        hooks: &mut Hooks,
        accounts: Option<Client>,
        runtime: &Runtime,
    ) -> Result<(), Error> {
        let namespaces = stores.require_store("namespaces")?;
        let served = stores.served("", "v1", "namespaces").ok_or_else(no_resource("namespaces"))?;
        let (definitions, statuses) = (self.definitions.clone(), self.definition_statuses.clone());
        let controller = DefinitionController::new(definitions, statuses, runtime.spawner.clone());
        hooks.post_start(DefinitionController::HOOK, move || async move {
            controller.start();
            Ok(())
        });
        let allocations = stores.allocations.clone();
        let repair = ServiceRepair::new(move || {
            let allocations = allocations.clone();
            async move { allocations.repair().await }
        });
        bootstrap::add(hooks, ServiceRepair::HOOK, vec![Arc::new(repair)], runtime);
        let definitions = self.definitions.clone();
        hooks.post_start(Definitions::HOOK, move || async move {
            definitions.ready().await.map_err(|status| status.message)
        });
        let mut controllers: Vec<Arc<dyn Controller>> =
            vec![Arc::new(SystemNamespaces::new(namespaces.clone(), served))];
        if let Some(policy_status) = &self.policy_status {
            controllers.push(policy_status.clone());
        }
        if let Some(accounts) = accounts {
            controllers.push(Arc::new(DefaultServiceAccounts::new(namespaces, accounts)));
        }
        bootstrap::add(hooks, SystemNamespaces::HOOK, controllers, runtime);
        Ok(())
    }

    /// Lets scrapes of metrics count the stored objects of every resource, at most once per period.
    pub(crate) fn count_stored_objects(
        &self,
        stores: &Stores,
        registry: &Registry,
        clock: Clock,
        period: Duration,
        sizes: bool,
    ) -> Result<(), Error> {
        // Stores and definitions hold the metrics, so the metrics must not hold them.
        let kinds: Vec<Weak<Store>> = stores.kinds.values().map(|kind| Arc::downgrade(&kind.store)).collect();
        let (kinds, definitions) = (Arc::new(kinds), Arc::downgrade(&self.definitions));
        let backend = Arc::downgrade(&stores.backends.main.backend);
        let count = move || {
            let (kinds, definitions, backend) = (kinds.clone(), definitions.upgrade(), backend.upgrade());
            let counting = async move {
                let mut found = Vec::with_capacity(kinds.len());
                for store in kinds.iter().filter_map(Weak::upgrade) {
                    let config = store.config();
                    found.push(StoredCount {
                        group: config.group.clone(),
                        resource: config.resource.clone(),
                        objects: config.backend.count(&config.prefix).await.ok(),
                        size: config.cache.stored_size(),
                    });
                }
                let Some((definitions, backend)) = definitions.zip(backend) else { return found };
                for (group, resource, prefix) in definitions.prefixes() {
                    let objects = backend.count(&prefix).await.ok();
                    found.push(StoredCount { group, resource, objects, size: None });
                }
                found
            };
            counting.boxed()
        };
        let metrics = pintle_registry::Metrics::new(registry).map_err(Error::part)?;
        metrics.count_stored_objects(registry, clock, period, sizes, count);
        Ok(())
    }
}

/// Returns a client of a resource's status, which writes by its rules.
pub(crate) fn status_client(stores: &Stores, settings: &Settings, group: &str, name: &str) -> Option<Client> {
    let objects = stores.client(group, "v1", name)?;
    let rules = strategy::of(group, &format!("{name}/status"), settings)?;
    let store = Arc::new(objects.store().with_strategy(rules));
    Some(objects.through(store, "status", pintle_registry::MANAGER))
}

/// Returns the place of `status.phase` among the fields of namespaces.
pub(crate) fn namespace_phase() -> Result<usize, Error> {
    pintle_resources::field_labels::place("core/v1.Namespace", "status.phase")
        .ok_or_else(no_resource("namespaces with a phase"))
}

/// Returns the place of a pod's node among the fields of pods.
pub(crate) fn pod_node_name() -> Result<usize, Error> {
    pintle_resources::field_labels::place("core/v1.Pod", "spec.nodeName")
        .ok_or_else(no_resource("pods with a node"))
}

fn definitions(
    stores: &Stores,
    config: &ResourcesConfig,
    store: Arc<Store>,
) -> Result<Arc<Definitions>, Error> {
    let backend = &stores.backends.main;
    let definitions = Arc::new(Definitions::new(DefinitionsConfig {
        store,
        backend: backend.backend.clone(),
        feed: backend.feed.clone(),
        root: stores.root.clone(),
        resources: stores.resources.clone(),
        webhooks: WebhookEnvironment {
            services: config.services.clone(),
            egress: config.egress.clone(),
            metrics: pintle_extensions::Metrics::new(&config.registry).map_err(Error::part)?,
            clock: config.settings.clock.clone(),
            random: config.settings.random.clone(),
        },
        policy: stores.policy.clone(),
        // One gate stands for the encoding of answers and of stored objects.
        stored_as: if config.encodings.contains(&Encoding::Cbor) { StoredAs::Cbor } else { StoredAs::Json },
        clock: config.settings.clock.clone(),
    }));
    config.documents.add_source(definitions.group_source());
    Ok(definitions)
}

fn admission(
    stores: &Stores,
    config: &ResourcesConfig,
    kinds: ServedKinds,
    params: PolicyParams,
) -> Result<Chain, Error> {
    let phase = namespace_phase()?;
    let read = AdmissionStores::new(|path| stores.store(path));
    let late = LateChain::default();
    let quotas = status_client(stores, &config.settings, "", "resourcequotas");
    let cluster = Cluster {
        namespaces: Arc::new(StoredNamespaces::new(stores.require_store("namespaces")?, phase)),
        objects: Arc::new(StoredObjects::new(read.clone())),
        stores: read,
        clients: Clients { namespaces: admitted_namespaces(stores, late.clone()), quota_status: quotas },
        configurations: config.admission_configurations.clone(),
        manifests: manifests(stores, config)?,
        priority_classes: Arc::new(StoredPriorityClasses::new(stores.store("priorityclasses"))),
        rest_mapper: Arc::new(kinds),
        param_kinds: Arc::new(params),
        authorizer: config.authorizer.clone(),
        features: config.features,
        toleration_seconds: config.toleration_seconds,
        services: config.services.clone(),
        egress: config.egress.clone(),
        hosts: Hosts::system(),
        webhook_metrics: Arc::new(WebhookMetrics::new(&config.registry).map_err(Error::part)?),
        metrics: config.registry.clone(),
        spawner: config.spawner.clone(),
        clock: config.settings.clock.clone(),
        random: config.settings.random.clone(),
    };
    let metrics = pintle_admission::Metrics::new(&config.registry).map_err(Error::part)?;
    let chain = Chain::named(config.admission_plugins.iter().copied(), &cluster).map_err(Error::Admission)?;
    let names: Vec<&str> = chain.names().collect();
    tracing::info!("Loaded {} admission plugin(s) in the following order: {}.", names.len(), names.join(","));
    let chain = chain.with_observer(Arc::new(metrics));
    late.set(&chain);
    Ok(chain)
}

/// Returns the connectors to nodes, pods and services.
fn connections(stores: &Stores, config: &ResourcesConfig) -> Result<Connections, Error> {
    // A target may take its time to answer: a log that is followed begins with its first line.
    let idle = StreamLimits::default().idle;
    Connections::new(ConnectionsConfig {
        stores: ConnectionStores {
            nodes: stores.require_store("minions")?,
            pods: stores.require_store("pods")?,
            services: stores.require_store("services/specs")?,
            endpoints: stores.require_store("services/endpoints")?,
        },
        kubelets: config.kubelets.clone(),
        egress: config.egress.as_ref().and_then(|egress| egress.lookup(Network::Cluster)),
        hosts: config.hosts.clone(),
        limits: StreamLimits { header: idle, rate: config.connection_rate, ..StreamLimits::default() },
        features: config.features,
        metrics: pintle_connections::Metrics::new(&config.registry).map_err(Error::part)?,
        clock: config.settings.clock.clone(),
        random: config.settings.random.clone(),
    })
    .map_err(Error::part)
}

/// Returns how static manifests are read, if the program reads files.
fn manifests(stores: &Stores, config: &ResourcesConfig) -> Result<Option<ManifestEnvironment>, Error> {
    let Some(folders) = config.manifest_folders.clone() else { return Ok(None) };
    let metrics = ManifestMetrics::new(&config.registry, &config.server_id).map_err(Error::part)?;
    let decoder = Arc::new(Manifests::new(stores, &config.settings));
    Ok(Some(ManifestEnvironment { folders, decoder, metrics: Arc::new(metrics) }))
}

/// Returns a client of namespaces whose writes pass a chain that is made later.
fn admitted_namespaces(stores: &Stores, chain: LateChain) -> Option<Client> {
    let (client, served) = (stores.client("", "v1", "namespaces")?, stores.served("", "v1", "namespaces")?);
    let resource = GroupVersionResource::new("", "v1", "namespaces");
    let chain = move || chain.chain().unwrap_or_default();
    Some(client.admitted_by(own_writes::admission(chain, served, resource, "")))
}

/// Gives the allocations of cluster IPs and node ports the stores that they are kept in.
fn connect_allocations(stores: &Stores, endpoints: &Endpoints<'_>) -> Result<(), Error> {
    let record =
        pintle_schema::find("core/v1.RangeAllocation").ok_or_else(no_resource("rangeallocations"))?;
    let record = Builtin::stored_as(stores.encoding, record, &stores.resources);
    let key = format!("{}ranges/servicenodeports", stores.root);
    let store = |group: &str, name: &str| {
        let objects = stores.require_client(group, "v1", name)?;
        Ok::<_, Error>(objects.store().clone())
    };
    stores.allocations.connect(Links {
        services: Arc::downgrade(&store("", "services")?),
        addresses: endpoints
            .client(NETWORKING, "v1", "ipaddresses", "")
            .ok_or_else(no_resource("ipaddresses"))?,
        ranges: store(NETWORKING, "servicecidrs")?,
        endpoints: store("", "endpoints")?,
        ports: Record::new(stores.backends.main.backend.clone(), key, record),
    });
    Ok(())
}
