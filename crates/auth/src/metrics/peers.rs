//! Calls to authorization webhooks and token issuers, and reloads of the files that configure them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pintle_metrics::{Counters, DEFAULT_BUCKETS, Error, FloatGauges, Gauges, Histograms, Registry};

use super::Metrics;
use crate::authorizer::WebhookEvents;

const CONDITION_BUCKETS: [f64; 7] = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
const TOKEN_BUCKETS: [f64; 12] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

pub(super) struct PeerMetrics {
    evaluations: Counters,
    durations: Histograms,
    open: Counters,
    condition_errors: Counters,
    exclusions: Counters,
    conditions: Histograms,
    reloads: [Reloads; 2],
    tokens: Histograms,
    key_fetches: FloatGauges,
    key_sets: Gauges,
    /// The labels of the key sets that are exposed, by issuer.
    exposed_keys: Mutex<HashMap<String, [String; 3]>>,
}

struct Reloads {
    total: Counters,
    last: FloatGauges,
    info: Gauges,
    /// The labels of the configuration that is exposed.
    exposed: Mutex<Option<[String; 2]>>,
}

/// A configuration file that is reloaded when it changes.
#[derive(Clone, Copy)]
pub enum Configuration {
    Authentication,
    Authorization,
}

impl Reloads {
    fn new(registry: &Registry, what: &str) -> Result<Reloads, Error> {
        let name = |end: &str| format!("apiserver_{what}_config_controller_{end}");
        let labels = ["status", "apiserver_id_hash"];
        let last = registry.float_gauges(
            &name("automatic_reload_last_timestamp_seconds"),
            "When it was last read again, by outcome.",
            &labels,
        )?;
        let info = registry.gauges(
            &name("last_config_info"),
            "The digest of the configuration that is in use.",
            &["apiserver_id_hash", "hash"],
        )?;
        let help = "How often the configuration was read again, by outcome.";
        let total = registry.counters(&name("automatic_reloads_total"), help, &labels)?;
        Ok(Reloads { total, last, info, exposed: Mutex::new(None) })
    }
}

impl PeerMetrics {
    pub(super) fn new(registry: &Registry) -> Result<PeerMetrics, Error> {
        let webhook = ["name", "result"];
        let condition = ["type", "name"];
        let key_fetches = registry.float_gauges(
            "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
            "When the keys of an issuer were last fetched, by outcome.",
            &["result", "jwt_issuer_hash", "apiserver_id_hash"],
        )?;
        let key_sets = registry.gauges(
            "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info",
            "The digest of the keys of an issuer that were fetched last.",
            &["jwt_issuer_hash", "apiserver_id_hash", "hash"],
        )?;
        Ok(PeerMetrics {
            evaluations: registry.counters(
                "apiserver_authorization_webhook_evaluations_total",
                "Round-trips to authorization webhooks.",
                &webhook,
            )?,
            durations: registry.histograms(
                "apiserver_authorization_webhook_duration_seconds",
                "Time of round-trips to authorization webhooks.",
                &webhook,
                &DEFAULT_BUCKETS,
            )?,
            open: registry.counters(
                "apiserver_authorization_webhook_evaluations_fail_open_total",
                "Questions that others decided because a webhook could not be asked.",
                &webhook,
            )?,
            condition_errors: registry.counters(
                "apiserver_authorization_match_condition_evaluation_errors_total",
                "Match conditions of authorization webhooks that could not be evaluated.",
                &condition,
            )?,
            exclusions: registry.counters(
                "apiserver_authorization_match_condition_exclusions_total",
                "Questions that match conditions kept from an authorization webhook.",
                &condition,
            )?,
            conditions: registry.histograms(
                "apiserver_authorization_match_condition_evaluation_seconds",
                "Time of evaluating match conditions.",
                &condition,
                &CONDITION_BUCKETS,
            )?,
            reloads: [Reloads::new(registry, "authentication")?, Reloads::new(registry, "authorization")?],
            tokens: registry.histograms(
                "apiserver_authentication_jwt_authenticator_latency_seconds",
                "Time of authenticating a token of an issuer that was not seen a moment ago.",
                &["result", "jwt_issuer_hash"],
                &TOKEN_BUCKETS,
            )?,
            key_fetches,
            key_sets,
            exposed_keys: Mutex::default(),
        })
    }
}

