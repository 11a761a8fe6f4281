//! Metrics of validating admission policies.

use std::time::Duration;

use pintle_metrics::{Counters, Error, Histograms, Registry};

const LABELS: [&str; 4] = ["enforcement_action", "error_type", "policy", "policy_binding"];

/// The `apiserver_validating_admission_policy_*` families.
pub(crate) struct Metrics {
    checks: Counters,
    durations: Histograms,
}

/// The action that a decision led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enforcement {
    /// The validation failed, which was ignored.
    Allow,
    Deny,
    Audit,
    Warn,
}

impl Enforcement {
    fn as_str(self) -> &'static str {
        match self {
            Enforcement::Allow => "allow",
            Enforcement::Deny => "deny",
            Enforcement::Audit => "audit",
            Enforcement::Warn => "warn",
        }
    }
}

impl Metrics {
    pub(crate) fn new(registry: &Registry) -> Result<Metrics, Error> {
        Ok(Metrics {
            checks: registry.counters(
                "apiserver_validating_admission_policy_check_total",
                "Validations that did not pass, by policy, binding and enforcement action.",
                &LABELS,
            )?,
            durations: registry.histograms(
                "apiserver_validating_admission_policy_check_duration_seconds",
                "Time of validations that did not pass, by policy, binding and enforcement action.",
                &LABELS,
                &[0.000_000_5, 0.001, 0.01, 0.1, 1.0],
            )?,
        })
    }

    pub(crate) fn observe(
        &self,
        enforcement: Enforcement,
        error_type: &str,
        policy: &str,
        binding: &str,
        elapsed: Duration,
    ) {
        let labels = [enforcement.as_str(), error_type, policy, binding];
        self.checks.with(&labels).inc();
        self.durations.with(&labels).observe(elapsed.as_secs_f64());
    }
}
