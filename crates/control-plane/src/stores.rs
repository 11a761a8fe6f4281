//! The stores of all built-in kinds, one for each kind whatever versions it is served in. A store costs nothing until it is
//! used. They are opened before the rest of the control plane, since authenticators and authorizers read them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pintle_cache::{Feed, Limits};
use pintle_codec::negotiate::Encoding;
use pintle_registry::{Client, Served, Store, StoreConfig, StoreOptions, StorePolicy};
use pintle_resources::builtin::Builtin;
use pintle_resources::served::Version;
use pintle_resources::service::{ServiceAllocations, ServiceNetwork};
use pintle_resources::strategy::{self, Settings};
use pintle_runtime::{Clock, Spawner};
use pintle_schema::Resources;
use pintle_storage::Backend;

use crate::Error;
use crate::config::{StorageConfig, StoreOverrides};
use crate::error::no_resource;

/// Resources whose objects decide how later requests are answered: a write of one is answered when this server's cache has it, so
/// that the client's next request sees its effect.
const DECIDES_LATER_REQUESTS: &[(&str, &str)] = &[
    ("", "limitranges"),
    ("", "namespaces"),
    ("", "resourcequotas"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
    ("networking.k8s.io", "ingressclasses"),
    ("storage.k8s.io", "storageclasses"),
];

/// How long the answer to the deletion of a namespace waits for its end, where this server deletes it at once. A client that
/// reads an empty namespace next finds that it is gone: one that would finalize it itself, as tests against servers without
/// kube-controller-manager do, has nothing to race with.
const NAMESPACE_PATIENCE: Duration = Duration::from_millis(50);

/// A kind that is stored, and its store.
pub(crate) struct StoredKind {
    pub(crate) builtin: Arc<Builtin>,
    pub(crate) store: Arc<Store>,
}

/// A backend and the watch that feeds its caches.
pub(crate) struct FollowedBackend {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) feed: Arc<Feed>,
}

impl FollowedBackend {
    async fn start(
        backend: Arc<dyn Backend>,
        root: &str,
        spawner: &Spawner,
        clock: &Clock,
    ) -> Result<FollowedBackend, Error> {
        let (prefix, limits) = (Bytes::from(root.to_owned()), Limits::default());
        let feed = Feed::start_in(backend.clone(), prefix, limits, spawner.clone(), clock.clone()).await?;
        Ok(FollowedBackend { backend, feed: Arc::new(feed) })
    }
}

/// The backends of all resources, most of which share one.
pub(crate) struct Backends {
    pub(crate) main: FollowedBackend,
    others: Vec<FollowedBackend>,
    /// Group, resource, and index in `others`.
    overrides: Vec<(String, String, usize)>,
}

impl Backends {
    /// Returns every backend.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<dyn Backend>> {
        std::iter::once(&self.main).chain(&self.others).map(|followed| &followed.backend)
    }

    fn of(&self, group: &str, resource: &str) -> &FollowedBackend {
        let named = self.overrides.iter().rev().find(|(known, name, _)| known == group && name == resource);
        named.and_then(|(_, _, index)| self.others.get(*index)).unwrap_or(&self.main)
    }
}

/// The stores of all built-in kinds.
pub(crate) struct Stores {
    pub(crate) resources: Arc<Resources>,
    /// By the path of the keys.
    pub(crate) kinds: HashMap<&'static str, StoredKind>,
    pub(crate) backends: Backends,
    /// The beginning of all keys, with slashes around it.
    pub(crate) root: String,
    pub(crate) policy: Arc<StorePolicy>,
    /// The encoding of new values of built-in kinds.
    pub(crate) encoding: Encoding,
    pub(crate) allocations: Arc<ServiceAllocations>,
    /// Whether this server alone deletes the content of namespaces, at once.
    ends_namespaces: bool,
}

