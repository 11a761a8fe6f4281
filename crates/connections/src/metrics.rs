//! Metrics of connections, by the reference's names.

use pintle_metrics::{Counter, Counters, Error, Registry};

/// Counters of streams and logs.
#[derive(Clone)]
pub struct Metrics {
    translated: Counters,
    tunneled: Counters,
    streaming: Counters,
    log_usage: [Counters; 2],
    log_tls_failures: [Counter; 2],
}

impl Metrics {
    pub fn new(registry: &Registry) -> Result<Metrics, Error> {
        const USAGE: &str = "Total number of requests for pods/logs sliced by usage type: enforce_tls, \
                             skip_tls_allowed, skip_tls_denied";
        const FAILURES: &str =
            "Total number of requests for pods/logs that failed due to kubelet server TLS verification";
        Ok(Metrics {
            translated: registry.counters(
                "apiserver_stream_translator_requests_total",
                "Total number of requests that were handled by the StreamTranslatorProxy, which processes streaming \
                 RemoteCommand/V5",
                &["code"],
            )?,
            tunneled: registry.counters(
                "apiserver_stream_tunnel_requests_total",
                "Total number of requests that were handled by the StreamTunnelProxy, which processes streaming \
                 PortForward/V2",
                &["code"],
            )?,
            streaming: registry.counters(
                "apiserver_websocket_streaming_requests_total",
                "Total number of WebSocket streaming requests (exec/attach/portforward) routed by the API server, \
                 labeled by subresource and proxy_type. proxy_type is proxied_to_kubelet when the kubelet handles \
                 the request directly; otherwise translated_at_apiserver.",
                &["subresource", "proxy_type"],
            )?,
            log_usage: [
                registry.counters("kube_apiserver_pod_logs_insecure_backend_total", USAGE, &["usage"])?,
                registry.counters(
                    "kube_apiserver_pod_logs_pods_logs_insecure_backend_total",
                    &format!("(Deprecated since 1.27.0) {USAGE}"),
                    &["usage"],
                )?,
            ],
            log_tls_failures: [
                registry.counter("kube_apiserver_pod_logs_backend_tls_failure_total", FAILURES)?,
                registry.counter(
                    "kube_apiserver_pod_logs_pods_logs_backend_tls_failure_total",
                    &format!("(Deprecated since 1.27.0) {FAILURES}"),
                )?,
            ],
        })
    }

    /// Counts a stream that was translated, by the code of its outcome.
    pub(crate) fn translated(&self, code: u16) {
        self.translated.with(&[&code.to_string()]).inc();
    }

    /// Counts a request to tunnel SPDY through a WebSocket, by the code of its answer.
    pub(crate) fn tunneled(&self, code: u16) {
        self.tunneled.with(&[&code.to_string()]).inc();
    }

    /// Counts a request for streams.
    pub(crate) fn streaming(&self, subresource: &str, to_kubelet: bool) {
        let way = if to_kubelet { "proxied_to_kubelet" } else { "translated_at_apiserver" };
        self.streaming.with(&[subresource, way]).inc();
    }

    pub(crate) fn log_asked(&self, skips_verification: bool) {
        let usage = if skips_verification { "skip_tls_allowed" } else { "enforce_tls" };
        for counters in &self.log_usage {
            counters.with(&[usage]).inc();
        }
    }

    pub(crate) fn log_not_verified(&self) {
        for counter in &self.log_tls_failures {
            counter.inc();
        }
    }
}
