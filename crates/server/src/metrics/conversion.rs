//! Figures of the webhooks that convert custom resources.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec};

use super::labels::Labelled;
use super::{Maker, Metrics};

const CALL_BUCKETS: [f64; 15] =
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0];
/// From a millisecond, each twice the one before.
const DEFINITION_BUCKETS: [f64; 15] = [
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384,
];

pub(super) struct Conversions {
    requests: Labelled<IntCounterVec>,
    durations: Labelled<HistogramVec>,
    definitions: Labelled<HistogramVec>,
}

/// Why a webhook did not convert what it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversionFailure {
    /// It did not answer.
    Call,
    /// Its answer is none, or says no.
    MalformedResponse,
    /// There are not as many objects in it as were asked for.
    PartialResponse,
    /// One of them cannot be.
    InvalidObject,
}

impl ConversionFailure {
    fn label(self) -> &'static str {
        match self {
            ConversionFailure::Call => "conversion_webhook_call_failure",
            ConversionFailure::MalformedResponse => "conversion_webhook_malformed_response_failure",
            ConversionFailure::PartialResponse => "conversion_webhook_partial_response_failure",
            ConversionFailure::InvalidObject => "conversion_webhook_invalid_converted_object_failure",
        }
    }
}

/// Objects of a definition that were to be converted together.
#[derive(Clone, Copy, Debug)]
pub struct Conversion<'a> {
    pub definition: &'a str,
    pub from: &'a str,
    pub to: &'a str,
    pub succeeded: bool,
    pub took: Duration,
}

impl Conversions {
    pub(super) fn new(maker: &Maker<'_>) -> Result<Conversions, prometheus::Error> {
        let labels = ["result", "failure_type"];
        Ok(Conversions {
            requests: maker.counter(
                "apiserver_conversion_webhook_request_total",
                "Requests to conversion webhooks, by result and why they failed.",
                &labels,
            )?,
            durations: maker.histogram(
                "apiserver_conversion_webhook_duration_seconds",
                "Time of requests to conversion webhooks.",
                &labels,
                &CALL_BUCKETS,
            )?,
            definitions: maker.histogram(
                "apiserver_crd_conversion_webhook_duration_seconds",
                "Time of converting custom resources by a webhook.",
                &["crd_name", "from_version", "to_version", "succeeded"],
                &DEFINITION_BUCKETS,
            )?,
        })
    }
}

impl Metrics {
    /// A conversion webhook was asked.
    pub fn conversion_asked(&self, failure: Option<ConversionFailure>, took: Duration) {
        let labels = match failure {
            None => ["success", ""],
            Some(failure) => ["failure", failure.label()],
        };
        self.0.conversions.requests.with(&labels).inc();
        self.0.conversions.durations.with(&labels).observe(took.as_secs_f64());
    }

    /// Objects were converted, or not.
    pub fn converted(&self, conversion: &Conversion<'_>) {
        let Conversion { definition, from, to, succeeded, took } = *conversion;
        if from != to {
            let labels = [definition, from, to, if succeeded { "true" } else { "false" }];
            self.0.conversions.definitions.with(&labels).observe(took.as_secs_f64());
        }
    }
}
