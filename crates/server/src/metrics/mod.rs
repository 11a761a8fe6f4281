//! The server's figures, under the reference's names. They belong to one control plane; nothing is global.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus::core::Collector;
use prometheus::{
    Encoder, Gauge, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};

mod access;
mod admission;
mod asked;
mod consistency;
mod conversion;
mod definitions;
mod egress;
mod in_flight;
mod labels;
mod peers;
mod process;
mod resources;
mod signer;
mod stored;
mod summary;
mod tokens;

use access::Access;
pub use access::Counting;
pub(crate) use access::Filtered;
pub(crate) use asked::{Asked, dry_run, is_apply, is_connected, kind_of_page};
pub use consistency::CacheCheck;
use conversion::Conversions;
pub use conversion::{Conversion, ConversionFailure};
pub use definitions::Documented;
pub use egress::EgressFigures;
use labels::Labelled;
pub use labels::{AllowListError, MetricsOptions};
pub use peers::Configuration;
use process::ProcessCollector;
pub(crate) use resources::{Counted, EndpointMetrics, EventMetrics, Kind, LongRunning, Place};
pub use stored::StoredCount;
use tokens::TokenFigures;

const REQUEST_LABELS: [&str; 8] =
    ["component", "dry_run", "group", "resource", "scope", "subresource", "verb", "version"];
const REQUEST_BUCKETS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0,
    20.0, 30.0, 45.0, 60.0,
];
/// The same without what is too fast to matter to a promise.
const INDICATOR_BUCKETS: [f64; 21] = [
    0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
];
const INITIAL_BUCKETS: [f64; 17] =
    [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0];
const EVENT_BUCKETS: [f64; 8] = [1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0, 65536.0, 131_072.0];
const SIZE_BUCKETS: [f64; 7] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// Handles to all of them; clones are the same figures.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    /// Unix time.
    started: Gauge,
    /// What `/metrics/slis` shows: service level indicators, cheap to scrape often.
    indicators: Registry,
    requests: Labelled<IntCounterVec>,
    request_duration: Labelled<HistogramVec>,
    request_indicator: Labelled<HistogramVec>,
    response_sizes: Labelled<HistogramVec>,
    long_running: Labelled<IntGaugeVec>,
    deprecated: Labelled<IntGaugeVec>,
    initial_events: Labelled<HistogramVec>,
    watch_events: Labelled<IntCounterVec>,
    watch_event_sizes: Labelled<HistogramVec>,
    in_flight: in_flight::InFlight,
    unserved: asked::Unserved,
    tls_handshake_errors: IntCounter,
    access: Access,
    admission: admission::AdmissionMetrics,
    peers: peers::Peers,
    health: Labelled<IntGaugeVec>,
    healths: Labelled<IntCounterVec>,
    storage_size: Labelled<IntGaugeVec>,
    stored: stored::StoredFigures,
    tokens: TokenFigures,
    signer: signer::SignerFigures,
    conversions: Conversions,
    definitions: definitions::Definitions,
    cache_checks: consistency::Checks,
}

/// Makes figures that a registry shows, unless they are disabled: then they are counted all the same and never shown.
struct Maker<'a> {
    registry: &'a Registry,
    options: &'a MetricsOptions,
}

impl Maker<'_> {
    fn register(&self, name: &str, collector: Box<dyn Collector>) -> Result<(), prometheus::Error> {
        if self.options.disables(name) { Ok(()) } else { self.registry.register(collector) }
    }

    fn counter(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<Labelled<IntCounterVec>, prometheus::Error> {
        let counter = IntCounterVec::new(Opts::new(name, help), labels)?;
        self.register(name, Box::new(counter.clone()))?;
        Ok(Labelled::new(counter, name, labels, self.options))
    }

    fn gauge(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<Labelled<IntGaugeVec>, prometheus::Error> {
        let gauge = IntGaugeVec::new(Opts::new(name, help), labels)?;
        self.register(name, Box::new(gauge.clone()))?;
        Ok(Labelled::new(gauge, name, labels, self.options))
    }

    fn histogram(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
        buckets: &[f64],
    ) -> Result<Labelled<HistogramVec>, prometheus::Error> {
        let histogram = HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets.to_vec()), labels)?;
        self.register(name, Box::new(histogram.clone()))?;
        Ok(Labelled::new(histogram, name, labels, self.options))
    }
}

