//! The cluster's roles and bindings, as RBAC reads them.

use std::sync::Arc;
use std::time::Duration;

use pintle_auth::authorizer::rbac::{Policy, Source};
use pintle_controllers::{AccessObjects, BootstrapRoles, ClusterRoleAggregation, Runtime};
use pintle_features::Features;
use pintle_meta::Value;
use pintle_registry::{Mirror, Reflect, Store};
use pintle_server::lifecycle::{Hooks, Signal};

use crate::Error;
use crate::stores::Stores;

/// An index of the stored roles and bindings. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Roles {
    mirror: Arc<Mirror<Reflected>>,
    /// One of the stores; it is as current as the others, since one watch feeds them all.
    store: Arc<Store>,
    /// Set when the bootstrap roles are stored.
    in_order: Signal,
}

/// How long a request waits at start for the bootstrap roles.
const BEGINNING: Duration = Duration::from_secs(5);

/// How long a grant of permissions waits for roles and bindings that were written before it.
const WAIT: Duration = Duration::from_secs(3);

/// The resources of the index, by their position in the mirror.
const RESOURCES: [&str; 4] = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"];

#[derive(Default)]
struct Reflected(Policy);

impl Roles {
    pub(crate) fn new(stores: &Stores) -> Result<Roles, Error> {
        let stores =
            RESOURCES.iter().map(|path| stores.require_store(path)).collect::<Result<Vec<_>, Error>>()?;
        let store = stores[0].clone();
        let mirror = Arc::new(Mirror::new(stores, Reflected::default()));
        Ok(Roles { mirror, store, in_order: Signal::new("RolesInOrder") })
    }
}

/// Adds the hook that reconciles the bootstrap roles and bindings at start, and keeps aggregated roles up to date from then
/// on.
pub(crate) fn add_hooks(
    stores: &Stores,
    roles: &Roles,
    hooks: &mut Hooks,
    features: Features,
    runtime: &Runtime,
) -> Result<(), Error> {
    let objects = |name: &str| stores.require_client("rbac.authorization.k8s.io", "v1", name);
    let objects = AccessObjects {
        roles: objects("roles")?,
        role_bindings: objects("rolebindings")?,
        cluster_roles: objects("clusterroles")?,
        cluster_role_bindings: objects("clusterrolebindings")?,
    };
    let aggregation = Arc::new(ClusterRoleAggregation::new(objects.cluster_roles.clone()));
    let bootstrap = BootstrapRoles::new(objects, features);
    let (in_order, runtime) = (roles.in_order.clone(), runtime.clone());
    hooks.post_start(BootstrapRoles::HOOK, move || async move {
        bootstrap.ensure(&runtime.clock).await?;
        aggregation.sync_now().await;
        in_order.set();
        pintle_controllers::start(aggregation, &runtime).await;
        Ok(())
    });
    Ok(())
}

impl Source for Roles {
    async fn ready(&self) -> bool {
        self.mirror.ready().await.is_ok()
    }

    async fn catch_up(&self) {
        // No request is refused for want of bootstrap roles that are about to be stored.
        if !self.in_order.is_set() {
            let _ = tokio::time::timeout(BEGINNING, self.in_order.wait()).await;
            self.current().await;
        }
        self.mirror.wait_for_writes().await;
    }

    async fn current(&self) -> bool {
        self.store.cache().wait_for_current(WAIT).await.is_ok()
    }

    fn read<R>(&self, read: impl FnOnce(&Policy) -> R) -> R {
        self.mirror.read(|reflected| read(&reflected.0))
    }
}

impl Reflect for Reflected {
    fn set(&mut self, resource: usize, key: &str, object: Option<&Value>) {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        match RESOURCES[resource] {
            "roles" | "clusterroles" => self.0.set_role(namespace, name, object),
            _ => self.0.set_binding(namespace, name, object),
        }
    }

    fn clear(&mut self, resource: usize) {
        match RESOURCES[resource] {
            "roles" => self.0.clear_roles(false),
            "clusterroles" => self.0.clear_roles(true),
            "rolebindings" => self.0.clear_bindings(false),
            _ => self.0.clear_bindings(true),
        }
    }
}
