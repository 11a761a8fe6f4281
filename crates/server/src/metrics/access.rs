//! Figures of authentication, authorization and impersonation. They are counted for every request, so that handles are
//! kept once they were used: looking one up by its labels costs more than counting.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use pintle_auth::authorizer::Rules;
use pintle_auth::{Attributes, Authorizer, Decision, Identity, User, Verdict};
use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec};

use super::labels::Labelled;
use super::{Maker, Metrics, compress};

const FILTER_BUCKETS: [f64; 13] =
    [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 5.0, 10.0, 15.0, 30.0];

const CERTIFICATES: &str = "apiserver_client_certificate_expiration_seconds";
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

pub(super) struct Access {
    authentications: Attempts,
    users: Labelled<IntCounterVec>,
    authorizations: Attempts,
    decisions: Labelled<IntCounterVec>,
    impersonations: (Labelled<IntCounterVec>, Labelled<HistogramVec>),
    impersonation_checks: (Labelled<IntCounterVec>, Labelled<HistogramVec>),
    certificates: Histogram,
    graph: Labelled<HistogramVec>,
    filters: Labelled<HistogramVec>,
    filter: [OnceLock<Histogram>; 5],
}

/// The filters whose share of a request's time is measured.
#[derive(Clone, Copy)]
pub(crate) enum Filtered {
    Authentication,
    Impersonation,
    ConstrainedImpersonation,
    /// Until there is priority and fairness, limits stand in its place.
    Limits,
    Authorization,
}

impl Filtered {
    fn name(self) -> &'static str {
        match self {
            Filtered::Authentication => "authentication",
            Filtered::Impersonation => "impersonation",
            Filtered::ConstrainedImpersonation => "constrainedimpersonation",
            Filtered::Limits => "priorityandfairness",
            Filtered::Authorization => "authorization",
        }
    }
}

/// How often something was tried, by its outcome, and how long it took.
struct Attempts {
    total: Labelled<IntCounterVec>,
    duration: Labelled<HistogramVec>,
    outcomes: &'static [&'static str],
    kept: [OnceLock<(IntCounter, Histogram)>; 4],
}

impl Attempts {
    fn count(&self, outcome: usize, took: Duration) {
        let (total, duration) = self.kept[outcome].get_or_init(|| {
            let labels = [self.outcomes[outcome]];
            (self.total.with(&labels), self.duration.with(&labels))
        });
        total.inc();
        duration.observe(took.as_secs_f64());
    }
}

