//! Figures of those who are asked about users and permissions: webhooks, token issuers, and the files that configure them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use pintle_auth::authorizer::WebhookEvents;
use prometheus::{GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec, Opts};

use super::labels::Labelled;
use super::{Maker, Metrics};

const DEFAULT_BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
const CONDITION_BUCKETS: [f64; 7] = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
const TOKEN_BUCKETS: [f64; 12] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

pub(super) struct Peers {
    evaluations: Labelled<IntCounterVec>,
    durations: Labelled<HistogramVec>,
    open: Labelled<IntCounterVec>,
    condition_errors: Labelled<IntCounterVec>,
    exclusions: Labelled<IntCounterVec>,
    conditions: Labelled<HistogramVec>,
    reloads: [Reloads; 2],
    tokens: Labelled<HistogramVec>,
    key_fetches: GaugeVec,
    key_sets: IntGaugeVec,
    /// The digests of the key sets that are shown, by issuer.
    shown_keys: Mutex<HashMap<String, [String; 3]>>,
}

struct Reloads {
    total: Labelled<IntCounterVec>,
    last: GaugeVec,
    info: IntGaugeVec,
    shown: Mutex<Option<[String; 2]>>,
}

/// Which file was read again.
#[derive(Clone, Copy)]
pub enum Configuration {
    Authentication,
    Authorization,
}

impl Reloads {
    fn new(maker: &Maker<'_>, what: &str) -> Result<Reloads, prometheus::Error> {
        let name = |end: &str| format!("apiserver_{what}_config_controller_{end}");
        let labels = ["status", "apiserver_id_hash"];
        let last = GaugeVec::new(
            Opts::new(
                name("automatic_reload_last_timestamp_seconds"),
                "When it was last read again, by outcome.",
            ),
            &labels,
        )?;
        maker.register(&name("automatic_reload_last_timestamp_seconds"), Box::new(last.clone()))?;
        let info = IntGaugeVec::new(
            Opts::new(name("last_config_info"), "The digest of the configuration that is in use."),
            &["apiserver_id_hash", "hash"],
        )?;
        maker.register(&name("last_config_info"), Box::new(info.clone()))?;
        let help = "How often the configuration was read again, by outcome.";
        let total = maker.counter(&name("automatic_reloads_total"), help, &labels)?;
        Ok(Reloads { total, last, info, shown: Mutex::new(None) })
    }
}

impl Peers {
    pub(super) fn new(maker: &Maker<'_>) -> Result<Peers, prometheus::Error> {
        let webhook = ["name", "result"];
        let condition = ["type", "name"];
        let key_fetches = GaugeVec::new(
            Opts::new(
                "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
                "When the keys of an issuer were last fetched, by outcome.",
            ),
            &["result", "jwt_issuer_hash", "apiserver_id_hash"],
        )?;
        maker.register(
            "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
            Box::new(key_fetches.clone()),
        )?;
        let key_sets = IntGaugeVec::new(
            Opts::new(
                "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info",
                "The digest of the keys of an issuer that were fetched last.",
            ),
            &["jwt_issuer_hash", "apiserver_id_hash", "hash"],
        )?;
        maker.register(
            "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info",
            Box::new(key_sets.clone()),
        )?;
        Ok(Peers {
            evaluations: maker.counter(
                "apiserver_authorization_webhook_evaluations_total",
                "Round-trips to authorization webhooks.",
                &webhook,
            )?,
            durations: maker.histogram(
                "apiserver_authorization_webhook_duration_seconds",
                "Time of round-trips to authorization webhooks.",
                &webhook,
                &DEFAULT_BUCKETS,
            )?,
            open: maker.counter(
                "apiserver_authorization_webhook_evaluations_fail_open_total",
                "Questions that others decided because a webhook could not be asked.",
                &webhook,
            )?,
            condition_errors: maker.counter(
                "apiserver_authorization_match_condition_evaluation_errors_total",
                "Match conditions of authorization webhooks that could not be evaluated.",
                &condition,
            )?,
            exclusions: maker.counter(
                "apiserver_authorization_match_condition_exclusions_total",
                "Questions that match conditions kept from an authorization webhook.",
                &condition,
            )?,
            conditions: maker.histogram(
                "apiserver_authorization_match_condition_evaluation_seconds",
                "Time of evaluating match conditions.",
                &condition,
                &CONDITION_BUCKETS,
            )?,
            reloads: [Reloads::new(maker, "authentication")?, Reloads::new(maker, "authorization")?],
            tokens: maker.histogram(
                "apiserver_authentication_jwt_authenticator_latency_seconds",
                "Time of authenticating a token of an issuer that was not seen a moment ago.",
                &["result", "jwt_issuer_hash"],
                &TOKEN_BUCKETS,
            )?,
            key_fetches,
            key_sets,
            shown_keys: Mutex::default(),
        })
    }
}

impl Metrics {
    fn peers(&self) -> &Peers {
        &self.0.peers
    }

    /// A configuration file was read again; `server` says who we are.
    pub fn reloaded(&self, what: Configuration, success: bool, server: &str) {
        let reloads = &self.peers().reloads[what as usize];
        let labels = [if success { "success" } else { "failure" }, &digest(server)];
        reloads.total.with(&labels).inc();
        reloads.last.with_label_values(&labels).set(now());
    }

    /// The content of the configuration that is in use from now on.
    pub fn configured(&self, what: Configuration, content: &[u8], server: &str) {
        let reloads = &self.peers().reloads[what as usize];
        let labels = [digest(server), digest_of(content)];
        let mut shown = reloads.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some([server, hash]) = shown.take() {
            // Not there is what it is meant to be.
            let _ = reloads.info.remove_label_values(&[&server, &hash]);
        }
        reloads.info.with_label_values(&[&labels[0], &labels[1]]).set(1);
        *shown = Some(labels);
    }

    /// A token of an issuer was judged.
    pub fn token_judged(&self, issuer: &str, success: bool, took: Duration) {
        let result = if success { "success" } else { "failure" };
        self.peers().tokens.with(&[result, &digest(issuer)]).observe(took.as_secs_f64());
    }

    /// The keys of an issuer were asked for: what came, if it was a set of keys.
    pub fn keys_fetched(&self, issuer: &str, keys: Option<&[u8]>, server: &str) {
        let result = if keys.is_some() { "success" } else { "failure" };
        let peers = self.peers();
        peers.key_fetches.with_label_values(&[result, &digest(issuer), &digest(server)]).set(now());
        let Some(keys) = keys else { return };
        let labels = [digest(issuer), digest(server), digest_of(keys)];
        let mut shown = peers.shown_keys.lock().unwrap_or_else(PoisonError::into_inner);
        let old = shown.insert(issuer.to_owned(), labels.clone());
        if let Some(old) = old.filter(|old| *old != labels) {
            let _ = peers.key_sets.remove_label_values(&old.each_ref().map(String::as_str));
        }
        peers.key_sets.with_label_values(&labels.each_ref().map(String::as_str)).set(1);
    }

    /// An issuer is not believed any more.
    pub fn issuer_removed(&self, issuer: &str, server: &str) {
        let peers = self.peers();
        // Not there is what they are meant to be.
        for result in ["success", "failure"] {
            let _ = peers.key_fetches.remove_label_values(&[result, &digest(issuer), &digest(server)]);
        }
        let shown = peers.shown_keys.lock().unwrap_or_else(PoisonError::into_inner).remove(issuer);
        if let Some(shown) = shown {
            let _ = peers.key_sets.remove_label_values(&shown.each_ref().map(String::as_str));
        }
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
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
