//! Custom resources: served as their definitions say, by the same stores, caches and handlers as built-in kinds.
//!
//! ```text
//! Definitions           mirrors the stored definitions; publishes them to discovery and OpenAPI
//!   Definition          one of them: its names and versions, and its resource once that was asked for
//!     CustomResource    the endpoints of its versions, with one cache for all
//!       VersionSchemas  the compiled schemas: how objects are read, pruned, defaulted, validated and converted
//! Extensions            the handler of requests: finds the definition and hands its endpoint to `Rest`
//! DefinitionController  the statuses of definitions, and the deletion of their objects
//! ```
//!
//! A definition without requests costs its stored bytes and a summary. Its schemas are compiled by the first request for its
//! objects; when it changes, a new `Definition` takes over, and watches of versions that have not changed go on.
//! [`custom_resource`] shows the way from a definition to its endpoints.

mod columns;
mod conditions;
mod controller;
pub mod conversion;
mod custom_resource;
mod definition;
mod encoding;
mod handler;
mod index;
mod instance_deletion;
mod metrics;
mod regenerations;
mod scale;
mod schemas;
mod strategy;
mod version;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pintle_cache::Feed;
use pintle_controllers::CatalogResource;
use pintle_discovery::{Contribution, GroupSource, Publisher};
use pintle_meta::Value;
use pintle_meta::gvk::{GroupVersion, GroupVersionKind};
use pintle_registry::{Mirror, Result, Served, Store, StorePolicy};
use pintle_runtime::Clock;
use pintle_schema::Resources;
use pintle_schema::structural::Structural;
use pintle_storage::Backend;
use smol_str::SmolStr;

pub use controller::DefinitionController;
pub use encoding::StoredAs;
pub use handler::Extensions;
pub use metrics::Metrics;

use conversion::WebhookEnvironment;
use custom_resource::ResourceStorage;
use index::{Definition, DefinitionIndex};

/// Time limit of waiting for the cache to reach the store's revision.
const WAIT: Duration = Duration::from_secs(3);

/// Time for which a definition that the store did not have is taken to be absent.
const ABSENT: Duration = Duration::from_millis(100);

/// Time between two requests to the store, and the number of absent names that are remembered.
const BETWEEN: Duration = Duration::from_millis(20);
const REMEMBERED: usize = 1024;

/// The stored definitions, mirrored.
pub struct Definitions {
    mirror: Mirror<DefinitionIndex>,
    store: Arc<Store>,
    backend: Arc<dyn Backend>,
    publisher: Arc<Publisher>,
    clock: Clock,
    /// When the store was last asked, for each name that it did not have.
    absent: Mutex<HashMap<String, Instant>>,
    /// Held by the one request that asks the store.
    asking: tokio::sync::Mutex<Option<Instant>>,
}

/// The storage of definitions and of their objects.
pub struct DefinitionsConfig {
    /// The store of the definitions themselves.
    pub store: Arc<Store>,
    pub backend: Arc<dyn Backend>,
    pub feed: Arc<Feed>,
    /// Prefix of all keys, with slashes around it: `/registry/`.
    pub root: String,
    pub resources: Arc<Resources>,
    pub webhooks: WebhookEnvironment,
    /// The policy of stores of custom resources.
    pub policy: Arc<StorePolicy>,
    pub stored_as: StoredAs,
    pub clock: Clock,
}

impl Definitions {
    /// The hook that ends once all of them are known.
    pub const HOOK: &'static str = "crd-informer-synced";

    pub fn new(config: DefinitionsConfig) -> Definitions {
        let DefinitionsConfig { store, backend, feed, root, resources, webhooks, policy, stored_as, clock } =
            config;
        let storage =
            ResourceStorage { backend: backend.clone(), feed, root, resources, webhooks, policy, stored_as };
        let publisher = Arc::<Publisher>::default();
        let index = DefinitionIndex::new(storage, store.clone(), publisher.clone());
        Definitions {
            mirror: Mirror::new(vec![store.clone()], index),
            store,
            backend,
            publisher,
            clock,
            absent: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        }
    }

    /// Loads the definitions.
    pub async fn ready(&self) -> Result<()> {
        self.mirror.ready().await
    }

    /// Returns the source of custom resources for discovery and OpenAPI.
    pub fn group_source(self: &Arc<Definitions>) -> Arc<dyn GroupSource> {
        Arc::new(DefinitionSource { definitions: Arc::downgrade(self), publisher: self.publisher.clone() })
    }

    fn elapsed(&self, since: Instant) -> Duration {
        self.clock.instant().saturating_duration_since(since)
    }

    /// Returns whether the definitions have been loaded.
    pub fn is_loaded(&self) -> bool {
        self.mirror.is_loaded()
    }

    /// Returns the names of all definitions.
    pub fn names(&self) -> Vec<String> {
        self.mirror.read(DefinitionIndex::all_names)
    }

    /// Returns the group of a definition and the versions that it says are served, whether it is established or not.
    pub fn served_versions(&self, name: &str) -> Option<(String, Vec<String>)> {
        let summary = &self.get(name)?.summary;
        let versions = summary.versions.iter().filter(|version| version.served);
        Some((summary.group.clone(), versions.map(|version| version.name.clone()).collect()))
    }