/// What a served route counts under. Made once per route, so that counting costs no lookup by text per request.
pub struct RouteMetrics {
    metrics: Metrics,
    labels: [String; 8],
    duration: prometheus::Histogram,
    size: prometheus::Histogram,
}

impl Metrics {
    pub fn new(options: &MetricsOptions) -> Result<Metrics, prometheus::Error> {
        let (registry, indicators) = (Registry::new(), Registry::new());
        let maker = Maker { registry: &registry, options };
        let counter = |registry: &Registry, name: &str, help: &str, labels: &[&str]| {
            Maker { registry, options }.counter(name, help, labels)
        };
        let gauge = |registry: &Registry, name: &str, help: &str, labels: &[&str]| {
            Maker { registry, options }.gauge(name, help, labels)
        };
        let histogram = |name: &str, help: &str, labels: &[&str], buckets: &[f64]| {
            maker.histogram(name, help, labels, buckets)
        };
        let mut with_code = REQUEST_LABELS.to_vec();
        with_code.insert(0, "code");
        let process = ProcessCollector::new()?;
        let inner = Inner {
            started: process.start_time(),
            requests: counter(
                &registry,
                "apiserver_request_total",
                "Requests answered, by route and HTTP code.",
                &with_code,
            )?,
            request_duration: histogram(
                "apiserver_request_duration_seconds",
                "Time from receiving a request to the start of its answer.",
                &REQUEST_LABELS,
                &REQUEST_BUCKETS,
            )?,
            response_sizes: histogram(
                "apiserver_response_sizes",
                "Bytes of answers whose size is known when they start.",
                &["component", "group", "resource", "scope", "subresource", "verb", "version"],
                &SIZE_BUCKETS,
            )?,
            request_indicator: histogram(
                "apiserver_request_sli_duration_seconds",
                "Time to answer a request, without what others took of it.",
                &["component", "group", "resource", "scope", "subresource", "verb", "version"],
                &INDICATOR_BUCKETS,
            )?,
            long_running: gauge(
                &registry,
                "apiserver_longrunning_requests",
                "Requests that go on, such as watches.",
                &["component", "group", "resource", "scope", "subresource", "verb", "version"],
            )?,
            deprecated: gauge(
                &registry,
                "apiserver_requested_deprecated_apis",
                "Always 1, of deprecated APIs that were asked for.",
                &["group", "removed_release", "resource", "subresource", "version"],
            )?,
            initial_events: histogram(
                "apiserver_watch_list_duration_seconds",
                "Time until a watch that begins with what is there has told it.",
                &["group", "resource", "scope", "version"],
                &INITIAL_BUCKETS,
            )?,
            watch_events: counter(
                &registry,
                "apiserver_watch_events_total",
                "Events sent to watchers.",
                &["group", "resource", "version"],
            )?,
            watch_event_sizes: histogram(
                "apiserver_watch_events_sizes",
                "Bytes of events sent to watchers.",
                &["group", "resource", "version"],
                &EVENT_BUCKETS,
            )?,
            in_flight: in_flight::InFlight::new(&maker)?,
            unserved: asked::Unserved::new(&maker)?,
            tls_handshake_errors: {
                let help = "Connections dropped because their TLS handshake failed.";
                let counter = IntCounter::new("apiserver_tls_handshake_errors_total", help)?;
                maker.register("apiserver_tls_handshake_errors_total", Box::new(counter.clone()))?;
                counter
            },
            access: Access::new(&maker)?,
            admission: admission::AdmissionMetrics::new(&maker)?,
            peers: peers::Peers::new(&maker)?,
            health: gauge(
                &indicators,
                "kubernetes_healthcheck",
                "Result of a health check: 1 is healthy.",
                &["name", "type"],
            )?,
            healths: counter(
                &indicators,
                "kubernetes_healthchecks_total",
                "Health checks, by result.",
                &["name", "status", "type"],
            )?,
            storage_size: gauge(
                &registry,
                "apiserver_storage_size_bytes",
                "Bytes that the store takes on its disk.",
                &["storage_cluster_id"],
            )?,
            stored: stored::StoredFigures::new(&maker)?,
            tokens: TokenFigures::new(&maker)?,
            signer: signer::SignerFigures::new(&maker)?,
            conversions: Conversions::new(&maker)?,
            definitions: definitions::Definitions::new(&maker)?,
            cache_checks: maker.counter(
                "apiserver_storage_consistency_checks_total",
                "Comparisons of caches with the store, by result.",
                &["group", "resource", "status"],
            )?,
            registry,
            indicators,
        };
        inner.indicators.register(Box::new(process.start_time()))?;
        inner.registry.register(Box::new(process))?;
        Ok(Metrics(Arc::new(inner)))
    }