impl Access {
    pub(super) fn new(maker: &Maker<'_>) -> Result<Access, prometheus::Error> {
        let latency: Vec<f64> = (0..15).map(|power| 0.001 * f64::from(1 << power)).collect();
        let attempts = |total: &str, duration: &str, what: &str, outcomes| {
            Ok::<_, prometheus::Error>(Attempts {
                total: maker.counter(total, &format!("{what}, by result."), &["result"])?,
                duration: maker.histogram(duration, &format!("Time of {what}."), &["result"], &latency)?,
                outcomes,
                kept: Default::default(),
            })
        };
        let impersonation = |name: &str, what: &str| {
            let name = format!("apiserver_impersonation_{name}");
            let labels = ["decision", "mode"];
            let total = maker.counter(&format!("{name}_total"), &format!("{what}, by decision."), &labels)?;
            let duration = format!("{name}_duration_seconds");
            let duration = maker.histogram(&duration, &format!("Time of {what}."), &labels, &latency)?;
            Ok::<_, prometheus::Error>((total, duration))
        };
        let certificates = Histogram::with_opts(
            HistogramOpts::new(
                CERTIFICATES,
                "How long the certificates that clients authenticate with are still valid.",
            )
            .buckets(CERTIFICATE_BUCKETS.to_vec()),
        )?;
        maker.register(CERTIFICATES, Box::new(certificates.clone()))?;
        let actions: Vec<f64> = (0..12).map(|power| 0.0001 * f64::from(1 << power)).collect();
        Ok(Access {
            authentications: attempts(
                "authentication_attempts",
                "authentication_duration_seconds",
                "authentications",
                &["success", "failure", "error"],
            )?,
            users: maker.counter(
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
            decisions: maker.counter(
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
            graph: maker.histogram(
                "node_authorizer_graph_actions_duration_seconds",
                "Time of taking a change into the graph of what nodes use.",
                &["operation"],
                &actions,
            )?,
            filters: maker.histogram(
                "apiserver_request_filter_duration_seconds",
                "Time that a request spends in each filter.",
                &["filter"],
                &FILTER_BUCKETS,
            )?,
            filter: Default::default(),
        })
    }
}

impl Metrics {
    fn access(&self) -> &Access {
        &self.0.access
    }

    pub(crate) fn authenticated<E>(&self, result: &Result<Option<Identity>, E>, took: Duration) {
        let outcome = match result {
            Ok(Some(identity)) => {
                self.access().users.with(&[compress(&identity.user.name)]).inc();
                0
            }
            Ok(None) => 1,
            Err(_) => 2,
        };
        self.access().authentications.count(outcome, took);
        self.filtered(Filtered::Authentication, took);
    }

    pub(crate) fn authorized(&self, verdict: &Verdict, took: Duration) {
        let outcome = match verdict.decision {
            // Somebody may have failed before somebody else allowed it.
            Decision::Allow => 0,
            _ if verdict.error.is_some() => 3,
            Decision::Deny => 1,
            Decision::NoOpinion => 2,
        };
        self.access().authorizations.count(outcome, took);
    }

    /// A request came with a certificate that has so many seconds left.
    pub fn certificate_seen(&self, remaining: f64) {
        self.access().certificates.observe(remaining);
    }

    /// The node authorizer took a change into account.
    pub fn graph_changed(&self, operation: &str, took: Duration) {
        self.access().graph.with(&[operation]).observe(took.as_secs_f64());
    }

    /// How long a filter had a request to itself that it then passed on.
    pub(crate) fn filtered(&self, filter: Filtered, took: Duration) {
        let access = self.access();
        let kept = access.filter[filter as usize].get_or_init(|| access.filters.with(&[filter.name()]));
        kept.observe(took.as_secs_f64());
    }

    /// Somebody wanted to act as somebody else.
    pub(crate) fn impersonated(&self, mode: &str, allowed: bool, took: Duration) {
        count_impersonation(&self.access().impersonations, mode, allowed, took);
    }

    /// One of the questions that this takes.
    pub(crate) fn impersonation_asked(&self, mode: &str, allowed: bool, took: Duration) {
        count_impersonation(&self.access().impersonation_checks, mode, allowed, took);
    }
}

fn count_impersonation(
    (total, duration): &(Labelled<IntCounterVec>, Labelled<HistogramVec>),
    mode: &str,
    allowed: bool,
    took: Duration,
) {
    let labels = [if allowed { "allowed" } else { "denied" }, mode];
    total.with(&labels).inc();
    duration.with(&labels).observe(took.as_secs_f64());
}

/// An authorizer whose decisions are counted, by its type and name.
pub struct Counting {
    inner: Arc<dyn Authorizer>,
    metrics: Metrics,
    kind: String,
    name: String,
    kept: [OnceLock<IntCounter>; 2],
}

impl Counting {
    pub fn new(metrics: &Metrics, kind: &str, name: &str, inner: Arc<dyn Authorizer>) -> Counting {
        let (kind, name) = (kind.to_owned(), name.to_owned());
        Counting { inner, metrics: metrics.clone(), kind, name, kept: Default::default() }
    }
}

#[async_trait]
impl Authorizer for Counting {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Verdict {
        let verdict = self.inner.authorize(attributes).await;
        let (place, decision) = match verdict.decision {
            Decision::Allow => (0, "allowed"),
            Decision::Deny => (1, "denied"),
            // Somebody else decides.
            Decision::NoOpinion => return verdict,
        };
        let counter = self.kept[place]
            .get_or_init(|| self.metrics.access().decisions.with(&[decision, &self.name, &self.kind]));
        counter.inc();
        verdict
    }

    async fn add_rules(&self, user: &User, namespace: &str, rules: &mut Rules) {
        self.inner.add_rules(user, namespace, rules).await;
    }
}
