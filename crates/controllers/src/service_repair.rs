//! Periodic repair of the cluster IPs and node ports that services hold.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pintle_meta::Status;
use pintle_registry::Result;

use crate::runtime::{Controller, Requeue, Source};

const INTERVAL: Duration = Duration::from_secs(3 * 60);

type Round = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<()>> + Send>> + Send + Sync>;

/// Repairs allocations. The first allocation after a start repairs them too, so nothing waits for this controller.
pub struct ServiceRepair {
    round: Round,
}

impl ServiceRepair {
    /// The post-start hook.
    pub const HOOK: &'static str = "start-service-ip-repair-controllers";

    pub fn new<F>(round: impl Fn() -> F + Send + Sync + 'static) -> ServiceRepair
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        ServiceRepair { round: Arc::new(move || Box::pin(round())) }
    }
}

#[async_trait]
impl Controller for ServiceRepair {
    fn name(&self) -> &'static str {
        "service_ip_repair"
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source::every_later(INTERVAL, "")]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        (self.round)().await.map(|()| Requeue::Never)
    }

    fn failed(&self, _: &str, status: &Status) {
        tracing::error!("cannot repair what services hold: {}", status.message);
    }
}
