//! Figures of the program that signs the tokens of service accounts, where there is one.

use std::time::{Duration, SystemTime};

use pintle_auth::service_account::external::Events;
use prometheus::{GaugeVec, HistogramVec, IntCounterVec, Opts};

use super::labels::Labelled;
use super::{Maker, Metrics};

const CALL_BUCKETS: [f64; 14] =
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

pub(super) struct SignerFigures {
    fetched_at: GaugeVec,
    dated: GaugeVec,
    fetches: Labelled<IntCounterVec>,
    signatures: Labelled<IntCounterVec>,
    calls: Labelled<HistogramVec>,
}

impl SignerFigures {
    pub(super) fn new(maker: &Maker<'_>) -> Result<SignerFigures, prometheus::Error> {
        // Without labels, and still not shown before they are set.
        let time = |name: &str, help: &str| {
            let name = format!("apiserver_externaljwt_{name}");
            let gauge = GaugeVec::new(Opts::new(&name, help), &[])?;
            maker.register(&name, Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        Ok(SignerFigures {
            fetched_at: time(
                "fetch_keys_success_timestamp",
                "When the external signer's keys were last fetched.",
            )?,
            dated: time(
                "fetch_keys_data_timestamp",
                "When the external signer got the keys that were last fetched, as it says.",
            )?,
            fetches: maker.counter(
                "apiserver_externaljwt_fetch_keys_request_total",
                "Fetches of the external signer's keys, by outcome.",
                &["code"],
            )?,
            signatures: maker.counter(
                "apiserver_externaljwt_sign_request_total",
                "Tokens that the external signer was to sign, by outcome.",
                &["code"],
            )?,
            calls: maker.histogram(
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
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            self.0.signer.fetched_at.with_label_values::<&str>(&[]).set(now.as_secs_f64());
        }
    }

    fn keys_dated(&self, seconds: f64) {
        self.0.signer.dated.with_label_values::<&str>(&[]).set(seconds);
    }

    fn signed(&self, code: &'static str) {
        self.0.signer.signatures.with(&[code]).inc();
    }
}
