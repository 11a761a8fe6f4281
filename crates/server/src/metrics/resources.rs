//! Metrics of requests for resources. The metrics of a kind of request are found once and then kept with its endpoint, so
//! that counting looks nothing up by text.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use pintle_metrics::{Counter, Gauge, Histogram};

use super::Metrics;

/// The reference's name for itself in its metrics.
pub(super) const COMPONENT: &str = "apiserver";

/// The labels of a request besides those of its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestKind {
    /// `GET`, `LIST`, `WATCH`, `POST` ...
    pub(crate) verb: &'static str,
    /// `resource`, `namespace` or `cluster`.
    pub(crate) scope: &'static str,
    /// Empty, `All` or `invalid`.
    pub(crate) dry_run: &'static str,
    /// Whether the size of answers is observed.
    pub(crate) sized: bool,
}

/// The labels of an endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndpointLabels<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
}

/// The metrics of an endpoint, by kind of request, of which there are few.
#[derive(Default)]
pub(crate) struct EndpointMetrics(RwLock<Vec<(RequestKind, Arc<RequestKindMetrics>)>>);

impl EndpointMetrics {
    /// Returns the metrics of a kind of request. `deprecated`: the release that removes a deprecated endpoint, empty if that
    /// is open.
    pub(crate) fn for_kind(
        &self,
        metrics: &Metrics,
        endpoint: EndpointLabels<'_>,
        kind: RequestKind,
        deprecated: Option<&str>,
    ) -> Arc<RequestKindMetrics> {
        let find = |known: &[(RequestKind, Arc<RequestKindMetrics>)]| {
            known.iter().find(|(other, _)| *other == kind).map(|(_, metrics)| metrics.clone())
        };
        let known = find(&self.0.read().unwrap_or_else(PoisonError::into_inner));
        known.unwrap_or_else(|| {
            let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
            find(&all).unwrap_or_else(|| {
                let made = Arc::new(RequestKindMetrics::new(metrics, endpoint, kind, deprecated));
                all.push((kind, made.clone()));
                made
            })
        })
    }
}

/// The metrics of one kind of request for an endpoint.
pub(crate) struct RequestKindMetrics {
    metrics: Metrics,
    /// Labels of the request counter, without the code.
    labels: [String; 8],
    duration: Histogram,
    indicator: Option<Histogram>,
    size: Option<Histogram>,
    /// The release that removes the endpoint, and the gauge that says so, set by the first request.
    deprecated: Option<(String, OnceLock<Gauge>)>,
    codes: RwLock<Vec<(u16, Counter)>>,
}

impl RequestKindMetrics {
    fn new(
        metrics: &Metrics,
        endpoint: EndpointLabels<'_>,
        kind: RequestKind,
        deprecated: Option<&str>,
    ) -> RequestKindMetrics {
        let EndpointLabels { group, version, resource, subresource } = endpoint;
        let RequestKind { verb, scope, dry_run, sized } = kind;
        let labels = [COMPONENT, dry_run, group, resource, scope, subresource, verb, version];
        let without = [COMPONENT, group, resource, scope, subresource, verb, version];
        RequestKindMetrics {
            duration: metrics.0.request_duration.with(&labels),
            indicator: dry_run.is_empty().then(|| metrics.0.request_indicator.with(&without)),
            size: sized.then(|| metrics.0.response_sizes.with(&without)),
            deprecated: deprecated.map(|removal| (removal.to_owned(), OnceLock::new())),
            codes: RwLock::default(),
            metrics: metrics.clone(),
            labels: labels.map(str::to_owned),
        }
    }

    /// Counts a request whose answer was sent, or broken off.
    pub(crate) fn answered(&self, code: u16, sent: u64, took: Duration) {
        self.requests(code).inc();
        if let Some((removal, gauge)) = &self.deprecated {
            gauge.get_or_init(|| self.requested_deprecated(removal)).set(1);
        }
        self.duration.observe(took.as_secs_f64());
        if let Some(indicator) = &self.indicator {
            indicator.observe(took.as_secs_f64());
        }
        if let Some(size) = &self.size {
            size.observe(sent as f64);
        }
    }

    fn requested_deprecated(&self, removal: &str) -> Gauge {
        let [_, _, group, resource, _, subresource, _, version] = &self.labels;
        self.metrics.0.deprecated.with(&[group, removal, resource, subresource, version])
    }

    fn requests(&self, code: u16) -> Counter {
        let find = |known: &[(u16, Counter)]| {
            known.iter().find(|(other, _)| *other == code).map(|(_, counter)| counter.clone())
        };
        let known = find(&self.codes.read().unwrap_or_else(PoisonError::into_inner));
        known.unwrap_or_else(|| {
            let code_label = code.to_string();
            let labels =
                std::iter::once(&code_label).chain(&self.labels).map(String::as_str).collect::<Vec<_>>();
            let counter = self.metrics.0.requests.with(&labels);
            let mut codes = self.codes.write().unwrap_or_else(PoisonError::into_inner);
            if find(&codes).is_none() {
                codes.push((code, counter.clone()));
            }
            counter
        })
    }
}

