//! The availability of APIServices of this server.

use async_trait::async_trait;
use pintle_controllers::{Controller, RateLimits, Requeue, Source};
use pintle_meta::Status;
use pintle_registry::{Client, Result};

use super::remote::LIMITS;
use crate::condition::{self, Availability};
use crate::metrics::Metrics;

/// Keeps the condition of local APIServices, which is set when they are created: a remote one that becomes local gets it here.
pub(crate) struct LocalAvailability {
    statuses: Client,
    metrics: Metrics,
}

impl LocalAvailability {
    pub(crate) fn new(statuses: Client, metrics: Metrics) -> LocalAvailability {
        LocalAvailability { statuses, metrics }
    }
}

#[async_trait]
impl Controller for LocalAvailability {
    fn name(&self) -> &'static str {
        "LocalAvailabilityController"
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source::informer(self.statuses.store().clone(), |entry, deleted| {
            (!deleted).then(|| entry.key().into())
        })]
    }

    async fn reconcile(&self, name: &str) -> Result<Requeue> {
        let service = self.statuses.cached("", name).filter(|service| !condition::is_remote(service));
        if let Some(service) = service {
            super::write(&self.statuses, &self.metrics, &service, &Availability::local()).await?;
        }
        Ok(Requeue::Never)
    }

    fn failed(&self, name: &str, status: &Status) {
        tracing::error!("{name} failed with: {}", status.message);
    }

    fn rate_limits(&self) -> RateLimits {
        LIMITS
    }
}
