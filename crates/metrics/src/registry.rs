//! The registry of a control plane: makes families, and exposes them as text.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{
    Encoder, Error, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec,
    Opts, TextEncoder,
};

use crate::timed::HistogramsAtScrape;
use crate::{Counters, Family, FloatGauges, Gauges, Histograms, Options, Sample, Summary};

type Refresh = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Makes families of metrics and exposes them. Metrics disabled by [`Options`] are made and counted all the same, and never
/// exposed. Clones are the same registry.
#[derive(Clone, Default)]
pub struct Registry(Arc<Inner>);

#[derive(Default)]
struct Inner {
    registered: prometheus::Registry,
    options: Options,
    refreshes: Mutex<Vec<Refresh>>,
}

impl Registry {
    pub fn new(options: Options) -> Registry {
        Registry(Arc::new(Inner { options, ..Inner::default() }))
    }

    /// Returns an empty registry with the same options, for metrics that are scraped apart from these.
    pub fn sibling(&self) -> Registry {
        Registry::new(self.0.options.clone())
    }

    /// Exposes a collector that was made elsewhere. Errors: a family of this name is registered.
    pub fn register(&self, name: &str, collector: Box<dyn Collector>) -> Result<(), Error> {
        if self.0.options.disables(name) { Ok(()) } else { self.0.registered.register(collector) }
    }

    /// Makes counters. This method and its siblings fail if the name is not one, or is registered already.
    pub fn counters(&self, name: &str, help: &str, labels: &[&str]) -> Result<Counters, Error> {
        self.family(name, labels, IntCounterVec::new(Opts::new(name, help), labels)?)
    }

    /// Makes a counter without labels, which is exposed from the start.
    pub fn counter(&self, name: &str, help: &str) -> Result<IntCounter, Error> {
        let counter = IntCounter::new(name, help)?;
        self.register(name, Box::new(counter.clone()))?;
        Ok(counter)
    }

    /// Makes gauges of whole numbers.
    pub fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> Result<Gauges, Error> {
        self.family(name, labels, IntGaugeVec::new(Opts::new(name, help), labels)?)
    }

    /// Makes gauges of any number.
    pub fn float_gauges(&self, name: &str, help: &str, labels: &[&str]) -> Result<FloatGauges, Error> {
        self.family(name, labels, GaugeVec::new(Opts::new(name, help), labels)?)
    }

    /// Makes gauges that `update` sets whenever they are scraped, so that nothing has to keep them up to date in between.
    pub fn gauges_at_scrape(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
        update: impl Fn(&FloatGauges) + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let gauges = GaugeVec::new(Opts::new(name, help), labels)?;
        let gauges = Family::new(gauges, name, labels, &self.0.options);
        self.register(name, Box::new(GaugesAtScrape { gauges, update }))
    }

    /// Makes histograms with these upper bounds; `+Inf` is added.
    pub fn histograms(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
        buckets: &[f64],
    ) -> Result<Histograms, Error> {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.family(name, labels, HistogramVec::new(options, labels)?)
    }

    /// Makes histograms whose samples `read` returns whenever they are scraped, with their label values.
    pub fn histograms_at_scrape(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
        buckets: &'static [f64],
        read: impl Fn() -> Vec<(Vec<String>, Sample)> + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let histograms = HistogramsAtScrape::new(name, help, labels, buckets, &self.0.options, read)?;
        self.register(name, Box::new(histograms))
    }

    /// Makes a histogram without labels, which is exposed from the start.
    pub fn histogram(&self, name: &str, help: &str, buckets: &[f64]) -> Result<Histogram, Error> {
        Ok(self.histograms(name, help, &[], buckets)?.with(&[]))
    }

