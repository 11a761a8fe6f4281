//! The time that a request spends in parts of the server, for annotations of slow requests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pintle_meta::format_duration;

/// A request that takes no longer has no such annotations.
const SLOW: Duration = Duration::from_millis(500);

/// A part of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    Authentication,
    Authorization,
    Impersonation,
    /// Waiting for a turn, where requests are limited.
    QueueWait,
    MutatingWebhooks,
    /// They are called at once, so that the slowest counts.
    ValidatingWebhooks,
}

const LAYERS: [(Layer, &str); 6] = [
    (Layer::Authentication, "authentication"),
    (Layer::Authorization, "authorization"),
    (Layer::Impersonation, "impersonation"),
    (Layer::QueueWait, "apf-queue-wait"),
    (Layer::MutatingWebhooks, "mutating-webhook"),
    (Layer::ValidatingWebhooks, "validating-webhook"),
];

/// The times of one request.
#[derive(Debug, Default)]
pub(crate) struct Latencies([AtomicU64; LAYERS.len()]);

impl Latencies {
    pub(crate) fn add(&self, layer: Layer, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let of = &self.0[layer as usize];
        match layer {
            Layer::Authorization | Layer::QueueWait | Layer::ValidatingWebhooks => {
                of.fetch_max(nanos, Ordering::Relaxed);
            }
            _ => {
                of.fetch_add(nanos, Ordering::Relaxed);
            }
        }
    }

    /// Returns the annotations of a request that took `total`: none unless it was slow.
    pub(crate) fn annotations(&self, total: Duration) -> Vec<(String, String)> {
        if total <= SLOW {
            return Vec::new();
        }
        let annotation = |name: &str, nanos: u64| {
            let shown = format_duration(i64::try_from(nanos).unwrap_or(i64::MAX));
            (format!("apiserver.latency.k8s.io/{name}"), shown)
        };
        let times =
            LAYERS.iter().map(|(layer, name)| (name, self.0[*layer as usize].load(Ordering::Relaxed)));
        let mut all: Vec<_> =
            times.filter(|(_, nanos)| *nanos > 0).map(|(name, nanos)| annotation(name, nanos)).collect();
        if !all.is_empty() {
            all.push(annotation("total", u64::try_from(total.as_nanos()).unwrap_or(u64::MAX)));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_request_says_where_its_time_went() {
        let latencies = Latencies::default();
        assert!(latencies.annotations(SLOW * 2).is_empty(), "nothing was measured");
        for took in [3, 1] {
            latencies.add(Layer::MutatingWebhooks, Duration::from_millis(took));
            latencies.add(Layer::ValidatingWebhooks, Duration::from_millis(took));
        }
        assert!(latencies.annotations(SLOW).is_empty(), "not slow");
        let annotation =
            |name: &str, value: &str| (format!("apiserver.latency.k8s.io/{name}"), value.to_owned());
        assert_eq!(
            latencies.annotations(SLOW * 2),
            [
                annotation("mutating-webhook", "4ms"),
                annotation("validating-webhook", "3ms"),
                annotation("total", "1s"),
            ]
        );
    }
}
