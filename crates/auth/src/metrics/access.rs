//! Attempts of authentication, authorization and impersonation. They are counted for every request, so each metric is kept
//! once it was used: looking one up by its labels costs more than counting.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use pintle_metrics::{Counter, Counters, Error, Histogram, Histograms, Registry, exponential_buckets};

use super::Metrics;
use crate::authorizer::Rules;
use crate::{Attributes, Authorizer, Decision, Identity, User, Verdict};

const CERTIFICATE_BUCKETS: [f64; 14] = [
    0.0,
    1_800.0,
    3_600.0,
    7_200.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    345_600.0,
    604_800.0,
    2_592_000.0,
    7_776_000.0,
    15_552_000.0,
    31_104_000.0,
];

pub(super) struct AccessMetrics {
    authentications: Attempts,
    users: Counters,
    authorizations: Attempts,
    decisions: Counters,
    impersonations: (Counters, Histograms),
    impersonation_checks: (Counters, Histograms),
    certificates: Histogram,
    graph: Histograms,
}

/// The number and duration of attempts, by their outcome.
struct Attempts {
    total: Counters,
    duration: Histograms,
    outcomes: &'static [&'static str],
    by_outcome: [OnceLock<(Counter, Histogram)>; 4],
}

impl Attempts {
    fn count(&self, outcome: usize, took: Duration) {
        let (total, duration) = self.by_outcome[outcome].get_or_init(|| {
            let labels = [self.outcomes[outcome]];
            (self.total.with(&labels), self.duration.with(&labels))
        });
        total.inc();
        duration.observe(took.as_secs_f64());
    }
}

impl AccessMetrics {
    pub(super) fn new(registry: &Registry) -> Result<AccessMetrics, Error> {
        let latency = exponential_buckets(0.001, 2.0, 15);
        let attempts = |total: &str, duration: &str, what: &str, outcomes| {
            Ok::<_, Error>(Attempts {
                total: registry.counters(total, &format!("{what}, by result."), &["result"])?,
                duration: registry.histograms(
                    duration,
                    &format!("Time of {what}."),
                    &["result"],
                    &latency,
                )?,
                outcomes,
                by_outcome: Default::default(),
            })
        };
        let impersonation = |name: &str, what: &str| {
            let name = format!("apiserver_impersonation_{name}");
            let labels = ["decision", "mode"];
            let total =
                registry.counters(&format!("{name}_total"), &format!("{what}, by decision."), &labels)?;
            let duration = format!("{name}_duration_seconds");
            let duration = registry.histograms(&duration, &format!("Time of {what}."), &labels, &latency)?;
            Ok::<_, Error>((total, duration))
        };
        let certificates = registry.histogram(
            "apiserver_client_certificate_expiration_seconds",
            "How long the certificates that clients authenticate with are still valid.",
            &CERTIFICATE_BUCKETS,
        )?;
        let actions = exponential_buckets(0.0001, 2.0, 12);
        Ok(AccessMetrics {
            authentications: attempts(
                "authentication_attempts",
                "authentication_duration_seconds",
                "authentications",
                &["success", "failure", "error"],
            )?,
            users: registry.counters(
                "authenticated_user_requests",
                "Requests by kind of user.",
                &["username"],
            )?,
            authorizations: attempts(
                "authorization_attempts_total",
                "authorization_duration_seconds",
                "authorizations",
                &["allowed", "denied", "no-opinion", "error"],
            )?,
            decisions: registry.counters(
                "apiserver_authorization_decisions_total",
                "Decisions of each authorizer that ended the search.",
                &["decision", "name", "type"],
            )?,
            impersonations: impersonation("attempts", "acting as somebody else")?,
            impersonation_checks: impersonation(
                "authorization_attempts",
                "questions whether somebody may act as somebody else",
            )?,
            certificates,
            graph: registry.histograms(
                "node_authorizer_graph_actions_duration_seconds",
                "Time of taking a change into the graph of what nodes use.",
                &["operation"],
                &actions,
            )?,
        })
    }
}

