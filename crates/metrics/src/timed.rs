//! Histograms of values that last: each nanosecond is an observation of the value that held during it.
//!
//! The owner of a value tells a [`TimedRatio`] when the value changes and how much time has passed, under whatever lock the value
//! has. Scrapes read samples ([`crate::Registry::histograms_at_scrape`]).

use std::collections::BTreeMap;

use prometheus::core::{Collector, Desc};
use prometheus::proto::{Bucket, Histogram, LabelPair, Metric, MetricFamily, MetricType};

use crate::family::expected;
use crate::{Error, Options};

/// A ratio that changes now and then, and how long it was in each bucket.
#[derive(Clone, Debug)]
pub struct TimedRatio {
    bounds: &'static [f64],
    numerator: f64,
    denominator: f64,
    ratio: f64,
    /// The bucket of `ratio`.
    bucket: usize,
    sample: Sample,
}

/// The state of one histogram at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Observations by bucket, the last one beyond all bounds; not cumulated.
    counts: Vec<u64>,
    sum: f64,
}

impl TimedRatio {
    /// Returns a ratio of zero to one.
    pub fn new(bounds: &'static [f64]) -> TimedRatio {
        let sample = Sample { counts: vec![0; bounds.len() + 1], sum: 0.0 };
        let mut ratio =
            TimedRatio { bounds, numerator: 0.0, denominator: 1.0, ratio: 0.0, bucket: 0, sample };
        ratio.place();
        ratio
    }

    fn place(&mut self) {
        self.ratio = self.numerator / self.denominator;
        self.bucket = self.bounds.partition_point(|bound| *bound < self.ratio);
    }

    /// Changes the value from now on.
    pub fn set(&mut self, numerator: f64) {
        self.numerator = numerator;
        self.place();
    }

    /// Changes what the value is compared with, from now on.
    pub fn set_denominator(&mut self, denominator: f64) {
        self.denominator = denominator.max(f64::MIN_POSITIVE);
        self.place();
    }

    /// Counts nanoseconds during which the value was what it is.
    pub fn pass(&mut self, nanoseconds: u64) {
        if let Some(count) = self.sample.counts.get_mut(self.bucket) {
            *count += nanoseconds;
        }
        self.sample.sum += self.ratio * nanoseconds as f64;
    }

    pub fn sample(&self) -> Sample {
        self.sample.clone()
    }
}

impl Sample {
    fn add(&mut self, other: &Sample) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.sum += other.sum;
    }

    fn proto(&self, bounds: &[f64]) -> Histogram {
        let mut histogram = Histogram::default();
        let mut cumulated = 0;
        let buckets = bounds.iter().zip(&self.counts).map(|(bound, count)| {
            cumulated += count;
            let mut bucket = Bucket::default();
            bucket.set_upper_bound(*bound);
            bucket.set_cumulative_count(cumulated);
            bucket
        });
        histogram.set_bucket(buckets.collect());
        histogram.set_sample_count(self.counts.iter().sum());
        histogram.set_sample_sum(self.sum);
        histogram
    }
}

/// Exposes the samples that `read` returns, with their label values.
pub(crate) struct HistogramsAtScrape<F> {
    description: Desc,
    labels: Vec<String>,
    bounds: &'static [f64],
    allowed: Vec<Option<std::collections::BTreeSet<String>>>,
    read: F,
}

impl<F> HistogramsAtScrape<F> {
    pub(crate) fn new(
        name: &str,
        help: &str,
        labels: &[&str],
        bounds: &'static [f64],
        options: &Options,
        read: F,
    ) -> Result<HistogramsAtScrape<F>, Error> {
        let names: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        Ok(HistogramsAtScrape {
            description: Desc::new(name.into(), help.into(), names.clone(), Default::default())?,
            allowed: labels.iter().map(|label| options.allowed_values(name, label).cloned()).collect(),
            labels: names,
            bounds,
            read,
        })
    }
}

impl<F: Fn() -> Vec<(Vec<String>, Sample)> + Send + Sync> Collector for HistogramsAtScrape<F> {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.description]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        // Values that are not allowed are exposed together.
        let mut samples: BTreeMap<Vec<String>, Sample> = BTreeMap::new();
        for (values, sample) in (self.read)() {
            let values = values.iter().zip(&self.allowed);
            let values = values.map(|(value, allowed)| expected(value, allowed.as_ref()).to_owned());
            samples.entry(values.collect()).or_default().add(&sample);
        }
        if samples.is_empty() {
            return Vec::new();
        }
        let metrics = samples.iter().map(|(values, sample)| {
            let labels = self.labels.iter().zip(values).map(|(name, value)| {
                let mut pair = LabelPair::default();
                pair.set_name(name.clone());
                pair.set_value(value.clone());
                pair
            });
            let mut metric = Metric::from_label(labels.collect());
            metric.set_histogram(sample.proto(self.bounds));
            metric
        });
        let mut family = MetricFamily::default();
        family.set_name(self.description.fq_name.clone());
        family.set_help(self.description.help.clone());
        family.set_field_type(MetricType::HISTOGRAM);
        family.set_metric(metrics.collect());
        vec![family]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;

    #[test]
    fn each_nanosecond_is_an_observation_of_the_ratio_that_held() {
        let mut ratio = TimedRatio::new(&[0.0, 0.5, 1.0]);
        ratio.pass(5);
        ratio.set_denominator(4.0);
        ratio.set(2.0);
        ratio.pass(10);
        ratio.set(6.0);
        ratio.pass(100);
        assert_eq!(ratio.sample(), Sample { counts: vec![5, 10, 0, 100], sum: 155.0 });
        let registry = Registry::default();
        let read = move || vec![(vec!["a".to_owned()], ratio.sample())];
        registry.histograms_at_scrape("lasting", "help", &["l"], &[0.0, 0.5, 1.0], read).unwrap();
        let text = String::from_utf8(registry.render().unwrap()).unwrap();
        for line in [
            "lasting_bucket{l=\"a\",le=\"0.5\"} 15\n",
            "lasting_bucket{l=\"a\",le=\"+Inf\"} 115\n",
            "lasting_sum{l=\"a\"} 155\n",
            "lasting_count{l=\"a\"} 115\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
