//! The time that requests spend in filters.

use std::sync::OnceLock;
use std::time::Duration;

use pintle_metrics::{Error, Histogram, Histograms, Registry};

use super::Metrics;

const BUCKETS: [f64; 13] = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 5.0, 10.0, 15.0, 30.0];

pub(super) struct FilterMetrics {
    durations: Histograms,
    by_filter: [OnceLock<Histogram>; 5],
}

/// A filter whose share of a request's time is measured.
#[derive(Clone, Copy)]
pub(crate) enum MeasuredFilter {
    Authentication,
    Impersonation,
    ConstrainedImpersonation,
    /// The limits on requests in flight, measured under the name of priority and fairness.
    Limits,
    Authorization,
}

impl MeasuredFilter {
    fn name(self) -> &'static str {
        match self {
            MeasuredFilter::Authentication => "authentication",
            MeasuredFilter::Impersonation => "impersonation",
            MeasuredFilter::ConstrainedImpersonation => "constrainedimpersonation",
            MeasuredFilter::Limits => "priorityandfairness",
            MeasuredFilter::Authorization => "authorization",
        }
    }
}

impl FilterMetrics {
    pub(super) fn new(registry: &Registry) -> Result<FilterMetrics, Error> {
        let durations = registry.histograms(
            "apiserver_request_filter_duration_seconds",
            "Time that a request spends in each filter.",
            &["filter"],
            &BUCKETS,
        )?;
        Ok(FilterMetrics { durations, by_filter: Default::default() })
    }
}

impl Metrics {
    /// Counts a request that a filter passed on, with the time that the filter itself took.
    pub(crate) fn filtered(&self, filter: MeasuredFilter, took: Duration) {
        let FilterMetrics { durations, by_filter } = &self.0.filters;
        let duration = by_filter[filter as usize].get_or_init(|| durations.with(&[filter.name()]));
        duration.observe(took.as_secs_f64());
    }
}