/// The metrics that a response is counted in, attached to it by its handler.
#[derive(Clone)]
pub(crate) struct ResponseMetrics(pub(crate) Arc<RequestKindMetrics>);

/// A long-running request, counted until it is dropped.
pub(crate) struct LongRunning(Gauge);

impl Drop for LongRunning {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The metrics of the watch events of a resource.
#[derive(Clone)]
pub(crate) struct EventMetrics {
    sent: Counter,
    sizes: Histogram,
}

impl EventMetrics {
    pub(crate) fn sent(&self, bytes: usize) {
        self.sent.inc();
        self.sizes.observe(bytes as f64);
    }
}

impl Metrics {
    pub(crate) fn long_running(&self, endpoint: EndpointLabels<'_>, verb: &str, scope: &str) -> LongRunning {
        let EndpointLabels { group, version, resource, subresource } = endpoint;
        let labels = [COMPONENT, group, resource, scope, subresource, verb, version];
        let gauge = self.0.long_running.with(&labels);
        gauge.inc();
        LongRunning(gauge)
    }

    /// Returns the histogram of the time until a watch had sent its initial events.
    pub(crate) fn initial_events(&self, endpoint: EndpointLabels<'_>, scope: &str) -> Histogram {
        self.0.initial_events.with(&[endpoint.group, endpoint.resource, scope, endpoint.version])
    }

    pub(crate) fn events(&self, endpoint: EndpointLabels<'_>) -> EventMetrics {
        let labels = [endpoint.group, endpoint.resource, endpoint.version];
        EventMetrics {
            sent: self.0.watch_events.with(&labels),
            sizes: self.0.watch_event_sizes.with(&labels),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PODS: EndpointLabels<'_> =
        EndpointLabels { group: "", version: "v1", resource: "pods", subresource: "" };
    const LIST: RequestKind = RequestKind { verb: "LIST", scope: "namespace", dry_run: "", sized: true };

    fn text(metrics: &Metrics) -> String {
        String::from_utf8(metrics.registry().render().unwrap()).unwrap()
    }

    #[test]
    fn a_request_is_counted_under_its_labels() {
        let metrics = Metrics::for_tests();
        let pods = EndpointMetrics::default();
        for code in [200, 200, 410] {
            pods.for_kind(&metrics, PODS, LIST, None).answered(code, 2000, Duration::from_millis(30));
        }
        assert!(Arc::ptr_eq(
            &pods.for_kind(&metrics, PODS, LIST, None),
            &pods.for_kind(&metrics, PODS, LIST, None)
        ));
        let labels = "component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"pods\",scope=\"namespace\",\
                      subresource=\"\",verb=\"LIST\",version=\"v1\"";
        let text = text(&metrics);
        for line in [
            format!("apiserver_request_total{{code=\"200\",{labels}}} 2"),
            format!("apiserver_request_total{{code=\"410\",{labels}}} 1"),
            format!("apiserver_request_duration_seconds_count{{{labels}}} 3"),
            format!("apiserver_response_sizes_sum{{{}}} 6000", labels.replace("dry_run=\"\",", "")),
            format!(
                "apiserver_request_sli_duration_seconds_count{{{}}} 3",
                labels.replace("dry_run=\"\",", "")
            ),
        ] {
            assert!(text.lines().any(|known| known == line), "{line}: {text}");
        }
    }

    #[test]
    fn writes_have_no_size_and_dry_runs_no_indicator() {
        let metrics = Metrics::for_tests();
        let kind = RequestKind { verb: "POST", scope: "resource", dry_run: "All", sized: false };
        EndpointMetrics::default().for_kind(&metrics, PODS, kind, None).answered(201, 100, Duration::ZERO);
        let text = text(&metrics);
        assert!(text.contains("dry_run=\"All\""), "{text}");
        for name in ["apiserver_response_sizes_count", "apiserver_request_sli_duration_seconds_count"] {
            assert!(!text.contains(name), "{name}");
        }
    }

    #[test]
    fn a_deprecated_endpoint_is_reported_after_its_first_request() {
        let metrics = Metrics::for_tests();
        let endpoint = EndpointMetrics::default();
        let metrics_of_list = endpoint.for_kind(&metrics, PODS, LIST, Some("1.38"));
        assert!(!text(&metrics).contains("apiserver_requested_deprecated_apis{"));
        metrics_of_list.answered(200, 0, Duration::ZERO);
        let line = "apiserver_requested_deprecated_apis{group=\"\",removed_release=\"1.38\",resource=\"pods\",\
                    subresource=\"\",version=\"v1\"} 1\n";
        assert!(text(&metrics).contains(line));
    }

    #[test]
    fn long_running_requests_are_counted_while_they_last() {
        let metrics = Metrics::for_tests();
        let two = [0, 1].map(|_| metrics.long_running(PODS, "WATCH", "cluster"));
        let shows =
            |count: u32| text(&metrics).contains(&format!("verb=\"WATCH\",version=\"v1\"}} {count}\n"));
        assert!(shows(2));
        drop(two);
        assert!(shows(0));
    }
}
