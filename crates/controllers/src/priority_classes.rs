//! The system's priority classes: created where they are missing.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use pintle_registry::{Client, Result};

use crate::runtime::{Controller, Requeue, Source};

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

/// No client can delete them, so they are missing only if the store did not answer.
const INTERVAL: Duration = Duration::from_secs(60);

/// Creates the system's priority classes when they are missing.
pub struct PriorityClasses {
    classes: Client,
}

impl PriorityClasses {
    /// The post-start hook.
    pub const HOOK: &'static str = "scheduling/bootstrap-system-priority-classes";

    pub fn new(classes: Client) -> PriorityClasses {
        PriorityClasses { classes }
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

#[async_trait]
impl Controller for PriorityClasses {
    fn name(&self) -> &'static str {
        "system_priority_classes"
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source::every(INTERVAL, "")]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        self.sync().await;
        Ok(Requeue::Never)
    }

    fn awaited(&self) -> Option<&'static str> {
        Some("the system's priority classes")
    }
}