impl Metrics {
    fn access(&self) -> &AccessMetrics {
        &self.0.access
    }

    /// Counts a request whose client was authenticated, not recognised, or rejected.
    pub fn authenticated<E>(&self, result: &Result<Option<Identity>, E>, took: Duration) {
        let outcome = match result {
            Ok(Some(identity)) => {
                self.access().users.with(&[compress(&identity.user.name)]).inc();
                0
            }
            Ok(None) => 1,
            Err(_) => 2,
        };
        self.access().authentications.count(outcome, took);
    }

    /// Counts a decision of all authorizers together.
    pub fn authorized(&self, verdict: &Verdict, took: Duration) {
        let outcome = match verdict.decision {
            // One authorizer may have failed before another one allowed it.
            Decision::Allow => 0,
            _ if verdict.error.is_some() => 3,
            Decision::Deny => 1,
            Decision::NoOpinion => 2,
        };
        self.access().authorizations.count(outcome, took);
    }

    /// Notes for how many more seconds a client's certificate is valid.
    pub fn certificate_seen(&self, remaining: f64) {
        self.access().certificates.observe(remaining);
    }

    /// Counts a change of the node authorizer's graph.
    pub fn graph_changed(&self, operation: &str, took: Duration) {
        self.access().graph.with(&[operation]).observe(took.as_secs_f64());
    }

    /// Counts a request to impersonate.
    pub fn impersonated(&self, mode: &str, allowed: bool, took: Duration) {
        count_impersonation(&self.access().impersonations, mode, allowed, took);
    }

    /// Counts one of the authorization checks of a request to impersonate.
    pub fn impersonation_asked(&self, mode: &str, allowed: bool, took: Duration) {
        count_impersonation(&self.access().impersonation_checks, mode, allowed, took);
    }
}

fn count_impersonation(
    (total, duration): &(Counters, Histograms),
    mode: &str,
    allowed: bool,
    took: Duration,
) {
    let labels = [if allowed { "allowed" } else { "denied" }, mode];
    total.with(&labels).inc();
    duration.with(&labels).observe(took.as_secs_f64());
}

/// An authorizer whose decisions are counted, by its type and name.
pub struct MeasuredAuthorizer {
    inner: Arc<dyn Authorizer>,
    metrics: Metrics,
    authorizer_type: String,
    name: String,
    counters: [OnceLock<Counter>; 2],
}

impl MeasuredAuthorizer {
    pub fn new(
        metrics: &Metrics,
        authorizer_type: &str,
        name: &str,
        inner: Arc<dyn Authorizer>,
    ) -> MeasuredAuthorizer {
        let (authorizer_type, name) = (authorizer_type.to_owned(), name.to_owned());
        MeasuredAuthorizer {
            inner,
            metrics: metrics.clone(),
            authorizer_type,
            name,
            counters: Default::default(),
        }
    }
}

#[async_trait]
impl Authorizer for MeasuredAuthorizer {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Verdict {
        let verdict = self.inner.authorize(attributes).await;
        let (index, decision) = match verdict.decision {
            Decision::Allow => (0, "allowed"),
            Decision::Deny => (1, "denied"),
            // Another authorizer decides.
            Decision::NoOpinion => return verdict,
        };
        let counter = self.counters[index].get_or_init(|| {
            self.metrics.access().decisions.with(&[decision, &self.name, &self.authorizer_type])
        });
        counter.inc();
        verdict
    }

    async fn add_rules(&self, user: &User, namespace: &str, rules: &mut Rules) {
        self.inner.add_rules(user, namespace, rules).await;
    }
}

/// Returns the label for a user: names are without number, so only those are told apart that the reference does.
fn compress(name: &str) -> &str {
    match name {
        "admin" | "client" | "kube_proxy" | "kubelet" | "system:serviceaccount:kube-system:default" => name,
        _ if name.contains('@') => "email_id",
        _ => "other",
    }
}
