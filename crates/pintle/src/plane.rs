//! The resources of the control plane: their stores, and the endpoints that lead to them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use futures_util::FutureExt;
use pintle_admission::{
    Chain, Cluster, StoredNamespaces, StoredObjects, StoredPriorityClasses, TolerationSeconds,
};
use pintle_auth::Authorizer;
use pintle_auth::authorizer::rbac::Escalation;
use pintle_cache::{Feed, Limits, Pool};
use pintle_codec::negotiate::Encoding;
use pintle_controllers::{
    Controller, DefaultServiceAccounts, Objects, Runtime, ServiceRepair, SystemNamespaces,
};
use pintle_extensions::conversion::WebhookEnvironment;
use pintle_extensions::{DefinitionController, Definitions, DefinitionsConfig, StoredAs};
use pintle_features::{Feature, Features};
use pintle_meta::shards::ShardParser;
use pintle_metrics::Registry;
use pintle_outbound::egress::Selector;
use pintle_outbound::services::Resolver;
use pintle_registry::{Computed, Record, Served, Store, StoreConfig, StorePolicy, StoredCount};
use pintle_resources::builtin::Builtin;
use pintle_resources::served::Version;
use pintle_resources::service::{Links, ServiceAllocations, ServiceNetwork};
use pintle_resources::strategy::{self, Settings};
use pintle_resources::subresources::TokenRequestSettings;
use pintle_runtime::{Clock, Random, Tasks};
use pintle_schema::{GroupVersion, Resource, Resources};
use pintle_server::lifecycle::{Hooks, Signal, WatchTermination};
use pintle_server::rest::{Endpoint, Rest, Shared};
use pintle_server::{Documents, Metrics};
use pintle_storage::Backend;

use crate::access::rbac::Roles;
use crate::bootstrap;
use crate::config::Tokens;
use crate::consistency::Checker;
use crate::endpoints::Endpoints;
use crate::storage::Elsewhere;

/// How much all encoded bodies may take together.
const POOL: usize = 96 << 20;

const NETWORKING: &str = "networking.k8s.io";

/// What the flags say about resources.
pub(crate) struct PlaneOptions {
    pub(crate) encodings: &'static [Encoding],
    pub(crate) settings: Settings,
    pub(crate) admission_plugins: Vec<&'static str>,
    pub(crate) toleration_seconds: TolerationSeconds,
    /// Whether users may create what they only meant to change; and for those who ask what they may do.
    pub(crate) authorizer: Arc<dyn Authorizer>,
    /// What users may give to others.
    pub(crate) escalation: Arc<Escalation<Roles>>,
    /// For those who ask whose token something is.
    pub(crate) tokens: Tokens,
    /// How tokens of service accounts are issued; nothing if nobody can.
    pub(crate) token_requests: Option<TokenRequestSettings>,
    pub(crate) connecting_is_creating: bool,
    pub(crate) granular_claims: Option<bool>,
    pub(crate) delete_workers: usize,
    pub(crate) min_request_timeout: Duration,
    pub(crate) features: Features,
    /// How long watches may take to end with the server.
    pub(crate) watch_termination: Duration,
    /// How often stored objects are counted, if at all, and whether their sizes are shown.
    pub(crate) count_period: Option<Duration>,
    pub(crate) count_sizes: bool,
    /// How often caches are compared with the store, if at all.
    pub(crate) check_period: Option<Duration>,
    pub(crate) components: Arc<dyn Computed>,
    /// Told which custom resources there are.
    pub(crate) documents: Arc<Documents>,
    /// Where webhooks are that a service stands for.
    pub(crate) services: Arc<dyn Resolver>,
    /// Lead to webhooks in other networks.
    pub(crate) ways: Option<Selector>,
}

/// The resources, served.
pub(crate) struct Plane {
    pub(crate) rest: Arc<Rest>,
    pub(crate) definitions: Arc<Definitions>,
    /// Written by the loop that looks after them.
    statuses: Objects,
    namespaces: Arc<Store>,
    namespace_kind: Arc<dyn Served>,
    /// What services hold, and they themselves.
    allocations: Arc<ServiceAllocations>,
    _services: Arc<Store>,
    /// Follows the store while it lives.
    _places: Places,
}

/// One kind that is stored, whatever versions it is served in.
pub(crate) struct Kept {
    pub(crate) builtin: Arc<Builtin>,
    pub(crate) store: Arc<Store>,
}

/// A store below, and what follows it.
struct Place {
    backend: Arc<dyn Backend>,
    feed: Arc<Feed>,
}