impl Metrics {
    fn peers(&self) -> &PeerMetrics {
        &self.0.peers
    }

    /// Counts a reload of a configuration file; `server` is the identity of this server.
    pub fn reloaded(&self, what: Configuration, success: bool, server: &str) {
        let reloads = &self.peers().reloads[what as usize];
        let labels = [if success { "success" } else { "failure" }, &digest(server)];
        reloads.total.with(&labels).inc();
        reloads.last.with(&labels).set(self.unix_time());
    }

    /// Exposes the digest of the configuration that is in use from now on.
    pub fn configured(&self, what: Configuration, content: &[u8], server: &str) {
        let reloads = &self.peers().reloads[what as usize];
        let labels = [digest(server), digest_of(content)];
        let mut exposed = reloads.exposed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some([server, hash]) = exposed.take() {
            reloads.info.remove(&[&server, &hash]);
        }
        reloads.info.with(&[&labels[0], &labels[1]]).set(1);
        *exposed = Some(labels);
    }

    /// Counts an authentication by a token of an issuer.
    pub fn token_judged(&self, issuer: &str, success: bool, took: Duration) {
        let result = if success { "success" } else { "failure" };
        self.peers().tokens.with(&[result, &digest(issuer)]).observe(took.as_secs_f64());
    }

    /// Notes a fetch of an issuer's keys: the key set, or `None` if it failed.
    pub fn keys_fetched(&self, issuer: &str, keys: Option<&[u8]>, server: &str) {
        let result = if keys.is_some() { "success" } else { "failure" };
        let peers = self.peers();
        peers.key_fetches.with(&[result, &digest(issuer), &digest(server)]).set(self.unix_time());
        let Some(keys) = keys else { return };
        let labels = [digest(issuer), digest(server), digest_of(keys)];
        let mut exposed = peers.exposed_keys.lock().unwrap_or_else(PoisonError::into_inner);
        let old = exposed.insert(issuer.to_owned(), labels.clone());
        if let Some(old) = old.filter(|old| *old != labels) {
            peers.key_sets.remove(&old.each_ref().map(String::as_str));
        }
        peers.key_sets.with(&labels.each_ref().map(String::as_str)).set(1);
    }

    /// Stops exposing an issuer that is not configured any more.
    pub fn issuer_removed(&self, issuer: &str, server: &str) {
        let peers = self.peers();
        for result in ["success", "failure"] {
            peers.key_fetches.remove(&[result, &digest(issuer), &digest(server)]);
        }
        let exposed = peers.exposed_keys.lock().unwrap_or_else(PoisonError::into_inner).remove(issuer);
        if let Some(exposed) = exposed {
            peers.key_sets.remove(&exposed.each_ref().map(String::as_str));
        }
    }
}

fn digest(text: &str) -> String {
    digest_of(text.as_bytes())
}

fn digest_of(content: &[u8]) -> String {
    if content.is_empty() {
        return String::new();
    }
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, content);
    let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

impl WebhookEvents for Metrics {
    fn evaluated(&self, webhook: &str, result: &'static str, took: Duration) {
        self.peers().evaluations.with(&[webhook, result]).inc();
        self.peers().durations.with(&[webhook, result]).observe(took.as_secs_f64());
    }

    fn failed_open(&self, webhook: &str, result: &'static str) {
        self.peers().open.with(&[webhook, result]).inc();
    }

    fn conditions_evaluated(&self, webhook: &str, matched: &Result<bool, String>, took: Duration) {
        let labels = ["Webhook", webhook];
        self.peers().conditions.with(&labels).observe(took.as_secs_f64());
        match matched {
            Ok(true) => {}
            Ok(false) => self.peers().exclusions.with(&labels).inc(),
            Err(_) => self.peers().condition_errors.with(&labels).inc(),
        }
    }
}
