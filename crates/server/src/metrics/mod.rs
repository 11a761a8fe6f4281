//! The metrics of the generic server: requests, responses, watches, filters, health checks and the process.
//!
//! Every other crate registers its own families with the same [`Registry`].

use std::sync::Arc;
use std::time::Duration;

use pintle_metrics::{Counter, Counters, Error, FloatGauge, Gauges, Histogram, Histograms, Registry};

mod filters;
mod in_flight;
mod process;
mod resources;
mod unserved;

use filters::FilterMetrics;
pub(crate) use filters::MeasuredFilter;
use in_flight::InFlight;
use process::ProcessCollector;
pub(crate) use resources::{
    EndpointLabels, EndpointMetrics, EventMetrics, LongRunning, RequestKind, ResponseMetrics,
};
pub(crate) use unserved::{RequestTarget, dry_run, is_apply, is_connection, page_request_kind};

const REQUEST_LABELS: [&str; 8] =
    ["component", "dry_run", "group", "resource", "scope", "subresource", "verb", "version"];
const REQUEST_BUCKETS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0,
    20.0, 30.0, 45.0, 60.0,
];
/// [`REQUEST_BUCKETS`] without the two shortest, which no service level objective is about.
const INDICATOR_BUCKETS: [f64; 21] = [
    0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
];
const INITIAL_BUCKETS: [f64; 17] =
    [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0];
const EVENT_BUCKETS: [f64; 8] = [1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0, 65536.0, 131_072.0];
const SIZE_BUCKETS: [f64; 7] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// The metrics of this crate. Clones are the same metrics.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    auth: pintle_auth::Metrics,
    /// The start time of the process, in seconds since 1970.
    started: FloatGauge,
    /// The service level indicators of `/metrics/slis`.
    indicators: Registry,
    requests: Counters,
    request_duration: Histograms,
    request_indicator: Histograms,
    response_sizes: Histograms,
    long_running: Gauges,
    deprecated: Gauges,
    initial_events: Histograms,
    watch_events: Counters,
    watch_event_sizes: Histograms,
    in_flight: Arc<InFlight>,
    unserved: unserved::Unserved,
    tls_handshake_errors: Counter,
    filters: FilterMetrics,
    health: Gauges,
    healths: Counters,
}

/// The metrics of a served route. Made once per route, so that counting a request needs no lookup of labels.
pub struct RouteMetrics {
    metrics: Metrics,
    labels: [String; 8],
    duration: Histogram,
    size: Histogram,
}

impl Metrics {
    /// Registers the metrics of this crate. Filters count into `auth` too.
    pub fn new(registry: &Registry, auth: &pintle_auth::Metrics) -> Result<Metrics, Error> {
        let mut with_code = REQUEST_LABELS.to_vec();
        with_code.insert(0, "code");
        let without_dry_run = ["component", "group", "resource", "scope", "subresource", "verb", "version"];
        let (indicators, process) = (registry.sibling(), ProcessCollector::new()?);
        indicators.register("process_start_time_seconds", Box::new(process.start_time()))?;
        let inner = Inner {
            started: process.start_time(),
            requests: registry.counters(
                "apiserver_request_total",
                "Requests answered, by route and HTTP code.",
                &with_code,
            )?,
            request_duration: registry.histograms(
                "apiserver_request_duration_seconds",
                "Time from receiving a request to the start of its answer.",
                &REQUEST_LABELS,
                &REQUEST_BUCKETS,
            )?,
            response_sizes: registry.histograms(
                "apiserver_response_sizes",
                "Bytes of answers whose size is known when they start.",
                &without_dry_run,
                &SIZE_BUCKETS,
            )?,
            request_indicator: registry.histograms(
                "apiserver_request_sli_duration_seconds",
                "Time to answer a request, without what others took of it.",
                &without_dry_run,
                &INDICATOR_BUCKETS,
            )?,
            long_running: registry.gauges(
                "apiserver_longrunning_requests",
                "Requests that go on, such as watches.",
                &without_dry_run,
            )?,
            deprecated: registry.gauges(
                "apiserver_requested_deprecated_apis",
                "Always 1, of deprecated APIs that were asked for.",
                &["group", "removed_release", "resource", "subresource", "version"],
            )?,
            initial_events: registry.histograms(
                "apiserver_watch_list_duration_seconds",
                "Time until a watch has sent its initial events.",
                &["group", "resource", "scope", "version"],
                &INITIAL_BUCKETS,
            )?,
            watch_events: registry.counters(
                "apiserver_watch_events_total",
                "Events sent to watchers.",
                &["group", "resource", "version"],
            )?,
            watch_event_sizes: registry.histograms(
                "apiserver_watch_events_sizes",
                "Bytes of events sent to watchers.",
                &["group", "resource", "version"],
                &EVENT_BUCKETS,
            )?,
            in_flight: InFlight::new(registry)?,
            unserved: unserved::Unserved::new(registry)?,
            tls_handshake_errors: registry.counter(
                "apiserver_tls_handshake_errors_total",
                "Connections dropped because their TLS handshake failed.",
            )?,
            filters: FilterMetrics::new(registry)?,
            health: indicators.gauges(
                "kubernetes_healthcheck",
                "Result of a health check: 1 is healthy.",
                &["name", "type"],
            )?,
            healths: indicators.counters(
                "kubernetes_healthchecks_total",
                "Health checks, by result.",
                &["name", "status", "type"],
            )?,
            auth: auth.clone(),
            registry: registry.clone(),
            indicators,
        };
        registry.register("process", Box::new(process))?;
        Ok(Metrics(Arc::new(inner)))
    }