    /// Makes a summary with quantiles of the last hours, for at most `N` sets of label values.
    pub fn summary<const N: usize>(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<Summary<N>, Error> {
        let summary = Summary::new(name, help, labels)?;
        self.register(name, Box::new(summary.clone()))?;
        Ok(summary)
    }

    fn family<V: Collector + Clone + 'static>(
        &self,
        name: &str,
        labels: &[&str],
        metrics: V,
    ) -> Result<Family<V>, Error> {
        self.register(name, Box::new(metrics.clone()))?;
        Ok(Family::new(metrics, name, labels, &self.0.options))
    }

    /// Adds work that [`Registry::refresh`] does before a scrape, for metrics that cost too much to keep up to date otherwise.
    pub fn before_scrape<F>(&self, refresh: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let refresh: Refresh = Arc::new(move || Box::pin(refresh()));
        self.0.refreshes.lock().unwrap_or_else(PoisonError::into_inner).push(refresh);
    }

    /// Brings the metrics up to date that are kept by [`Registry::before_scrape`].
    pub async fn refresh(&self) {
        let refreshes = self.0.refreshes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for refresh in refreshes {
            refresh().await;
        }
    }

    /// Returns all metrics in Prometheus' text format.
    pub fn render(&self) -> Result<Vec<u8>, Error> {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.0.registered.gather(), &mut text)?;
        Ok(text)
    }
}

struct GaugesAtScrape<F> {
    gauges: FloatGauges,
    update: F,
}

impl<F: Fn(&FloatGauges) + Send + Sync> Collector for GaugesAtScrape<F> {
    fn desc(&self) -> Vec<&Desc> {
        self.gauges.metrics().desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        (self.update)(&self.gauges);
        self.gauges.metrics().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn text(registry: &Registry) -> String {
        String::from_utf8(registry.render().unwrap()).unwrap()
    }

    #[test]
    fn disabled_metrics_are_counted_and_not_exposed() {
        let mut options = Options::default();
        options.disable(&["b_total".into()]);
        let registry = Registry::new(options);
        for name in ["a_total", "b_total"] {
            let counter = registry.counter(name, "help").unwrap();
            counter.inc();
            assert_eq!(counter.get(), 1);
        }
        assert!(text(&registry).contains("a_total 1"));
        assert!(!text(&registry).contains("b_total"));
        assert!(text(&registry.sibling()).is_empty());
    }

    #[test]
    fn values_that_are_not_allowed_are_counted_together() {
        let mut options = Options::default();
        options.allow("a_total,user", "x, y").unwrap();
        let registry = Registry::new(options);
        let counters = registry.counters("a_total", "help", &["user", "code"]).unwrap();
        for user in ["x", "z", "w"] {
            counters.with(&[user, "200"]).inc();
        }
        counters.remove(&["w", "200"]);
        let exposed = text(&registry);
        assert!(exposed.contains(r#"a_total{code="200",user="x"} 1"#), "{exposed}");
        assert!(exposed.contains(r#"a_total{code="200",user="unexpected"} 2"#), "{exposed}");
        counters.remove(&["x", "200"]);
        assert!(!text(&registry).contains(r#"user="x""#));
    }

    #[test]
    fn a_name_is_registered_once() {
        let registry = Registry::default();
        registry.counter("a_total", "help").unwrap();
        assert!(registry.gauges("a_total", "help", &[]).is_err());
    }

    #[tokio::test]
    async fn a_scrape_brings_metrics_up_to_date() {
        let registry = Registry::default();
        let gauge = registry.gauges("a", "help", &[]).unwrap();
        registry.before_scrape(move || {
            gauge.with(&[]).inc();
            async {}
        });
        let scrapes = AtomicU32::new(0);
        let update = move |gauges: &FloatGauges| {
            gauges.with(&["x"]).set(f64::from(scrapes.fetch_add(1, Ordering::Relaxed)));
        };
        registry.gauges_at_scrape("b", "help", &["name"], update).unwrap();
        registry.refresh().await;
        registry.refresh().await;
        assert!(text(&registry).contains("a 2\n"));
        assert!(text(&registry).contains("b{name=\"x\"} 1\n"));
    }
}