impl Place {
    async fn new(backend: Arc<dyn Backend>, root: &str) -> anyhow::Result<Place> {
        let feed = Feed::start(backend.clone(), Bytes::from(root.to_owned()), Limits::default()).await?;
        Ok(Place { backend, feed: Arc::new(feed) })
    }
}

/// Where objects are: mostly in one store.
struct Places {
    own: Place,
    others: Vec<Place>,
    /// Group, resource and place of what is in another one.
    resources: Vec<(String, String, usize)>,
}

impl Places {
    fn of(&self, group: &str, resource: &str) -> &Place {
        let named = self.resources.iter().rev().find(|(known, name, _)| known == group && name == resource);
        named.and_then(|(_, _, place)| self.others.get(*place)).unwrap_or(&self.own)
    }
}

/// The stores of everything that is kept. They are there before the plane, for those who must know the cluster to let
/// anybody in.
pub(crate) struct Stores {
    resources: Arc<Resources>,
    /// By the path of the keys.
    kept: HashMap<&'static str, Kept>,
    places: Places,
    /// Of all keys, with slashes around it.
    root: String,
    policy: Arc<StorePolicy>,
    /// New values of built-in kinds are written so.
    stored_as: Encoding,
    /// What services hold.
    allocations: Arc<ServiceAllocations>,
}

impl Stores {
    /// `prefix` is of all keys, such as `/registry`; new values of built-in kinds are written as `stored_as`.
    pub(crate) async fn open(
        backend: Arc<dyn Backend>,
        prefix: &str,
        settings: &Settings,
        stored_as: Encoding,
        policy: Arc<StorePolicy>,
        network: ServiceNetwork,
        elsewhere: &Elsewhere,
    ) -> anyhow::Result<Stores> {
        let resources = Resources::builtin()?;
        let root = format!("/{}/", prefix.trim_matches('/'));
        let mut others = Vec::new();
        for other in elsewhere.backends() {
            others.push(Place::new(other, &root).await?);
        }
        let own = Place::new(backend, &root).await?;
        let places = Places { own, others, resources: elsewhere.resources().to_vec() };
        let allocations = Arc::new(ServiceAllocations::new(network));
        let kept = stores(&resources, &places, &root, settings, stored_as, (&policy, &allocations));
        Ok(Stores { resources: Arc::new(resources), kept, places, root, policy, stored_as, allocations })
    }

    /// By the path of its keys, such as `namespaces`.
    pub(crate) fn store(&self, path: &str) -> Option<Arc<Store>> {
        self.kept.get(path).map(|kept| kept.store.clone())
    }

    /// The objects of a resource in a version, for those who keep them in order.
    pub(crate) fn objects(&self, group: &str, version: &str, name: &str) -> Option<Objects> {
        let store = self.kept.get(self.resources.find(group, version, name)?.storage?.path)?.store.clone();
        Some(Objects::new(store, self.served(group, version, name)?))
    }

    /// How a version of a resource is served.
    pub(crate) fn served(&self, group: &str, version: &str, name: &str) -> Option<Arc<dyn Served>> {
        let resource = self.resources.find(group, version, name)?;
        let kept = self.kept.get(resource.storage?.path)?;
        Some(Arc::new(Version::new(resource, Some(kept.builtin.clone()))))
    }
}