    /// `kubernetes_build_info`, with the version that this server speaks.
    pub fn build_info(&self, version: &crate::handlers::Version) -> Result<(), prometheus::Error> {
        let labels = [
            ("build_date", version.build_date.as_str()),
            ("compiler", &version.compiler),
            ("git_commit", &version.git_commit),
            ("git_tree_state", &version.git_tree_state),
            ("git_version", &version.git_version),
            ("go_version", &version.go_version),
            ("major", &version.major),
            ("minor", &version.minor),
            ("platform", &version.platform),
        ];
        let opts = labels.into_iter().fold(
            Opts::new("kubernetes_build_info", "Always 1; the labels say what was built, when and how."),
            |opts, (name, value)| opts.const_label(name, value),
        );
        let gauge = IntGauge::with_opts(opts)?;
        gauge.set(1);
        self.0.registry.register(Box::new(gauge))
    }

    /// `kubernetes_feature_enabled`, one line per gate.
    pub fn features<'a>(
        &self,
        features: impl Iterator<Item = (&'a str, &'a str, bool)>,
    ) -> Result<(), prometheus::Error> {
        let opts = Opts::new("kubernetes_feature_enabled", "Feature gates and whether they are on.");
        let gauge = IntGaugeVec::new(opts, &["name", "stage"])?;
        for (name, stage, enabled) in features {
            gauge.with_label_values(&[name, stage]).set(enabled.into());
        }
        self.0.registry.register(Box::new(gauge))
    }

    /// The handles of a route that is not about a resource.
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

    pub(crate) fn checked(&self, check: &str, endpoint: &str, healthy: bool) {
        self.0.health.with(&[check, endpoint]).set(healthy.into());
        let status = if healthy { "success" } else { "error" };
        self.0.healths.with(&[check, status, endpoint]).inc();
    }

    pub fn storage_size(&self, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.0.storage_size.with(&["etcd-0"]).set(bytes);
    }

    /// When the process started, in seconds since 1970.
    pub(crate) fn started(&self) -> i64 {
        self.0.started.get() as i64
    }

    /// All figures in Prometheus' text format.
    pub fn render(&self) -> Result<Vec<u8>, prometheus::Error> {
        self.0.in_flight.settle(Instant::now());
        text_of(&self.0.registry)
    }

    /// The service level indicators alone.
    pub(crate) fn render_indicators(&self) -> Result<Vec<u8>, prometheus::Error> {
        text_of(&self.0.indicators)
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

fn text_of(registry: &Registry) -> Result<Vec<u8>, prometheus::Error> {
    let mut text = Vec::new();
    TextEncoder::new().encode(&registry.gather(), &mut text)?;
    Ok(text)
}

/// User names are without number; the metric tells only the kinds apart that the reference does.
fn compress(name: &str) -> &str {
    match name {
        "admin" | "client" | "kube_proxy" | "kubelet" | "system:serviceaccount:kube-system:default" => name,
        // Probably an address.
        _ if name.contains('@') => "email_id",
        _ => "other",
    }
}
