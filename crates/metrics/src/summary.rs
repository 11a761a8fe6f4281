//! Summaries: quantiles of the last five hours, which the `prometheus` crate does not make.
//!
//! Values are counted in buckets, each 5 percent wider than the one before, so a quantile is off by less than that. Five
//! sets of buckets take one hour each; the oldest is cleared when its turn comes again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pintle_runtime::Stopwatch;
use prometheus::core::{Collector, Desc};
use prometheus::proto::{LabelPair, Metric, MetricFamily, MetricType, Quantile};
use prometheus::{Error, Opts};

const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];
const WINDOWS: usize = 5;
const WINDOW_SECONDS: u64 = 3600;
/// Upper end of the first bucket.
const SMALLEST: f64 = 1e-6;
const GROWTH: f64 = 1.05;
/// Buckets up to about 100 seconds; the last one has all that is longer.
const BUCKETS: usize = 378;

/// A summary with up to `N` sets of label values. Clones are the same summary.
#[derive(Clone)]
pub struct Summary<const N: usize>(Arc<Inner<N>>);

struct Inner<const N: usize> {
    description: Desc,
    label_names: Vec<String>,
    since: Stopwatch,
    series: [Mutex<Option<Series>>; N],
}

struct Series {
    labels: Vec<&'static str>,
    count: u64,
    sum: f64,
    windows: [Window; WINDOWS],
}

#[derive(Default)]
struct Window {
    /// Number of the hour that the counts are of.
    hour: u64,
    counts: Vec<u32>,
}

impl<const N: usize> Summary<N> {
    pub(crate) fn new(name: &str, help: &str, labels: &[&str]) -> Result<Summary<N>, Error> {
        let label_names: Vec<String> = labels.iter().map(ToString::to_string).collect();
        let names = label_names.clone();
        let description = Desc::new(Opts::new(name, help).fq_name(), help.into(), names, HashMap::new())?;
        let series = std::array::from_fn(|_| Mutex::new(None));
        Ok(Summary(Arc::new(Inner { description, label_names, since: Stopwatch::start(), series })))
    }

    /// Takes in a value of the set `index`, whose labels are always the same.
    pub fn observe<const L: usize>(&self, index: usize, labels: [&'static str; L], value: f64) {
        self.observe_in(self.hour(), index, labels, value);
    }

    fn hour(&self) -> u64 {
        self.0.since.elapsed().as_secs() / WINDOW_SECONDS
    }

    fn observe_in<const L: usize>(&self, hour: u64, index: usize, labels: [&'static str; L], value: f64) {
        let mut series = self.0.series[index].lock().unwrap_or_else(PoisonError::into_inner);
        let series = series.get_or_insert_with(|| Series {
            labels: labels.to_vec(),
            count: 0,
            sum: 0.0,
            windows: Default::default(),
        });
        series.count += 1;
        series.sum += value;
        let window = &mut series.windows[(hour % WINDOWS as u64) as usize];
        if window.hour != hour || window.counts.is_empty() {
            *window = Window { hour, counts: vec![0; BUCKETS] };
        }
        window.counts[bucket(value)] += 1;
    }

    fn metrics_at(&self, hour: u64) -> Vec<Metric> {
        let series = self.0.series.iter();
        series
            .filter_map(|series| {
                let series = series.lock().unwrap_or_else(PoisonError::into_inner);
                series.as_ref().map(|series| series.metric(&self.0.label_names, hour))
            })
            .collect()
    }
}

impl Series {
    fn metric(&self, names: &[String], hour: u64) -> Metric {
        let mut summary = prometheus::proto::Summary::default();
        summary.set_sample_count(self.count);
        summary.set_sample_sum(self.sum);
        let quantiles = QUANTILES.iter().map(|quantile| {
            let mut line = Quantile::default();
            line.set_quantile(*quantile);
            line.set_value(self.quantile(*quantile, hour));
            line
        });
        summary.set_quantile(quantiles.collect());
        let labels = names.iter().zip(&self.labels).map(|(name, value)| {
            let mut pair = LabelPair::default();
            pair.set_name(name.clone());
            pair.set_value((*value).to_owned());
            pair
        });
        let mut metric = Metric::from_label(labels.collect());
        metric.set_summary(summary);
        metric
    }

    /// Returns the quantile of the last five hours; not a number if there were no values.
    fn quantile(&self, quantile: f64, hour: u64) -> f64 {
        let recent = |window: &&Window| !window.counts.is_empty() && window.hour + WINDOWS as u64 > hour;
        let windows: Vec<&Window> = self.windows.iter().filter(recent).collect();
        let count_of =
            |bucket: usize| windows.iter().map(|window| u64::from(window.counts[bucket])).sum::<u64>();
        let total: u64 = (0..BUCKETS).map(count_of).sum();
        let rank = ((total as f64 * quantile).ceil() as u64).max(1);
        let mut seen = 0;
        for bucket in 0..BUCKETS {
            seen += count_of(bucket);
            if seen >= rank {
                return SMALLEST * GROWTH.powf(bucket as f64 - 0.5);
            }
        }
        f64::NAN
    }
}

/// Returns the bucket of a value. The end of bucket `n` is [`SMALLEST`] times [`GROWTH`] to the power of `n`.
fn bucket(value: f64) -> usize {
    let exponent = (value / SMALLEST).ln() / GROWTH.ln();
    (exponent.ceil().max(0.0) as usize).min(BUCKETS - 1)
}

impl<const N: usize> Collector for Summary<N> {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.0.description]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let metrics = self.metrics_at(self.hour());
        if metrics.is_empty() {
            return Vec::new();
        }
        let mut family = MetricFamily::default();
        family.set_name(self.0.description.fq_name.clone());
        family.set_help(self.0.description.help.clone());
        family.set_field_type(MetricType::SUMMARY);
        family.set_metric(metrics);
        vec![family]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantile(summary: &Summary<1>, quantile: f64, hour: u64) -> f64 {
        summary.0.series[0].lock().unwrap().as_ref().unwrap().quantile(quantile, hour)
    }

    fn is_near(value: f64, expect: f64) -> bool {
        (value / expect - 1.0).abs() < 0.05
    }

    #[test]
    fn quantiles_are_of_the_last_five_hours() {
        let summary = Summary::<1>::new("a", "help", &["l"]).unwrap();
        for number in 1..=100 {
            summary.observe_in(0, 0, ["x"], f64::from(number) / 1000.0);
        }
        assert!(is_near(quantile(&summary, 0.5, 0), 0.05), "{}", quantile(&summary, 0.5, 0));
        assert!(is_near(quantile(&summary, 0.99, 4), 0.099));
        assert!(quantile(&summary, 0.5, 5).is_nan(), "the values are too old");
        summary.observe_in(5, 0, ["x"], 7.0);
        assert!(is_near(quantile(&summary, 0.5, 5), 7.0));
        let metrics = summary.metrics_at(5);
        assert_eq!(metrics.len(), 1);
    }

    #[test]
    fn extreme_values_have_a_bucket() {
        for (value, expect) in [(0.0, 0), (1e-9, 0), (1e9, BUCKETS - 1), (f64::NAN, 0)] {
            assert_eq!(bucket(value), expect, "{value}");
        }
    }
}