    /// Exposes `kubernetes_build_info`, with the version of this server.
    pub fn build_info(&self, version: &crate::handlers::Version) -> Result<(), Error> {
        let labels = [
            ("build_date", &version.build_date),
            ("compiler", &version.compiler),
            ("git_commit", &version.git_commit),
            ("git_tree_state", &version.git_tree_state),
            ("git_version", &version.git_version),
            ("go_version", &version.go_version),
            ("major", &version.major),
            ("minor", &version.minor),
            ("platform", &version.platform),
        ];
        let help = "Always 1; the labels say what was built, when and how.";
        let gauge = self.0.registry.gauges("kubernetes_build_info", help, &labels.map(|(name, _)| name))?;
        gauge.with(&labels.map(|(_, value)| value.as_str())).set(1);
        Ok(())
    }

    /// Exposes `kubernetes_feature_enabled`: the name, stage and state of each feature gate.
    pub fn features<'a>(
        &self,
        features: impl Iterator<Item = (&'a str, &'a str, bool)>,
    ) -> Result<(), Error> {
        let help = "Feature gates and whether they are on.";
        let gauges = self.0.registry.gauges("kubernetes_feature_enabled", help, &["name", "stage"])?;
        for (name, stage, enabled) in features {
            gauges.with(&[name, stage]).set(enabled.into());
        }
        Ok(())
    }

    /// Returns the metrics of authentication and authorization.
    pub(crate) fn auth(&self) -> &pintle_auth::Metrics {
        &self.0.auth
    }

    /// Returns the registry that all metrics of the control plane are in.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// Returns the metrics of a route that is not a resource.
    pub fn route(&self, verb: &str, path: &str) -> RouteMetrics {
        let labels = ["", "", "", "", "", path, verb, ""].map(str::to_owned);
        let values: Vec<&str> = labels.iter().map(String::as_str).collect();
        let without_dry_run: Vec<&str> = values[..1].iter().chain(&values[2..]).copied().collect();
        RouteMetrics {
            duration: self.0.request_duration.with(&values),
            size: self.0.response_sizes.with(&without_dry_run),
            metrics: self.clone(),
            labels,
        }
    }

    pub(crate) fn tls_handshake_failed(&self) {
        self.0.tls_handshake_errors.inc();
    }

    /// Counts a health check of an endpoint such as `readyz`.
    pub(crate) fn health_checked(&self, check: &str, endpoint: &str, healthy: bool) {
        self.0.health.with(&[check, endpoint]).set(healthy.into());
        let status = if healthy { "success" } else { "error" };
        self.0.healths.with(&[check, status, endpoint]).inc();
    }

    /// Returns the start time of the process, in seconds since 1970.
    pub(crate) fn started(&self) -> i64 {
        self.0.started.get() as i64
    }

    /// Returns the registry of service level indicators, which are scraped more often than the rest.
    pub(crate) fn indicators(&self) -> &Registry {
        &self.0.indicators
    }
}

impl RouteMetrics {
    pub(crate) fn answered(&self, code: u16, size: Option<u64>, took: Duration) {
        self.duration.observe(took.as_secs_f64());
        if let Some(size) = size {
            self.size.observe(size as f64);
        }
        let code = code.to_string();
        let mut labels = vec![code.as_str()];
        labels.extend(self.labels.iter().map(String::as_str));
        self.metrics.0.requests.with(&labels).inc();
    }
}

#[cfg(test)]
impl Metrics {
    /// Returns the metrics of a registry of their own.
    pub(crate) fn for_tests() -> Metrics {
        let registry = Registry::default();
        let auth = pintle_auth::Metrics::new(&registry, &pintle_runtime::Clock::system()).unwrap();
        Metrics::new(&registry, &auth).unwrap()
    }
}
