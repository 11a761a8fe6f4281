//! Metrics of mutating admission policies.

use std::time::Duration;

use pintle_metrics::{Counters, Error, Histograms, Registry};

const LABELS: [&str; 3] = ["error_type", "policy", "policy_binding"];

/// The `apiserver_mutating_admission_policy_*` families.
pub(crate) struct Metrics {
    checks: Counters,
    durations: Histograms,
}

/// The outcome of a mutation, as metrics have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorType {
    NoError,
    Compile,
    OutOfBudget,
    Invalid,
}

impl ErrorType {
    /// Returns the type of an error by its message.
    pub(crate) fn of(message: &str) -> ErrorType {
        if message.starts_with("compilation") {
            ErrorType::Compile
        } else if message.starts_with("validation failed due to running out of cost budget") {
            ErrorType::OutOfBudget
        } else {
            ErrorType::Invalid
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            ErrorType::NoError => "no_error",
            ErrorType::Compile => "compile_error",
            ErrorType::OutOfBudget => "out_of_budget",
            ErrorType::Invalid => "invalid_error",
        }
    }
}

impl Metrics {
    pub(crate) fn new(registry: &Registry) -> Result<Metrics, Error> {
        Ok(Metrics {
            checks: registry.counters(
                "apiserver_mutating_admission_policy_check_total",
                "Mutations that were evaluated, by policy and binding.",
                &LABELS,
            )?,
            durations: registry.histograms(
                "apiserver_mutating_admission_policy_check_duration_seconds",
                "Time of mutations, by policy and binding.",
                &LABELS,
                &[0.000_000_5, 0.001, 0.01, 0.1, 1.0],
            )?,
        })
    }

    pub(crate) fn observe(&self, error_type: ErrorType, policy: &str, binding: &str, elapsed: Duration) {
        let labels = [error_type.as_str(), policy, binding];
        self.checks.with(&labels).inc();
        self.durations.with(&labels).observe(elapsed.as_secs_f64());
    }
}
