//! The classes of pods that the cluster cannot do without.

use std::time::Duration;

use futures_util::future::join_all;

use crate::keep::keep;
use crate::objects::Objects;

/// Name, value and description.
const CLASSES: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];

/// Nobody can delete them, so that they are missing only when the store did not answer.
const INTERVAL: Duration = Duration::from_secs(60);

/// Creates the system's priority classes when they are missing.
#[derive(Clone)]
pub struct PriorityClasses {
    classes: Objects,
}

impl PriorityClasses {
    /// The name of the hook that starts it.
    pub const HOOK: &'static str = "scheduling/bootstrap-system-priority-classes";

    pub fn new(classes: Objects) -> PriorityClasses {
        PriorityClasses { classes }
    }

    /// Looks once, returns, and goes on looking until `shutdown`.
    pub async fn start(self, shutdown: impl Future<Output = ()> + Send + 'static) {
        let round = move || {
            let controller = self.clone();
            async move { controller.sync().await }
        };
        keep("the system's priority classes", INTERVAL, round, shutdown).await;
    }

    pub async fn sync(&self) {
        join_all(CLASSES.iter().map(|(name, value, description)| self.ensure(name, *value, description)))
            .await;
    }

    async fn ensure(&self, name: &str, value: i64, description: &str) {
        let json = format!(
            r#"{{"kind":"PriorityClass","apiVersion":"scheduling.k8s.io/v1","metadata":{{"name":"{name}"}},"value":{value},"description":"{description}"}}"#
        );
        let ensured = match self.classes.find("", name).await {
            Ok(Some(_)) => Ok(None),
            Ok(None) => self.classes.create_if_missing("", json.as_bytes()).await,
            Err(status) => Err(status),
        };
        match ensured {
            Ok(Some(_)) => tracing::debug!("created PriorityClass {name} with value {value}"),
            Ok(None) => {}
            Err(status) => {
                tracing::warn!("unable to create PriorityClass {name}: {}. Retrying...", status.message);
            }
        }
    }
}
