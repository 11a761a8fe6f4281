//! The metrics of encryption, under the reference's names.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use aws_lc_rs::digest::{SHA256, digest};
use pintle_metrics::{
    Counter, Counters, Error, FloatGauges, Gauges, Histogram, Histograms, Registry, exponential_buckets,
};
use pintle_runtime::{Clock, Stopwatch};

use crate::failure::Failure;

/// Number of key ids that are counted at a time; those that were not used for longest go.
const MOST_KEY_IDS: usize = 100;

/// Whether a value was decrypted or encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    FromStorage,
    ToStorage,
}

impl Direction {
    fn label(self) -> &'static str {
        match self {
            Direction::FromStorage => "from_storage",
            Direction::ToStorage => "to_storage",
        }
    }
}

/// The metrics of this crate. Clones are the same metrics.
#[derive(Clone)]
pub struct Metrics(Arc<Families>);

struct Families {
    transformations: Counters,
    durations: Histograms,
    cache_misses: Counter,
    key_generations: Histogram,
    key_generation_failures: Counter,
    kms_calls: Histograms,
    key_ids: Counters,
    key_id_times: FloatGauges,
    status_key_id_times: FloatGauges,
    invalid_key_ids: Counters,
    dek_sources: Gauges,
    dek_cache_fill: FloatGauges,
    arrivals: Histograms,
    reloads: Counters,
    reload_times: FloatGauges,
    last_config: Gauges,
    clock: Clock,
    /// The hash of this server's name, which is a label of many.
    server: String,
    used: Mutex<VecDeque<[String; 3]>>,
    reported: Mutex<VecDeque<[String; 2]>>,
    arrived: Mutex<[Option<SystemTime>; 2]>,
    config: Mutex<Option<String>>,
}

impl Metrics {
    /// `server` is the name of this server; empty if servers have none.
    pub fn new(registry: &Registry, server: &str, clock: &Clock) -> Result<Metrics, Error> {
        let envelope = |name: &str| format!("apiserver_envelope_encryption_{name}");
        let storage = |name: &str| format!("apiserver_storage_{name}");
        let controller = |name: &str| format!("apiserver_encryption_config_controller_{name}");
        let used = ["transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"];
        let metrics = Metrics(Arc::new(Families {
            transformations: registry.counters(
                &storage("transformation_operations_total"),
                "Values that were encrypted or decrypted, by resource, direction, prefix of the provider and outcome.",
                &["resource", "transformation_type", "transformer_prefix", "status"],
            )?,
            durations: registry.histograms(
                &storage("transformation_duration_seconds"),
                "Time that values took to be encrypted or decrypted, in seconds.",
                &["transformation_type", "transformer_prefix"],
                &exponential_buckets(5e-6, 2.0, 25),
            )?,
            cache_misses: registry.counter(
                &storage("envelope_transformation_cache_misses_total"),
                "Data keys that were not in memory and had to be decrypted by a KMS plugin.",
            )?,
            key_generations: registry.histogram(
                &storage("data_key_generation_duration_seconds"),
                "Time that data keys took to be generated, in seconds.",
                &exponential_buckets(5e-6, 2.0, 14),
            )?,
            key_generation_failures: registry.counter(
                &storage("data_key_generation_failures_total"),
                "Data keys that could not be generated.",
            )?,
            kms_calls: registry.histograms(
                &envelope("kms_operations_latency_seconds"),
                "Time that calls of KMS plugins took, in seconds, by method and gRPC code.",
                &["provider_name", "method_name", "grpc_status_code"],
                &exponential_buckets(0.0001, 2.0, 20),
            )?,
            key_ids: registry.counters(
                &envelope("key_id_hash_total"),
                "Uses of a key of a KMS plugin, by direction, provider and server.",
                &used,
            )?,
            key_id_times: registry.float_gauges(
                &envelope("key_id_hash_last_timestamp_seconds"),
                "Time of the last use of a key of a KMS plugin, in seconds since 1970.",
                &used,
            )?,
            status_key_id_times: registry.float_gauges(
                &envelope("key_id_hash_status_last_timestamp_seconds"),
                "Time when a KMS plugin last said that it uses a key, in seconds since 1970.",
                &["provider_name", "key_id_hash", "apiserver_id_hash"],
            )?,
            invalid_key_ids: registry.counters(
                &envelope("invalid_key_id_from_status_total"),
                "Invalid key ids in the status of KMS plugins, by what is wrong with them.",
                &["provider_name", "error"],
            )?,
            dek_sources: registry.gauges(
                &envelope("dek_source_cache_size"),
                "Data keys in memory: about as many as are decrypted by the KMS plugin after a restart.",
                &["provider_name"],
            )?,
            dek_cache_fill: registry.float_gauges(
                &envelope("dek_cache_fill_percent"),
                "Part of the cache for data keys of KMS v1 plugins that is in use.",
                &[],
            )?,
            arrivals: registry.histograms(
                &envelope("dek_cache_inter_arrival_time_seconds"),
                "Time between values of KMS v1 plugins, in seconds, by direction.",
                &["transformation_type"],
                &exponential_buckets(60.0, 2.0, 10),
            )?,
            reloads: registry.counters(
                &controller("automatic_reloads_total"),
                "Reloads of the encryption configuration, by outcome and server.",
                &["status", "apiserver_id_hash"],
            )?,
            reload_times: registry.float_gauges(
                &controller("automatic_reload_last_timestamp_seconds"),
                "Time of the last reload of the encryption configuration, by outcome and server.",
                &["status", "apiserver_id_hash"],
            )?,
            last_config: registry.gauges(
                &controller("last_config_info"),
                "The encryption configuration in use, by its hash and the server.",
                &["apiserver_id_hash", "hash"],
            )?,
            clock: clock.clone(),
            server: hash_if_any(server),
            used: Mutex::default(),
            reported: Mutex::default(),
            arrived: Mutex::default(),
            config: Mutex::default(),
        }));
        // It is there from the start.
        metrics.0.dek_cache_fill.with(&[]).set(0.0);
        Ok(metrics)
    }

