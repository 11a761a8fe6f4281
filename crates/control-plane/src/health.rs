//! Health checks and metrics of the store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pintle_runtime::{Clock, Spawner};
use pintle_server::handlers::{Check, HealthCheck, HealthRegistry};
use pintle_server::lifecycle::Hooks;
use pintle_storage::Backend;
use tokio::sync::Mutex;

use crate::config::{HealthConfig, StoreOverrides};

/// The longest time for which an answer about the store's health holds; for short timeouts it is half of them.
const MAX_AGE: Duration = Duration::from_secs(1);

/// How soon a store that does not answer at start is asked again.
const RETRY: Duration = Duration::from_millis(100);

/// Returns the health checks of a control plane: those of the program, then those of the store under the reference's names.
pub(crate) fn registry(
    config: HealthConfig,
    backend: &Arc<dyn Backend>,
    overrides: &StoreOverrides,
    clock: &Clock,
) -> HealthRegistry {
    let mut health = HealthRegistry::new(config.livez_grace);
    config.checks.into_iter().for_each(|check| health.add(check));
    health.add_livez(HealthCheck::new("loopback-serving-certificate", NoLoopback));
    let check = |backend: &Arc<dyn Backend>, timeout| StoreAnswers {
        backend: backend.clone(),
        timeout,
        clock: clock.clone(),
        last: Mutex::default(),
    };
    let (timeout, ready_timeout) = (config.store_timeout, config.store_ready_timeout);
    health.add(HealthCheck::new("etcd", check(backend, timeout)));
    let ready = HealthCheck::new("etcd-readiness", check(backend, ready_timeout));
    health.add_readyz(ready.in_group("etcd-readiness"));
    for (index, backend) in overrides.backends.iter().enumerate() {
        let name = format!("etcd-override-{index}");
        health.add(HealthCheck::new(&name, check(backend, timeout)).in_group("etcd"));
        let name = format!("etcd-override-readiness-{index}");
        health.add_readyz(HealthCheck::new(&name, check(backend, ready_timeout)).in_group("etcd-readiness"));
    }
    health
}

/// Adds the hook that waits until the store has answered once.
pub(crate) fn add_hook(backend: Arc<dyn Backend>, hooks: &mut Hooks) {
    hooks.post_start("storage-readiness", move || async move {
        while let Err(error) = backend.current_revision().await {
            tracing::warn!(%error, "the store does not answer yet");
            tokio::time::sleep(RETRY).await;
        }
        Ok(())
    });
}

/// Reports the size of the store to metrics again and again.
pub(crate) fn report_size(
    backend: Arc<dyn Backend>,
    period: Duration,
    metrics: pintle_storage::Metrics,
    spawner: &Spawner,
    clock: Clock,
) {
    spawner.spawn_until_stop(async move {
        loop {
            if let Ok(stats) = backend.stats().await {
                metrics.storage_size(stats.size);
            }
            clock.sleep(period).await;
        }
    });
}

/// The certificate of connections of the server to itself. There are none, so there is nothing that could expire.
struct NoLoopback;

#[async_trait]
impl Check for NoLoopback {
    async fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Asks the store whether it is healthy, at most twice per timeout and once at a time: anyone may ask for health, and hears
/// the last answer in between.
struct StoreAnswers {
    backend: Arc<dyn Backend>,
    timeout: Duration,
    clock: Clock,
    last: Mutex<Option<(Instant, Result<(), String>)>>,
}

#[async_trait]
impl Check for StoreAnswers {
    async fn check(&self) -> Result<(), String> {
        let mut last = self.last.lock().await;
        if let Some((at, result)) = &*last
            && self.clock.instant().duration_since(*at) < (self.timeout / 2).min(MAX_AGE)
        {
            return result.clone();
        }
        let result = match tokio::time::timeout(self.timeout, self.backend.health()).await {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(_) => Err("error getting data from etcd: context deadline exceeded".into()),
        };
        *last = Some((self.clock.instant(), result.clone()));
        result
    }
}
