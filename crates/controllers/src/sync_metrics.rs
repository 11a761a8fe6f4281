//! Metrics of controllers that count their rounds by the code of the answer they ended with.

use pintle_metrics::{Counters, Error, Histograms, Registry, exponential_buckets};
use pintle_registry::Result;
use pintle_runtime::Stopwatch;

/// `PREFIX_sync_total` and `PREFIX_sync_duration_seconds`.
pub struct SyncMetrics {
    total: Counters,
    durations: Histograms,
}

impl SyncMetrics {
    /// Registers the metrics of [`crate::RootCaPublisher`].
    pub fn of_root_ca(registry: &Registry) -> std::result::Result<SyncMetrics, Error> {
        let help = "Number of namespace syncs happened in root ca cert publisher.";
        SyncMetrics::new(registry, "root_ca_cert_publisher", [help, help])
    }

    /// Registers the metrics of [`crate::TrustBundlePublisher`].
    pub fn of_trust_bundle(registry: &Registry) -> std::result::Result<SyncMetrics, Error> {
        let helps = [
            "Number of syncs that occurred in cluster trust bundle publisher.",
            "The time it took to sync a cluster trust bundle.",
        ];
        SyncMetrics::new(registry, "clustertrustbundle_publisher", helps)
    }

    fn new(registry: &Registry, prefix: &str, helps: [&str; 2]) -> std::result::Result<SyncMetrics, Error> {
        let buckets = exponential_buckets(0.001, 2.0, 15);
        let (total, durations) = (format!("{prefix}_sync_total"), format!("{prefix}_sync_duration_seconds"));
        Ok(SyncMetrics {
            total: registry.counters(&total, helps[0], &["code"])?,
            durations: registry.histograms(&durations, helps[1], &["code"], &buckets)?,
        })
    }

    /// Measures a round.
    pub(crate) async fn measured<T>(&self, round: impl Future<Output = Result<T>>) -> Result<T> {
        let took = Stopwatch::start();
        let result = round.await;
        let code = match &result {
            Ok(_) => 200,
            Err(status) if status.code == 0 => 500,
            Err(status) => status.code,
        };
        let code = code.to_string();
        self.total.with(&[&code]).inc();
        self.durations.with(&[&code]).observe(took.seconds());
        result
    }
}
