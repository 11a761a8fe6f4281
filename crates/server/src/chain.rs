//! The way every request takes: all filters, in order, in one place.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use pintle_audit::Auditor;
use pintle_auth::authenticator::FrontProxyHeaders;
use pintle_auth::{Authenticator, Authorizer};
use pintle_codec::negotiate::Encoding;
use pintle_regex::Regex;
use pintle_runtime::{Clock, Random};

use crate::filter::{Chain, Filter, Handler};
use crate::filters::{
    Audit, AuditId, Authentication, Authorization, CacheControl, Compression, Cors, Deadline,
    FlowControlConfig, Goaway, Hsts, Impersonation, InFlight, Limits, Logging, Measurement, PanicRecovery,
    ParseRequestInfo, PriorityAndFairness, RetryAfter, StatusEncoding, StorageVersions, UnpublishedVersions,
    Unsecured, WarningHeaders,
};
use crate::lifecycle::{Draining, Lifecycle};
use crate::metrics::Metrics;
use crate::overload::OffloadingHandler;

/// The settings of the filters.
pub struct ChainConfig {
    pub authenticator: Arc<dyn Authenticator>,
    pub close_unauthenticated: bool,
    /// The headers in which a front proxy names the user, where they are not the usual ones.
    pub front_proxy: Option<FrontProxyHeaders>,
    /// The `WWW-Authenticate` header of a 401.
    pub challenge: Option<HeaderValue>,
    pub authorizer: Arc<dyn Authorizer>,
    /// Whether impersonation may be allowed per verb (`ConstrainedImpersonation`).
    pub constrained_impersonation: bool,
    /// Limit on the requests that are executed at once without flow control; zero for none.
    pub max_read_only: usize,
    pub max_mutating: usize,
    /// Priority and fairness, where it is on.
    pub flow_control: Option<FlowControlConfig>,
    pub request_timeout: Duration,
    pub cors_allowed_origins: Vec<Regex>,
    pub strict_transport_security: Option<HeaderValue>,
    pub goaway_chance: f64,
    pub send_retry_after: bool,
    /// The encodings that clients may ask for.
    pub encodings: &'static [Encoding],
    /// Whether long answers are compressed for clients that accept it.
    pub compression: bool,
    /// The storage versions that are not published yet, whose resources cannot be written (`StorageVersionAPI`).
    pub unpublished: Option<UnpublishedVersions>,
    /// Records requests; `None` without auditing.
    pub auditor: Option<Arc<Auditor>>,
    pub clock: Clock,
    pub random: Random,
}

impl ChainConfig {
    /// Returns the defaults of the reference.
    pub fn new(authenticator: Arc<dyn Authenticator>, authorizer: Arc<dyn Authorizer>) -> ChainConfig {
        ChainConfig {
            authenticator,
            close_unauthenticated: true,
            front_proxy: None,
            challenge: None,
            authorizer,
            constrained_impersonation: true,
            max_read_only: 400,
            max_mutating: 200,
            flow_control: None,
            request_timeout: Duration::from_secs(60),
            cors_allowed_origins: Vec::new(),
            strict_transport_security: None,
            goaway_chance: 0.0,
            send_retry_after: false,
            encodings: pintle_codec::negotiate::ENCODINGS,
            compression: true,
            unpublished: None,
            auditor: None,
            clock: Clock::system(),
            random: Random::system(),
        }
    }
}

