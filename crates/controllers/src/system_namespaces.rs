//! The namespaces that every cluster has.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pintle_registry::{Served, Store};
use tokio::time::timeout;

use crate::objects::Objects;

pub const SYSTEM_NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

/// How often they are looked for.
const INTERVAL: Duration = Duration::from_secs(60);

/// How long a start waits for them. A store that is slower than this is somebody else's to report.
const FIRST: Duration = Duration::from_secs(2);

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

    /// Looks once, returns, and goes on looking until `shutdown`. Who sees the server ready finds the namespaces there; a
    /// store that does not answer holds nobody up for long.
    pub async fn start(self, shutdown: impl Future<Output = ()> + Send + 'static) {
        let first = tokio::spawn({
            let controller = self.clone();
            async move { controller.sync().await }
        });
        let waited = timeout(FIRST, first).await;
        if waited.is_err() {
            tracing::warn!("the system's namespaces are not there yet");
        }
        tokio::spawn(async move {
            tokio::select! {
                () = self.run() => {}
                () = shutdown => {}
            }
        });
    }

    /// Looks every minute from a minute from now on.
    async fn run(&self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            self.sync().await;
        }
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
