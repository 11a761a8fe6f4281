//! Families: all metrics of one name, told apart by the values of their labels.

use std::collections::BTreeSet;

use prometheus::core::{MetricVec, MetricVecBuilder};
use prometheus::{GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec};

use crate::Options;

/// The value that stands for all values that a label is not allowed to have.
const UNEXPECTED: &str = "unexpected";

pub type Counters = Family<IntCounterVec>;
pub type Gauges = Family<IntGaugeVec>;
pub type FloatGauges = Family<GaugeVec>;
pub type Histograms = Family<HistogramVec>;

/// All metrics of one name, and the values that `--allow-metric-labels` allows for their labels. Clones are the same family.
#[derive(Clone)]
pub struct Family<V> {
    metrics: V,
    /// By position of the label; `None` allows all values. Empty if no label is restricted.
    allowed: Vec<Option<BTreeSet<String>>>,
}

impl<V> Family<V> {
    pub(crate) fn new(metrics: V, name: &str, labels: &[&str], options: &Options) -> Family<V> {
        let allowed: Vec<_> =
            labels.iter().map(|label| options.allowed_values(name, label).cloned()).collect();
        let allowed = if allowed.iter().any(Option::is_some) { allowed } else { Vec::new() };
        Family { metrics, allowed }
    }

    pub(crate) fn metrics(&self) -> &V {
        &self.metrics
    }
}

impl<B: MetricVecBuilder> Family<MetricVec<B>> {
    /// Returns the metric with these label values, in the order of the labels. It is exposed from now on.
    ///
    /// Looking it up hashes all values: callers on the path of a request keep the metric.
    pub fn with(&self, values: &[&str]) -> B::M {
        if self.allowed.is_empty() {
            return self.metrics.with_label_values(values);
        }
        let values: Vec<&str> = values
            .iter()
            .zip(&self.allowed)
            .map(|(value, allowed)| expected(value, allowed.as_ref()))
            .collect();
        self.metrics.with_label_values(&values)
    }

    /// Stops exposing the metric with these label values. Does nothing where it does not exist, or where a value is not
    /// allowed: others may be counted under the same substitute.
    pub fn remove(&self, values: &[&str]) {
        if values.iter().zip(&self.allowed).all(|(value, allowed)| is_allowed(value, allowed.as_ref())) {
            // The only error is that there is no such metric.
            let _ = self.metrics.remove_label_values(values);
        }
    }
}

/// Returns the value to expose for one of a client.
pub(crate) fn expected<'v>(value: &'v str, allowed: Option<&BTreeSet<String>>) -> &'v str {
    if is_allowed(value, allowed) { value } else { UNEXPECTED }
}

fn is_allowed(value: &str, allowed: Option<&BTreeSet<String>>) -> bool {
    allowed.is_none_or(|allowed| allowed.contains(value))
}