impl Stores {
    pub(crate) async fn open(
        backend: Arc<dyn Backend>,
        config: &mut StorageConfig,
        settings: &Settings,
        network: ServiceNetwork,
        spawner: &Spawner,
        clock: &Clock,
        ends_namespaces: bool,
    ) -> Result<Stores, Error> {
        let resources = Resources::builtin()?;
        let root = format!("/{}/", config.prefix.trim_matches('/'));
        let mut policy = StorePolicy::clone(&config.policy);
        policy.options.shared_prefix = root.len() - 1;
        let StoreOverrides { backends, resources: overrides } = std::mem::take(&mut config.overrides);
        let mut others = Vec::new();
        for other in backends {
            others.push(FollowedBackend::start(other, &root, spawner, clock).await?);
        }
        let main = FollowedBackend::start(backend, &root, spawner, clock).await?;
        let mut stores = Stores {
            resources: Arc::new(resources),
            kinds: HashMap::new(),
            backends: Backends { main, others, overrides },
            root,
            policy: Arc::new(policy),
            encoding: config.encoding,
            allocations: Arc::new(ServiceAllocations::new(network)),
            ends_namespaces,
        };
        stores.open_all(settings);
        Ok(stores)
    }

    fn open_all(&mut self, settings: &Settings) {
        let resources = self.resources.clone();
        for version in resources.versions() {
            for resource in version.resources.iter().filter(|resource| resource.subresource.is_none()) {
                let Some(storage) = resource.storage.filter(|storage| !self.kinds.contains_key(storage.path))
                else {
                    continue;
                };
                // A resource without a strategy cannot be written; its endpoint says so.
                let Some(strategy) = strategy::of(version.group, resource.name, settings) else {
                    continue;
                };
                let builtin = Builtin::decorated_by(
                    strategy.clone(),
                    settings.defaults(),
                    self.encoding,
                    storage.kind,
                    &resources,
                );
                let prefix = Bytes::from(format!("{}{}/", self.root, storage.path));
                let FollowedBackend { backend, feed } = self.backends.of(version.group, resource.name);
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
                .with_options(self.options_of(version.group, resource.name))
                .with_clock(settings.clock.clone())
                .with_random(settings.random.clone());
                if DECIDES_LATER_REQUESTS.contains(&(version.group, resource.name)) {
                    store = store.read_your_writes();
                }
                if (version.group, resource.name) == ("", "services") {
                    store = store.reserving(self.allocations.clone());
                }
                self.kinds.insert(storage.path, StoredKind { builtin, store: Arc::new(store) });
            }
        }
    }

    fn options_of(&self, group: &str, resource: &str) -> StoreOptions {
        let end_patience = match (group, resource) {
            ("", "namespaces") if self.ends_namespaces => NAMESPACE_PATIENCE,
            _ => Duration::ZERO,
        };
        StoreOptions { end_patience, ..self.policy.of(group, resource) }
    }

    /// Returns the store of a path of keys, such as `namespaces`.
    pub(crate) fn store(&self, path: &str) -> Option<Arc<Store>> {
        self.kinds.get(path).map(|kind| kind.store.clone())
    }

    pub(crate) fn require_store(&self, path: &str) -> Result<Arc<Store>, Error> {
        self.store(path).ok_or_else(no_resource(path))
    }

    /// Returns a client of a resource in a version, for controllers.
    pub(crate) fn client(&self, group: &str, version: &str, name: &str) -> Option<Client> {
        let path = self.resources.find(group, version, name)?.storage?.path;
        Some(Client::new(self.store(path)?, self.served(group, version, name)?))
    }

    pub(crate) fn require_client(&self, group: &str, version: &str, name: &str) -> Result<Client, Error> {
        self.client(group, version, name).ok_or_else(no_resource(name))
    }

    /// Returns how a version of a resource is served.
    pub(crate) fn served(&self, group: &str, version: &str, name: &str) -> Option<Arc<dyn Served>> {
        let resource = self.resources.find(group, version, name)?;
        let kind = self.kinds.get(resource.storage?.path)?;
        Some(Arc::new(Version::new(resource, Some(kind.builtin.clone()))))
    }
}
