//! The metrics of one control plane: a registry, families of metrics with labels, and the text format of `/metrics`.
//!
//! Nothing is global. A plane makes one [`Registry`]; each crate that counts has a `Metrics` of its own, made from the registry,
//! which registers the crate's families under the reference's names:
//!
//! ```
//! use pintle_metrics::{Counters, Error, Registry};
//!
//! struct Metrics {
//!     requests: Counters,
//! }
//!
//! impl Metrics {
//!     fn new(registry: &Registry) -> Result<Metrics, Error> {
//!         let requests = registry.counters("example_requests_total", "Requests, by code.", &["code"])?;
//!         Ok(Metrics { requests })
//!     }
//! }
//!
//! let registry = Registry::default();
//! Metrics::new(&registry)?.requests.with(&["200"]).inc();
//! assert!(String::from_utf8_lossy(&registry.render()?).contains("example_requests_total{code=\"200\"} 1"));
//! # Ok::<(), Error>(())
//! ```

mod family;
mod options;
mod registry;
mod summary;
mod timed;

pub use family::{Counters, Family, FloatGauges, Gauges, Histograms};
pub use options::{AllowListError, Options};
pub use prometheus::{Error, Gauge as FloatGauge, Histogram, IntCounter as Counter, IntGauge as Gauge};
pub use registry::Registry;
pub use summary::Summary;
pub use timed::{Sample, TimedRatio};

/// The buckets that Prometheus' client libraries use unless told otherwise.
pub const DEFAULT_BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Returns `count` buckets, each `factor` times the one before, multiplied one after the other as Prometheus' Go library does.
pub fn exponential_buckets(start: f64, factor: f64, count: usize) -> Vec<f64> {
    std::iter::successors(Some(start), |bound| Some(bound * factor)).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_buckets_are_rounded_as_in_go() {
        let buckets = exponential_buckets(10e-9, 10.0, 10);
        let expect =
            [1e-8, 1e-7, 1e-6, 9.999999999999999e-06, 9.999999999999999e-05, 0.001, 0.01, 0.1, 1.0, 10.0];
        assert_eq!(buckets.len(), expect.len());
        for (bucket, expect) in buckets.iter().zip(expect) {
            assert!((bucket / expect - 1.0).abs() < 1e-15, "{bucket} {expect}");
        }
    }
}
