//! Calls to conversion webhooks.

use std::time::Duration;

use pintle_metrics::{Counters, Error, Histograms, Registry};

use super::Metrics;

const CALL_BUCKETS: [f64; 15] =
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0];
const DEFINITION_BUCKETS: [f64; 15] = [
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384,
];

pub(super) struct ConversionMetrics {
    requests: Counters,
    durations: Histograms,
    definitions: Histograms,
}

/// The reason why a call to a conversion webhook failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConversionFailure {
    /// The call itself failed.
    Call,
    /// The response is not a ConversionReview, or reports a failure.
    MalformedResponse,
    /// The response has another number of objects than the request.
    PartialResponse,
    /// A converted object is invalid.
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

/// One conversion of objects of a definition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversion<'a> {
    pub(crate) definition: &'a str,
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
    pub(crate) succeeded: bool,
    pub(crate) took: Duration,
}

impl ConversionMetrics {
    pub(super) fn new(registry: &Registry) -> Result<ConversionMetrics, Error> {
        let labels = ["result", "failure_type"];
        Ok(ConversionMetrics {
            requests: registry.counters(
                "apiserver_conversion_webhook_request_total",
                "Requests to conversion webhooks, by result and why they failed.",
                &labels,
            )?,
            durations: registry.histograms(
                "apiserver_conversion_webhook_duration_seconds",
                "Time of requests to conversion webhooks.",
                &labels,
                &CALL_BUCKETS,
            )?,
            definitions: registry.histograms(
                "apiserver_crd_conversion_webhook_duration_seconds",
                "Time of converting custom resources by a webhook.",
                &["crd_name", "from_version", "to_version", "succeeded"],
                &DEFINITION_BUCKETS,
            )?,
        })
    }
}

impl Metrics {
    /// Counts a call to a conversion webhook.
    pub(crate) fn conversion_asked(&self, failure: Option<ConversionFailure>, took: Duration) {
        let labels = match failure {
            None => ["success", ""],
            Some(failure) => ["failure", failure.label()],
        };
        self.0.conversions.requests.with(&labels).inc();
        self.0.conversions.durations.with(&labels).observe(took.as_secs_f64());
    }

    /// Counts a conversion between two versions.
    pub(crate) fn converted(&self, conversion: &Conversion<'_>) {
        let Conversion { definition, from, to, succeeded, took } = *conversion;
        if from != to {
            let labels = [definition, from, to, if succeeded { "true" } else { "false" }];
            self.0.conversions.definitions.with(&labels).observe(took.as_secs_f64());
        }
    }
}
