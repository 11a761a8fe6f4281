//! A cluster for plugins: stores in memory for every resource that they read.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use pintle_auth::authorizer::AlwaysAllow;
use pintle_cache::{Feed, Limits};
use pintle_features::Features;
use pintle_meta::quote;
use pintle_metrics::Registry;
use pintle_outbound::hosts::Hosts;
use pintle_outbound::services::{Address, Resolver};
use pintle_registry::testing::{Put, Untyped, object};
use pintle_registry::{AdmitAll, Context, Store, StoreConfig, Strategy, WriteOptions};
use pintle_runtime::{Clock, Random, Tasks};
use pintle_storage_embedded::Options;

use crate::chain::{Clients, Cluster, TolerationSeconds};
use crate::configuration::Configurations;
use crate::namespaces::StoredNamespaces;
use crate::objects::{AdmissionStores, Resource, StoredObjects};
use crate::policies::params::NoParams;
use crate::priority_classes::StoredPriorityClasses;
use crate::rest_mapper::NoKinds;
use crate::webhook_metrics::WebhookMetrics;

/// Stores whose objects are untyped, and a [`Cluster`] that reads them.
pub(crate) struct TestCluster {
    pub(crate) cluster: Cluster,
    _feed: Feed,
    _tasks: Tasks,
}

struct Anything;

impl Strategy for Anything {
    fn allows_unconditional_update(&self) -> bool {
        true
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }
}

struct NoServices;

#[async_trait]
impl Resolver for NoServices {
    async fn resolve(&self, _: &str, name: &str, _: u16) -> Result<Address, String> {
        Err(format!("service {} not found", quote(name)))
    }
}

impl Resource {
    fn is_namespaced(self) -> bool {
        use Resource::*;
        matches!(
            self,
            LimitRange
                | PersistentVolumeClaim
                | Pod
                | PodGroup
                | ResourceClaim
                | ResourceQuota
                | ServiceAccount
                | Workload
        )
    }
}

impl TestCluster {
    /// Returns a cluster without objects, with the default features. Everything is allowed.
    pub(crate) async fn new() -> TestCluster {
        let backend = Arc::new(pintle_storage_embedded::Store::open(Options::memory()).unwrap());
        let feed = Feed::start(backend.clone(), Bytes::from_static(b"/r/"), Limits::default()).await.unwrap();
        let stores: HashMap<&str, Arc<Store>> = Resource::ALL
            .into_iter()
            .map(|resource| {
                let prefix = Bytes::from(format!("/r/{}/", resource.path()));
                let store = Store::new(StoreConfig {
                    group: String::new(),
                    resource: resource.path().into(),
                    kind: format!("{resource:?}"),
                    namespaced: resource.is_namespaced(),
                    cache: feed.resource(prefix.clone(), || Arc::new(Untyped)),
                    prefix,
                    backend: backend.clone(),
                    stored: Arc::new(Untyped),
                    strategy: Arc::new(Anything),
                });
                (resource.path(), Arc::new(store.read_your_writes()))
            })
            .collect();
        let (tasks, namespaces) = (Tasks::new(), stores["namespaces"].clone());
        let stores = AdmissionStores::new(|path| stores.get(path).cloned());
        let metrics = Registry::default();
        let cluster = Cluster {
            namespaces: Arc::new(StoredNamespaces::new(namespaces, Untyped::PHASE)),
            objects: Arc::new(StoredObjects::new(stores.clone())),
            stores,
            clients: Clients::default(),
            configurations: Configurations::default(),
            manifests: None,
            priority_classes: Arc::new(StoredPriorityClasses::new(None)),
            rest_mapper: Arc::new(NoKinds),
            param_kinds: Arc::new(NoParams),
            authorizer: Arc::new(AlwaysAllow),
            features: Features::default(),
            toleration_seconds: TolerationSeconds { not_ready: 300, unreachable: 300 },
            services: Arc::new(NoServices),
            egress: None,
            hosts: Hosts::system(),
            webhook_metrics: Arc::new(WebhookMetrics::new(&metrics).expect("metrics")),
            metrics,
            spawner: tasks.spawner(),
            clock: Clock::system(),
            random: Random::system(),
        };
        TestCluster { cluster, _feed: feed, _tasks: tasks }
    }

    fn store(&self, resource: Resource) -> &Arc<Store> {
        self.cluster.stores.get(resource).expect("a store of every resource")
    }

    /// Writes an object from JSON, in place of one that has its name.
    pub(crate) async fn put(&self, resource: Resource, json: &str) {
        let object = object(json);
        let mut context = Context { namespace: object.namespace().into(), ..Context::default() };
        let (name, options) = (object.name().to_owned(), WriteOptions::default());
        let written = self.store(resource);
        written.update(&mut context, &name, &mut Put(object), &AdmitAll, true, options).await.unwrap();
    }
}