impl Plane {
    pub(crate) fn new(
        stores: Stores,
        options: PlaneOptions,
        serves: impl Fn(&GroupVersion, &Resource) -> bool,
        metrics: Metrics,
        stop: Signal,
    ) -> anyhow::Result<Plane> {
        let statuses = definition_statuses(&stores, &options.settings)
            .context("there is no resource customresourcedefinitions")?;
        let definitions = Definitions::new(DefinitionsConfig {
            store: statuses.store().clone(),
            backend: stores.places.own.backend.clone(),
            feed: stores.places.own.feed.clone(),
            root: stores.root.clone(),
            resources: stores.resources.clone(),
            webhooks: WebhookEnvironment {
                services: options.services.clone(),
                egress: options.ways.clone(),
                metrics: pintle_extensions::Metrics::new(metrics.registry())?,
            },
            policy: stores.policy.clone(),
            // One gate stands for what clients are sent and for what is stored.
            stored_as: match options.encodings.contains(&Encoding::Cbor) {
                true => StoredAs::Cbor,
                false => StoredAs::Json,
            },
            clock: Clock::system(),
        });
        let definitions = Arc::new(definitions);
        options.documents.add_source(definitions.group_source());
        let Stores { resources, kept, places, root, stored_as, allocations, .. } = stores;
        let namespaces = kept.get("namespaces").context("there is no resource namespaces")?;
        let (namespaces, builtin) = (namespaces.store.clone(), namespaces.builtin.clone());
        let phase = pintle_resources::field_labels::place("core/v1.Namespace", "status.phase")
            .context("namespaces cannot be selected by their phase")?;
        let lister = Arc::new(StoredNamespaces::new(namespaces.clone(), phase));
        let priority_classes = kept.get("priorityclasses").map(|kept| kept.store.clone());
        let cluster = Cluster {
            namespaces: lister,
            objects: Arc::new(StoredObjects::new(|path| Some(kept.get(path)?.store.clone()))),
            priority_classes: Arc::new(StoredPriorityClasses::new(priority_classes)),
            authorizer: options.authorizer.clone(),
            features: options.features,
            toleration_seconds: options.toleration_seconds,
            clock: Clock::system(),
        };
        let admission = Chain::named(options.admission_plugins.iter().copied(), &cluster)
            .with_observer(Arc::new(pintle_admission::Metrics::new(metrics.registry())?));
        let leading = Endpoints {
            resources: &resources,
            kept: &kept,
            settings: &options.settings,
            admission: &admission,
            components: &options.components,
            authorizer: &options.authorizer,
            escalation: &options.escalation,
            tokens: &options.tokens,
            token_requests: &options.token_requests,
            connecting_is_creating: options.connecting_is_creating,
            granular_claims: options.granular_claims,
        };
        if let Some(period) = options.count_period {
            let stores = kept.values().map(|kept| kept.store.clone()).collect();
            count_stored_objects(
                metrics.registry(),
                period,
                options.count_sizes,
                stores,
                definitions.clone(),
            )?;
        }
        if let Some(period) = options.check_period {
            let stores = kept.values().map(|kept| kept.store.clone()).collect();
            let feed = places.own.feed.clone();
            let checks = pintle_cache::Metrics::new(metrics.registry())?;
            Checker::new(stores, definitions.clone(), feed, checks).start(period, stop.clone());
        }
        let stored =
            |name: &str| Some(kept.get(resources.find("", "v1", name)?.storage?.path)?.store.clone());
        let services = stored("services").context("there is no resource services")?;
        let ranges = resources.find(NETWORKING, "v1", "servicecidrs").and_then(|ranges| ranges.storage);
        let ranges =
            ranges.and_then(|storage| kept.get(storage.path)).context("there are no service ranges")?;
        let record = pintle_schema::find("core/v1.RangeAllocation").context("there are no allocations")?;
        let record = Builtin::stored_as(stored_as, record, &resources);
        allocations.connect(Links {
            services: Arc::downgrade(&services),
            addresses: leading
                .client(NETWORKING, "v1", "ipaddresses", "")
                .context("there is no resource ipaddresses")?,
            ranges: ranges.store.clone(),
            endpoints: stored("endpoints").context("there is no resource endpoints")?,
            ports: Record::new(places.own.backend.clone(), format!("{root}ranges/servicenodeports"), record),
        });
        let rest = Rest::new(Shared {
            pool: Arc::new(Pool::new(POOL)),
            encodings: options.encodings,
            admission: admission.clone(),
            authorizer: options.authorizer.clone(),
            delete_workers: options.delete_workers,
            min_request_timeout: options.min_request_timeout,
            metrics,
            clock: Clock::system(),
            random: Random::system(),
            features: options.features,
            parse_shards: options
                .features
                .enabled(Feature::ShardedListAndWatch)
                .then_some(pintle_cel::parse_shards as ShardParser),
            stop,
            termination: Some(options.watch_termination)
                .filter(|grace| !grace.is_zero())
                .map(|grace| Arc::new(WatchTermination::new(grace))),
        });
        for version in resources.versions() {
            let served = version.resources.iter().filter(|resource| serves(version, resource));
            let endpoints: Vec<Endpoint> =
                served.map(|resource| leading.endpoint(version, resource)).collect();
            if !endpoints.is_empty() {
                rest.register(version.group, version.version, endpoints);
            }
        }
        let resource = resources.find("", "v1", "namespaces").context("there is no resource namespaces")?;
        let namespace_kind = Arc::new(Version::new(resource, Some(builtin)));
        Ok(Plane {
            rest: Arc::new(rest),
            definitions,
            statuses,
            namespaces,
            namespace_kind,
            allocations,
            _services: services,
            _places: places,
        })
    }
}