    /// Returns the store of the custom resource that serves a kind, and the version of the kind; `None` if no definition does.
    /// Not for requests: a definition that is being deleted is found, too.
    pub async fn find_kind(&self, kind: &GroupVersionKind) -> Option<(Arc<Store>, Arc<dyn Served>)> {
        self.ready().await.ok()?;
        let definition = self.mirror.read(|table| table.of_kind(kind))?;
        let resource = definition.resource().ok()?;
        let endpoints = resource.version(&kind.version).await?.ok()?;
        let store = endpoints.resource.implementation.store()?.clone();
        Some((store, endpoints.resource.served.clone()))
    }

    /// Returns the kinds of the custom resources with a plural or singular name; of every group if that is empty.
    pub fn kinds_of(&self, group: &str, version: &str, resource: &str) -> Vec<GroupVersionKind> {
        self.mirror.read(|table| table.kinds_of(group, version, resource))
    }

    /// Returns the schema of a custom kind; `None` if no definition serves it, or its schema is not structural.
    pub fn schema_of(&self, kind: &GroupVersionKind) -> Option<Structural> {
        let definition = self.mirror.read(|table| table.of_kind(kind))?.definition()?;
        let versions = definition::versions(&definition);
        let version = versions.into_iter().find(|found| found.name == kind.version)?;
        match version.schema {
            Some(schema) => pintle_definitions::compile(schema).ok(),
            None => Some(Structural::default()),
        }
    }

    /// Group, resource and the beginning of the keys of all custom resources.
    pub fn prefixes(&self) -> Vec<(String, String, Bytes)> {
        self.mirror.read(DefinitionIndex::prefixes)
    }

    /// Returns all custom resources that are served, each in the version that discovery prefers: with all definitions that are stored
    /// by now, unless the cache does not catch up in time.
    pub async fn served(&self) -> Vec<CatalogResource> {
        match self.ready().await {
            Ok(()) => {
                let _ = self.current().await;
                self.mirror.read(|index| index.served(&self.backend))
            }
            Err(_) => Vec::new(),
        }
    }

    /// Returns the resource that serves a kind in a version, and whether it is namespaced. `is_kind` recognizes the kind.
    pub async fn resource_of_kind(
        &self,
        version: &GroupVersion,
        is_kind: impl Fn(&str) -> bool,
    ) -> Option<(String, bool)> {
        self.ready().await.ok()?;
        self.mirror.read(|index| index.resource_of_kind(version, is_kind))
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(crate) fn read<R>(&self, read: impl FnOnce(&DefinitionIndex) -> R) -> R {
        self.mirror.read(read)
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<Definition>> {
        self.mirror.read(|table| table.get(name))
    }

    /// A definition as the cache has it.
    pub(crate) fn cached(&self, name: &str) -> Option<Value> {
        self.store.object(&*self.store.cache().get(name)?).ok()
    }

    pub(crate) async fn wait_for(&self, revision: &str) {
        if let Ok(revision) = revision.parse() {
            // On a timeout the change is seen later.
            let _ = self.store.cache().wait_for(revision, WAIT).await;
        }
    }

    /// A definition that the cache does not have may have been written a moment ago, perhaps by another server. So the cache
    /// is brought to what the store has now; for unknown names, not too often.
    pub(crate) async fn get_current(&self, name: &str) -> Option<Arc<Definition>> {
        if self.ready().await.is_err() {
            return self.get(name);
        }
        if self.backend.known_revision().is_some() {
            self.mirror.wait_for_writes().await;
            return self.get(name);
        }
        // A definition that is there and not served yet may be established in the store already: a client that has seen that
        // must be served, also one that asked for the name before the definition came.
        if self.is_absent(name) && self.get(name).is_none() {
            return None;
        }
        let begun = self.clock.instant();
        let mut asked = self.asking.lock().await;
        // Another request may have asked while this one waited for its turn.
        if asked.is_none_or(|asked| asked < begun) {
            if let Some(left) = asked.and_then(|asked| BETWEEN.checked_sub(self.elapsed(asked))) {
                self.clock.sleep(left).await;
            }
            *asked = Some(self.clock.instant());
            if let Ok(revision) = self.backend.current_revision().await {
                let _ = self.store.cache().wait_for(revision.0, WAIT).await;
            }
        }
        drop(asked);
        let found = self.get(name);
        if found.is_none() {
            let mut absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
            if absent.len() >= REMEMBERED {
                absent.clear();
            }
            absent.insert(name.to_owned(), self.clock.instant());
        }
        found
    }

    /// Waits until the index has all definitions that the store has now.
    ///
    /// Errors: it does not after a while.
    pub(crate) async fn current(&self) -> std::result::Result<(), String> {
        self.store.cache().wait_for_current(WAIT).await.map(drop).map_err(|error| error.to_string())
    }

    fn is_absent(&self, name: &str) -> bool {
        let absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
        absent.get(name).is_some_and(|since| self.clock.instant().saturating_duration_since(*since) < ABSENT)
    }
}

/// The source of custom resources for discovery and OpenAPI. Its stamp takes in changes of the cache first.
struct DefinitionSource {
    definitions: Weak<Definitions>,
    publisher: Arc<Publisher>,
}

impl GroupSource for DefinitionSource {
    fn stamp(&self) -> u64 {
        if let Some(definitions) = self.definitions.upgrade() {
            definitions.mirror.read(|_| ());
        }
        self.publisher.stamp()
    }

    fn take_changes(&self) -> Vec<(SmolStr, Option<Contribution>)> {
        self.publisher.take_changes()
    }
}
