//! The namespaces that every cluster has.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pintle_registry::{Served, Store};

use crate::keep::keep;
use crate::objects::Objects;

pub const SYSTEM_NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

/// How often they are looked for.
const INTERVAL: Duration = Duration::from_secs(60);

/// Creates the system's namespaces when they are missing.
#[derive(Clone)]
pub struct SystemNamespaces {
    namespaces: Objects,
}

impl SystemNamespaces {
    /// The name of the hook that starts it.
    pub const HOOK: &'static str = "start-system-namespaces-controller";

    pub fn new(store: Arc<Store>, served: Arc<dyn Served>) -> SystemNamespaces {
        SystemNamespaces { namespaces: Objects::new(store, served) }
    }

    /// Looks once, returns, and goes on looking until `shutdown`.
    pub async fn start(self, shutdown: impl Future<Output = ()> + Send + 'static) {
        let round = move || {
            let controller = self.clone();
            async move { controller.sync().await }
        };
        keep("the system's namespaces", INTERVAL, round, shutdown).await;
    }

    /// Creates what is missing, all at once: together they are one commit.
    pub async fn sync(&self) {
        let cache = self.namespaces.store().cache();
        // Not worth a failure: then they are created, or found to be there.
        let cached = cache.ready().await.is_ok();
        let missing = SYSTEM_NAMESPACES.iter().filter(|name| !cached || cache.get(name).is_none());
        join_all(missing.map(|name| self.create(name))).await;
    }

    async fn create(&self, name: &str) {
        let json = format!(r#"{{"kind":"Namespace","apiVersion":"v1","metadata":{{"name":"{name}"}}}}"#);
        match self.namespaces.create_if_missing("", json.as_bytes()).await {
            Ok(Some(_)) => tracing::debug!(name, "created a namespace of the system"),
            Ok(None) => {}
            Err(status) => {
                tracing::error!(
                    "unable to create required kubernetes system Namespace {name}: {}",
                    status.message
                );
            }
        }
    }
}