/// Counts what the store has of every resource.
fn count_stored_objects(
    registry: &Registry,
    period: Duration,
    sizes: bool,
    stores: Vec<Arc<Store>>,
    definitions: Arc<Definitions>,
) -> anyhow::Result<()> {
    let count = move || {
        let (stores, definitions) = (stores.clone(), definitions.clone());
        let counting = async move {
            let mut found = Vec::with_capacity(stores.len());
            let Some(backend) = stores.first().map(|store| store.config().backend.clone()) else {
                return found;
            };
            for store in &stores {
                let config = store.config();
                found.push(StoredCount {
                    group: config.group.clone(),
                    resource: config.resource.clone(),
                    objects: config.backend.count(&config.prefix).await.ok(),
                    size: config.cache.stored_size(),
                });
            }
            for (group, resource, prefix) in definitions.prefixes() {
                let objects = backend.count(&prefix).await.ok();
                found.push(StoredCount { group, resource, objects, size: None });
            }
            found
        };
        counting.boxed()
    };
    let metrics = pintle_registry::Metrics::new(registry)?;
    metrics.count_stored_objects(registry, Clock::system(), period, sizes, count);
    Ok(())
}

impl Plane {
    /// What runs beside requests.
    pub(crate) fn add_hooks(
        &self,
        hooks: &mut Hooks,
        stop: Signal,
        accounts: Option<Objects>,
        runtime: &Runtime,
    ) {
        let controller = SystemNamespaces::new(self.namespaces.clone(), self.namespace_kind.clone());
        let accounts =
            accounts.map(|accounts| DefaultServiceAccounts::new(self.namespaces.clone(), accounts));
        let tasks = Tasks::new();
        let definition_controller =
            DefinitionController::new(self.definitions.clone(), self.statuses.clone(), tasks.spawner());
        let (definitions, ended) = (self.definitions.clone(), stop);
        hooks.post_start(DefinitionController::HOOK, move || async move {
            definition_controller.start();
            tokio::spawn(async move {
                ended.wait().await;
                drop(tasks);
            });
            Ok(())
        });
        let allocations = self.allocations.clone();
        let repair = ServiceRepair::new(move || {
            let allocations = allocations.clone();
            async move { allocations.repair().await }
        });
        bootstrap::add(hooks, ServiceRepair::HOOK, vec![Arc::new(repair)], runtime);
        hooks.post_start(Definitions::HOOK, move || async move {
            definitions.ready().await.map_err(|status| status.message)
        });
        let mut controllers: Vec<Arc<dyn Controller>> = vec![Arc::new(controller)];
        controllers.extend(accounts.map(|accounts| Arc::new(accounts) as Arc<dyn Controller>));
        bootstrap::add(hooks, SystemNamespaces::HOOK, controllers, runtime);
    }
}

/// Definitions, written as their statuses are.
fn definition_statuses(stores: &Stores, settings: &Settings) -> Option<Objects> {
    let (group, name) = ("apiextensions.k8s.io", "customresourcedefinitions");
    let objects = stores.objects(group, "v1", name)?;
    let rules = strategy::of(group, &format!("{name}/status"), settings)?;
    let store = Arc::new(objects.store().with_strategy(rules));
    Some(objects.through(store, "status", pintle_registry::MANAGER))
}

/// A store for everything that is kept, by the path of its keys. It costs nothing until it is used.
fn stores(
    resources: &Resources,
    places: &Places,
    root: &str,
    settings: &Settings,
    stored_as: Encoding,
    (policy, allocations): (&StorePolicy, &Arc<ServiceAllocations>),
) -> HashMap<&'static str, Kept> {
    let mut kept = HashMap::new();
    for version in resources.versions() {
        for resource in version.resources.iter().filter(|resource| resource.subresource.is_none()) {
            let Some(storage) = resource.storage.filter(|storage| !kept.contains_key(storage.path)) else {
                continue;
            };
            // What has no rules cannot be written; its endpoint says so.
            let Some(strategy) = strategy::of(version.group, resource.name, settings) else {
                continue;
            };
            let builtin = Builtin::decorated_by(
                strategy.clone(),
                settings.defaults(),
                stored_as,
                storage.kind,
                resources,
            );
            let prefix = Bytes::from(format!("{root}{}/", storage.path));
            let Place { backend, feed } = places.of(version.group, resource.name);
            let mut store = Store::new(StoreConfig {
                group: version.group.into(),
                resource: resource.name.into(),
                kind: resource.kind.kind_name().into(),
                namespaced: resource.namespaced,
                cache: feed.resource(prefix.clone(), || builtin.clone()),
                prefix,
                backend: backend.clone(),
                stored: builtin.clone(),
                strategy,
            })
            .with_options(policy.of(version.group, resource.name));
            // Who defines a resource finds it served, as it is defined now.
            if resource.name == "customresourcedefinitions" {
                store = store.read_your_writes();
            }
            if (version.group, resource.name) == ("", "services") {
                store = store.reserving(allocations.clone());
            }
            kept.insert(storage.path, Kept { builtin, store: Arc::new(store) });
        }
    }
    kept
}
