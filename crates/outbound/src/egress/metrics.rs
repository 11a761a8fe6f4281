//! The metrics of connections through proxies. They are registered only where there are proxies.

use std::time::Duration;

use pintle_metrics::{Counters, Error, Gauges, Histograms, Registry};

use super::Events;

const DIAL_BUCKETS: [f64; 6] = [0.005, 0.025, 0.1, 0.5, 2.5, 12.5];

/// Connections through proxies, by protocol, transport and outcome.
pub struct Metrics {
    starts: Counters,
    durations: Histograms,
    failures: Counters,
    packets: Counters,
    stream_errors: Counters,
    refusals: Counters,
    tunnels: Gauges,
}

impl Metrics {
    pub fn new(registry: &Registry) -> Result<Metrics, Error> {
        let proxy = ["protocol", "transport"];
        Ok(Metrics {
            starts: registry.counters(
                "apiserver_egress_dialer_dial_start_total",
                "Connections through proxies that were begun, by the proxy's protocol and transport.",
                &proxy,
            )?,
            durations: registry.histograms(
                "apiserver_egress_dialer_dial_duration_seconds",
                "Time until there was a connection, by the proxy's protocol and transport.",
                &proxy,
                &DIAL_BUCKETS,
            )?,
            failures: registry.counters(
                "apiserver_egress_dialer_dial_failure_count",
                "Connections that failed while reaching the proxy (connect) or after that (proxy).",
                &["protocol", "transport", "stage"],
            )?,
            packets: registry.counters(
                "konnectivity_network_proxy_client_stream_packets_total",
                "Packets exchanged with konnectivity proxies, by direction and kind.",
                &["segment", "packet_type"],
            )?,
            stream_errors: registry.counters(
                "konnectivity_network_proxy_client_stream_errors_total",
                "Streams of konnectivity proxies that failed, by direction, gRPC code and kind of packet.",
                &["segment", "code", "packet_type"],
            )?,
            refusals: registry.counters(
                "konnectivity_network_proxy_client_dial_failure_total",
                "Connections that konnectivity proxies did not make, by reason.",
                &["reason"],
            )?,
            tunnels: registry.gauges(
                "konnectivity_network_proxy_client_client_connections",
                "Connections through konnectivity proxies, by what they are at.",
                &["status"],
            )?,
        })
    }
}

impl Events for Metrics {
    fn dial_started(&self, protocol: &'static str, transport: &'static str) {
        self.starts.with(&[protocol, transport]).inc();
    }

    fn dialed(&self, protocol: &'static str, transport: &'static str, took: Duration) {
        self.durations.with(&[protocol, transport]).observe(took.as_secs_f64());
    }

    fn dial_failed(&self, protocol: &'static str, transport: &'static str, stage: &'static str) {
        self.failures.with(&[protocol, transport, stage]).inc();
    }

    fn packet(&self, segment: &'static str, kind: &'static str) {
        self.packets.with(&[segment, kind]).inc();
    }

    fn stream_failed(&self, segment: &'static str, code: &'static str) {
        self.stream_errors.with(&[segment, code, "Unknown"]).inc();
    }

    fn dial_refused(&self, reason: &'static str) {
        self.refusals.with(&[reason]).inc();
    }

    fn tunnel(&self, before: Option<&'static str>, now: Option<&'static str>) {
        if let Some(before) = before {
            self.tunnels.with(&[before]).dec();
        }
        if let Some(now) = now {
            self.tunnels.with(&[now]).inc();
        }
    }
}
