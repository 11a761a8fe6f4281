//! Calls to the external signer of service account tokens, where there is one.

use std::time::Duration;

use pintle_metrics::{Counters, Error, FloatGauges, Histograms, Registry};

use super::Metrics;
use crate::service_account::external::Events;

const CALL_BUCKETS: [f64; 14] =
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

pub(super) struct SignerMetrics {
    fetched_at: FloatGauges,
    dated: FloatGauges,
    fetches: Counters,
    signatures: Counters,
    calls: Histograms,
}

impl SignerMetrics {
    pub(super) fn new(registry: &Registry) -> Result<SignerMetrics, Error> {
        // Families without labels, so that they are not exposed before they are set.
        let time = |name: &str, help: &str| {
            registry.float_gauges(&format!("apiserver_externaljwt_{name}"), help, &[])
        };
        Ok(SignerMetrics {
            fetched_at: time(
                "fetch_keys_success_timestamp",
                "When the external signer's keys were last fetched.",
            )?,
            dated: time(
                "fetch_keys_data_timestamp",
                "When the external signer got the keys that were last fetched, as it says.",
            )?,
            fetches: registry.counters(
                "apiserver_externaljwt_fetch_keys_request_total",
                "Fetches of the external signer's keys, by outcome.",
                &["code"],
            )?,
            signatures: registry.counters(
                "apiserver_externaljwt_sign_request_total",
                "Tokens that the external signer was to sign, by outcome.",
                &["code"],
            )?,
            calls: registry.histograms(
                "apiserver_externaljwt_request_duration_seconds",
                "Time of calls to the external signer, the wait for it included.",
                &["method", "code"],
                &CALL_BUCKETS,
            )?,
        })
    }
}

impl Events for Metrics {
    fn called(&self, method: &'static str, code: &'static str, took: Duration) {
        self.0.signer.calls.with(&[method, code]).observe(took.as_secs_f64());
    }

    fn keys_fetched(&self, code: &'static str) {
        self.0.signer.fetches.with(&[code]).inc();
        if code == "OK" {
            self.0.signer.fetched_at.with(&[]).set(self.unix_time());
        }
    }

    fn keys_dated(&self, seconds: f64) {
        self.0.signer.dated.with(&[]).set(seconds);
    }

    fn signed(&self, code: &'static str) {
        self.0.signer.signatures.with(&[code]).inc();
    }
}
