//! The system namespaces: created where they are missing.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use pintle_registry::{Client, Result, Served, Store};

use crate::runtime::{Controller, Requeue, Source};

pub const SYSTEM_NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

const INTERVAL: Duration = Duration::from_secs(60);

/// Creates the system's namespaces when they are missing.
pub struct SystemNamespaces {
    namespaces: Client,
}

impl SystemNamespaces {
    /// The post-start hook.
    pub const HOOK: &'static str = "start-system-namespaces-controller";

    pub fn new(store: Arc<Store>, served: Arc<dyn Served>) -> SystemNamespaces {
        SystemNamespaces { namespaces: Client::new(store, served) }
    }

    /// Creates the namespaces that are missing, all at once, so that they are one commit.
    pub async fn sync(&self) {
        let cache = self.namespaces.store().cache();
        // Without the cache all are created, and found to exist already.
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

#[async_trait]
impl Controller for SystemNamespaces {
    fn name(&self) -> &'static str {
        "system_namespaces"
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source::every(INTERVAL, "")]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        self.sync().await;
        Ok(Requeue::Never)
    }

    fn awaited(&self) -> Option<&'static str> {
        Some("the system's namespaces")
    }
}