    /// Counts a value that was encrypted or decrypted, or not.
    pub(crate) fn transformed(
        &self,
        resource: &str,
        direction: Direction,
        prefix: &str,
        watch: Stopwatch,
        failure: Option<&Failure>,
    ) {
        let status = failure.map_or("OK", Failure::code);
        self.0.transformations.with(&[resource, direction.label(), prefix, status]).inc();
        if failure.is_none() {
            self.0.durations.with(&[direction.label(), prefix]).observe(watch.seconds());
        }
    }

    pub(crate) fn cache_missed(&self) {
        self.0.cache_misses.inc();
    }

    pub(crate) fn key_generated(&self, watch: Stopwatch, success: bool) {
        match success {
            true => self.0.key_generations.observe(watch.seconds()),
            false => self.0.key_generation_failures.inc(),
        }
    }

    pub(crate) fn kms_called(&self, provider: &str, method: &str, code: &str, took: Duration) {
        self.0.kms_calls.with(&[provider, method, code]).observe(took.as_secs_f64());
    }

    fn now(&self) -> f64 {
        let since = self.0.clock.now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0.0, |since| since.as_secs_f64())
    }

    /// Counts a use of a key of a plugin.
    pub(crate) fn key_id_used(&self, direction: Direction, provider: &str, key_id: &str) {
        let (hash, now) = (hash_if_any(key_id), self.now());
        let label = [direction.label().to_owned(), provider.to_owned(), hash.clone()];
        let mut used = self.0.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some([direction, provider, hash]) = keep(&mut used, label) {
            let labels = [&*direction, &*provider, &*hash, &*self.0.server];
            self.0.key_ids.remove(&labels);
            self.0.key_id_times.remove(&labels);
        }
        let labels = [direction.label(), provider, &*hash, &*self.0.server];
        self.0.key_ids.with(&labels).inc();
        self.0.key_id_times.with(&labels).set(now);
    }

    /// Notes the key that a plugin says it uses.
    pub(crate) fn key_id_reported(&self, provider: &str, key_id: &str) {
        let (hash, now) = (hash_if_any(key_id), self.now());
        let mut reported = self.0.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some([provider, hash]) = keep(&mut reported, [provider.to_owned(), hash.clone()]) {
            self.0.status_key_id_times.remove(&[&*provider, &*hash, &*self.0.server]);
        }
        self.0.status_key_id_times.with(&[provider, &*hash, &*self.0.server]).set(now);
    }

    pub(crate) fn invalid_key_id(&self, provider: &str, error: &str) {
        self.0.invalid_key_ids.with(&[provider, error]).inc();
    }

    pub(crate) fn dek_sources(&self, provider: &str, count: usize) {
        self.0.dek_sources.with(&[provider]).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(crate) fn dek_cache_filled(&self, part: f64) {
        self.0.dek_cache_fill.with(&[]).set(part);
    }

    /// Notes that a value of a KMS v1 plugin came.
    pub(crate) fn arrived(&self, direction: Direction) {
        let now = self.0.clock.now();
        let mut arrived = self.0.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        let before = arrived[usize::from(direction == Direction::ToStorage)].replace(now).unwrap_or(now);
        let since = now.duration_since(before).unwrap_or_default();
        self.0.arrivals.with(&[direction.label()]).observe(since.as_secs_f64());
    }

    /// Notes the configuration that is in use.
    pub(crate) fn configured(&self, hash: &str) {
        let mut config = self.0.config.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = config.replace(hash.to_owned()).filter(|before| before != hash) {
            self.0.last_config.remove(&[&*self.0.server, &*before]);
        }
        self.0.last_config.with(&[&*self.0.server, hash]).set(1);
    }

    pub(crate) fn reloaded(&self, success: bool) {
        let labels = [if success { "success" } else { "failure" }, &*self.0.server];
        self.0.reloads.with(&labels).inc();
        self.0.reload_times.with(&labels).set(self.now());
    }
}

/// Puts a label at the end; returns the one that had to go for it.
fn keep<const N: usize>(kept: &mut VecDeque<[String; N]>, label: [String; N]) -> Option<[String; N]> {
    if let Some(at) = kept.iter().position(|known| *known == label) {
        kept.remove(at);
    }
    kept.push_back(label);
    if kept.len() > MOST_KEY_IDS { kept.pop_front() } else { None }
}

/// `sha256:` and the digest, as metrics and logs show what they do not name.
pub(crate) fn hash(data: &[u8]) -> String {
    let digest = digest(&SHA256, data);
    let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

pub(crate) fn hash_if_any(text: &str) -> String {
    if text.is_empty() { String::new() } else { hash(text.as_bytes()) }
}
