//! Metrics of admission webhooks and of match conditions, which webhooks and policies share.

use std::time::Duration;

use pintle_metrics::{Counters, Error, Histograms, Registry};

use crate::attributes::Operation;

/// Larger codes are counted as this one, to bound the number of series.
const LARGEST_CODE: u16 = 600;

/// The `apiserver_admission_webhook_*` and `apiserver_admission_match_condition_*` families of a control plane.
pub struct WebhookMetrics {
    durations: Histograms,
    requests: Counters,
    rejections: Counters,
    fail_open: Counters,
    condition_errors: Counters,
    condition_exclusions: Counters,
    condition_durations: Histograms,
}

/// The cause of a rejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RejectionCause {
    /// The webhook could not be asked, or gave no usable answer.
    CallingWebhook,
    /// This server could not use the answer, or does not ask such a webhook.
    Internal,
    /// The webhook rejected the request.
    Webhook,
}

impl RejectionCause {
    fn as_str(self) -> &'static str {
        match self {
            RejectionCause::CallingWebhook => "calling_webhook_error",
            RejectionCause::Internal => "apiserver_internal_error",
            RejectionCause::Webhook => "no_error",
        }
    }
}

/// The owner of match conditions, as labels say it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConditionLabels<'a> {
    pub(crate) name: &'a str,
    /// `webhook` or `policy`.
    pub(crate) kind: &'static str,
    /// `admit` or `validating`.
    pub(crate) admission: &'static str,
}

impl WebhookMetrics {
    pub fn new(registry: &Registry) -> Result<WebhookMetrics, Error> {
        let counters = |name: &str, help: &str, labels: &[&str]| {
            registry.counters(&format!("apiserver_admission_{name}"), help, labels)
        };
        let conditions = ["kind", "name", "operation", "type"];
        Ok(WebhookMetrics {
            durations: registry.histograms(
                "apiserver_admission_webhook_admission_duration_seconds",
                "Time of one call of an admission webhook.",
                &["name", "operation", "rejected", "type"],
                &[0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0],
            )?,
            requests: counters(
                "webhook_request_total",
                "Number of calls of admission webhooks.",
                &["code", "name", "operation", "rejected", "type"],
            )?,
            rejections: counters(
                "webhook_rejection_count",
                "Number of requests that were rejected by an admission webhook or because of it.",
                &["error_type", "name", "operation", "rejection_code", "type"],
            )?,
            fail_open: counters(
                "webhook_fail_open_count",
                "Number of failed calls of admission webhooks that were ignored.",
                &["name", "type"],
            )?,
            condition_errors: counters(
                "match_condition_evaluation_errors_total",
                "Number of match conditions whose evaluation failed.",
                &conditions,
            )?,
            condition_exclusions: counters(
                "match_condition_exclusions_total",
                "Number of requests that match conditions excluded.",
                &conditions,
            )?,
            condition_durations: registry.histograms(
                "apiserver_admission_match_condition_evaluation_seconds",
                "Time of the evaluation of match conditions that did not match.",
                &conditions,
                &[0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25],
            )?,
        })
    }

    /// Counts a call; code 0 stands for an error of this server.
    pub(crate) fn called(
        &self,
        name: &str,
        admission: &'static str,
        operation: Operation,
        outcome: (u16, bool),
        took: Duration,
    ) {
        let (code, rejected) = (outcome.0.min(LARGEST_CODE).to_string(), bool_text(outcome.1));
        let operation = operation.as_str();
        self.requests.with(&[&code, name, operation, rejected, admission]).inc();
        self.durations.with(&[name, operation, rejected, admission]).observe(took.as_secs_f64());
    }

    pub(crate) fn rejected(
        &self,
        name: &str,
        admission: &'static str,
        operation: Operation,
        cause: RejectionCause,
        code: u16,
    ) {
        let code = code.min(LARGEST_CODE).to_string();
        self.rejections.with(&[cause.as_str(), name, operation.as_str(), &code, admission]).inc();
    }

    pub(crate) fn failed_open(&self, name: &str, admission: &'static str) {
        self.fail_open.with(&[name, admission]).inc();
    }

    pub(crate) fn condition_failed(&self, labels: ConditionLabels<'_>, operation: Operation) {
        let ConditionLabels { name, kind, admission } = labels;
        self.condition_errors.with(&[kind, name, operation.as_str(), admission]).inc();
    }

    /// Counts a request that match conditions excluded. Its type is `admit` or `validate`.
    pub(crate) fn excluded(&self, labels: ConditionLabels<'_>, operation: Operation) {
        let ConditionLabels { name, kind, admission } = labels;
        let admission = if admission == "admit" { admission } else { "validate" };
        self.condition_exclusions.with(&[kind, name, operation.as_str(), admission]).inc();
    }

    pub(crate) fn conditions_evaluated(
        &self,
        labels: ConditionLabels<'_>,
        operation: Operation,
        took: Duration,
    ) {
        let ConditionLabels { name, kind, admission } = labels;
        let histogram = self.condition_durations.with(&[kind, name, operation.as_str(), admission]);
        histogram.observe(took.as_secs_f64());
    }
}

fn bool_text(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}