/// Puts the filters before `handler`. The first in the list sees a request first and its response last.
pub fn build(
    config: ChainConfig,
    handler: Arc<dyn Handler>,
    lifecycle: &Lifecycle,
    requests: &Draining,
    answers: &Draining,
    metrics: &Metrics,
) -> Chain {
    let limits = limits(&config, metrics);
    let mut filters: Vec<Box<dyn Filter>> = vec![
        // Outermost, so that every answer carries the name of its request, also the one for a panic.
        Box::new(AuditId(config.random.clone())),
        // Around all that changes what is sent.
        Box::new(Measurement),
        // Around all that answers with a `Status`.
        Box::new(StatusEncoding { encodings: config.encodings }),
        // Around everything that could go wrong.
        Box::new(PanicRecovery),
        // Before all that asks whether a request is long-running or what it is about.
        Box::new(ParseRequestInfo),
        Box::new(Logging),
    ];
    if config.send_retry_after {
        filters.push(Box::new(RetryAfter { not_accepting: lifecycle.not_accepting.clone() }));
    }
    if let Some(directives) = config.strict_transport_security {
        filters.push(Box::new(Hsts(directives)));
    }
    filters.push(Box::new(CacheControl));
    if config.goaway_chance > 0.0 {
        filters.push(Box::new(Goaway { chance: config.goaway_chance, random: config.random.clone() }));
    }
    // Before the deadline: a request that times out is still counted until it is answered.
    filters.push(Box::new(InFlight { requests: requests.clone(), answers: answers.clone() }));
    filters.push(Box::new(Deadline {
        timeout: config.request_timeout,
        auditor: config.auditor.clone(),
        metrics: metrics.clone(),
    }));
    // Within the deadline, around all that has something to tell.
    filters.push(Box::new(WarningHeaders));
    // Before authentication: a browser's preflight request carries no credentials.
    if !config.cors_allowed_origins.is_empty() {
        filters.push(Box::new(Cors { allowed_origins: config.cors_allowed_origins }));
    }
    filters.push(Box::new(Authentication {
        authenticator: config.authenticator,
        close_unauthenticated: config.close_unauthenticated,
        front_proxy: config.front_proxy.into_iter().chain([FrontProxyHeaders::standard()]).collect(),
        challenge: config.challenge,
        auditor: config.auditor.clone(),
        metrics: metrics.clone(),
        clock: config.clock,
    }));
    // After authentication and before impersonation, since it records both the user and the impersonated one.
    if let Some(auditor) = config.auditor {
        filters.push(Box::new(Audit { auditor, encodings: config.encodings }));
    }
    // After authentication and before authorization: the user that a request names must not be taken for the one that sent it.
    let impersonation =
        Impersonation::new(config.authorizer.clone(), config.constrained_impersonation, metrics.clone());
    filters.push(Box::new(impersonation));
    // By the effective user, before the cost of authorization.
    filters.push(limits);
    let mut inner: Vec<Box<dyn Filter>> = vec![
        // Nothing behind it asks again.
        Box::new(Authorization { authorizer: config.authorizer, metrics: metrics.clone() }),
    ];
    // Behind authorization: a request that is refused does not wait either.
    if let Some(unpublished) = config.unpublished {
        inner.push(Box::new(StorageVersions { unpublished }));
    }
    // Last: only handlers' answers are long.
    inner.push(Box::new(Compression { api: config.compression }));
    Chain::new(filters, offloading(inner, handler, metrics))
}

/// Returns the filter that bounds the requests that are executed at once.
fn limits(config: &ChainConfig, metrics: &Metrics) -> Box<dyn Filter> {
    match &config.flow_control {
        Some(flow_control) => {
            Box::new(PriorityAndFairness::new(flow_control.clone(), config.request_timeout, metrics.clone()))
        }
        None => Box::new(Limits::new(config.max_read_only, config.max_mutating, metrics.clone())),
    }
}

/// Everything that may take long, from authorization on: what needs more than a moment is moved to other threads. The filters
/// before it stay, so that they answer in time whatever happens behind them.
fn offloading(
    filters: Vec<Box<dyn Filter>>,
    handler: Arc<dyn Handler>,
    metrics: &Metrics,
) -> Arc<dyn Handler> {
    let handler = Arc::new(Chain::new(filters, handler));
    Arc::new(OffloadingHandler { handler, pool: Arc::default(), metrics: metrics.clone() })
}

/// Builds the shorter chain of the port without TLS, whose callers may do everything.
pub(crate) fn build_unsecured(
    config: &ChainConfig,
    handler: Arc<dyn Handler>,
    requests: &Draining,
    answers: &Draining,
    metrics: &Metrics,
) -> Chain {
    let mut filters: Vec<Box<dyn Filter>> = vec![
        Box::new(AuditId(config.random.clone())),
        Box::new(Measurement),
        Box::new(StatusEncoding { encodings: config.encodings }),
        Box::new(PanicRecovery),
        Box::new(ParseRequestInfo),
        Box::new(Logging),
        Box::new(CacheControl),
        Box::new(InFlight { requests: requests.clone(), answers: answers.clone() }),
        Box::new(Deadline {
            timeout: config.request_timeout,
            auditor: config.auditor.clone(),
            metrics: metrics.clone(),
        }),
        Box::new(WarningHeaders),
    ];
    // There is no CORS here: no page of any origin may act as the administrator.
    filters.push(Box::<Unsecured>::default());
    if let Some(auditor) = config.auditor.clone() {
        filters.push(Box::new(Audit { auditor, encodings: config.encodings }));
    }
    filters.push(limits(config, metrics));
    let mut inner: Vec<Box<dyn Filter>> = Vec::new();
    if let Some(unpublished) = config.unpublished.clone() {
        inner.push(Box::new(StorageVersions { unpublished }));
    }
    inner.push(Box::new(Compression { api: config.compression }));
    Chain::new(filters, offloading(inner, handler, metrics))
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
