//! Metrics of static manifests.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use aws_lc_rs::digest::{SHA256, digest};
use pintle_metrics::{Counters, Error, FloatGauges, Gauges, Registry};
use pintle_runtime::Clock;

use super::files::hex;

/// The `apiserver_manifest_admission_config_controller_*` families.
pub struct ManifestMetrics {
    reloads: Counters,
    last: FloatGauges,
    info: Gauges,
    /// The digest of this server's name; empty if it has none.
    server: String,
    /// The digests that `info` has, by plugin.
    shown: Mutex<HashMap<&'static str, String>>,
}

impl ManifestMetrics {
    /// `server` is the identity of this server; empty if it has none.
    pub fn new(registry: &Registry, server: &str) -> Result<ManifestMetrics, Error> {
        let name = |end: &str| format!("apiserver_manifest_admission_config_controller_{end}");
        let labels = ["status", "plugin", "apiserver_id_hash"];
        let server = match server {
            "" => String::new(),
            server => hex(digest(&SHA256, server.as_bytes()).as_ref()),
        };
        Ok(ManifestMetrics {
            reloads: registry.counters(
                &name("automatic_reloads_total"),
                "Number of reloads of static admission manifests.",
                &labels,
            )?,
            last: registry.float_gauges(
                &name("automatic_reload_last_timestamp_seconds"),
                "Time of the last reload of static admission manifests.",
                &labels,
            )?,
            info: registry.gauges(
                &name("last_config_info"),
                "Digest of the static admission manifests that are in effect.",
                &["plugin", "apiserver_id_hash", "hash"],
            )?,
            server,
            shown: Mutex::default(),
        })
    }

    pub(super) fn loaded(&self, plugin: &'static str, hash: &str, clock: &Clock) {
        self.count("success", plugin, clock);
        if self.server.is_empty() {
            return;
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = shown.insert(plugin, hash.to_owned()) {
            self.info.remove(&[plugin, &self.server, &old]);
        }
        self.info.with(&[plugin, &self.server, hash]).set(1);
    }

    pub(super) fn failed(&self, plugin: &'static str, clock: &Clock) {
        self.count("failure", plugin, clock);
    }

    fn count(&self, status: &str, plugin: &str, clock: &Clock) {
        let labels = [status, plugin, self.server.as_str()];
        let now = clock.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.reloads.with(&labels).inc();
        self.last.with(&labels).set(now.as_secs_f64());
    }
}
