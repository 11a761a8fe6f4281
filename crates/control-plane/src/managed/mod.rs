//! The controllers that kube-controller-manager runs for every cluster, in this process: made of the parts of a control plane, and
//! started by a post-start hook, on the server that is elected where several share the store.

mod accounts;
mod upkeep;

use std::sync::Arc;

use bytes::Bytes;
use pintle_auth::service_account::Signer;
use pintle_controllers::manager::{Election, ElectionConfig};
use pintle_controllers::{
    Api, ApiClient, Catalog, Controller, FollowedStore, GarbageCollector, GarbageCollectorConfig,
    GarbageCollectorMetrics, MANAGED_HOOK, NamespaceDeletion, Runtime,
};
use pintle_discovery::GroupVersion;
use pintle_features::Features;
use pintle_metrics::Registry;
use pintle_runtime::Spawner;
use pintle_server::lifecycle::Hooks;
use pintle_storage::Backend;

use crate::Error;
use crate::config::ControllersConfig;
use crate::resources::namespace_phase;
use crate::stores::Stores;

/// What controllers are made of.
pub(crate) struct ManagedControllers<'a> {
    /// Controllers follow the caches of stores, and write through `api`.
    pub(crate) stores: &'a Stores,
    pub(crate) config: &'a ControllersConfig,
    /// Signs the tokens that are kept in secrets.
    pub(crate) legacy_signer: Option<Arc<dyn Signer>>,
    pub(crate) features: Features,
    /// The built-in group versions that are served.
    pub(crate) served: &'a [GroupVersion],
    pub(crate) registry: &'a Registry,
    pub(crate) api: Arc<dyn Api>,
    pub(crate) catalog: Arc<dyn Catalog>,
    pub(crate) runtime: Runtime,
    /// Set where other servers share the store.
    pub(crate) election: Option<ElectionConfig>,
}

impl ManagedControllers<'_> {
    /// Adds the hook that starts the selected controllers; none if there are none.
    pub(crate) fn add_hook(self, hooks: &mut Hooks) -> Result<(), Error> {
        let mut controllers = Vec::new();
        for name in self.config.selection.names() {
            let made = self.make(name)?;
            if !made.is_empty() {
                controllers.push((name, made));
            }
        }
        if controllers.is_empty() {
            return Ok(());
        }
        let ManagedControllers { runtime, election, .. } = self;
        hooks.post_start(MANAGED_HOOK, move || async move {
            let Some(election) = election else {
                start(&controllers, &runtime, &runtime.spawner).await;
                return Ok(());
            };
            let spawner = runtime.spawner.clone();
            let stopping = spawner.clone();
            spawner.spawn(async move {
                let controllers = Arc::new(controllers);
                let lead = |spawner: Spawner| {
                    let (controllers, runtime) = (controllers.clone(), runtime.clone());
                    let tasks = spawner.clone();
                    spawner.spawn(async move { start(&controllers, &runtime, &tasks).await });
                };
                Election::new(election).run(&stopping, lead).await;
            });
            Ok(())
        });
        Ok(())
    }

    /// Returns the stores of all resources, below the beginning of all keys.
    fn followed_stores(&self) -> Vec<FollowedStore> {
        let root = Bytes::from(self.stores.root.clone());
        let store =
            |backend: &Arc<dyn Backend>| FollowedStore { backend: backend.clone(), root: root.clone() };
        self.stores.backends.all().map(store).collect()
    }

    /// Makes the parts of a controller.
    fn make(&self, name: &str) -> Result<Vec<Arc<dyn Controller>>, Error> {
        let client = |account: &str| ApiClient::new(self.api.clone(), account);
        let clock = self.runtime.clock.clone();
        Ok(match name {
            GarbageCollector::NAME => {
                let config = GarbageCollectorConfig {
                    stores: self.followed_stores(),
                    api: client(GarbageCollector::ACCOUNT),
                    catalog: self.catalog.clone(),
                    clock,
                    random: self.runtime.random.clone(),
                    metrics: GarbageCollectorMetrics::new(self.registry).map_err(Error::part)?,
                };
                GarbageCollector::new(config).controllers()
            }
            NamespaceDeletion::NAME => vec![Arc::new(NamespaceDeletion::new(
                self.stores.require_store("namespaces")?,
                namespace_phase()?,
                client(name),
                self.catalog.clone(),
                clock,
                self.election.is_some(),
            ))],
            _ => match self.make_of_accounts(name)? {
                Some(made) => made,
                None => self
                    .make_upkeep(name)?
                    .ok_or_else(|| Error::Part(format!("no controller is named {name}").into()))?,
            },
        })
    }
}

/// Starts controllers with tasks of a spawner.
async fn start(
    controllers: &[(&'static str, Vec<Arc<dyn Controller>>)],
    runtime: &Runtime,
    spawner: &Spawner,
) {
    let runtime = Runtime { spawner: spawner.clone(), ..runtime.clone() };
    for (name, controllers) in controllers {
        tracing::info!("Starting controller {name}");
        for controller in controllers {
            pintle_controllers::start(controller.clone(), &runtime).await;
        }
    }
}
