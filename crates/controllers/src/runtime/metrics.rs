//! The `workqueue_*` metrics, which every queue has under the name of its controller.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use pintle_metrics::{
    Counter, Counters, Error, FloatGauges, Gauge, Gauges, Histogram, Histograms, Registry,
    exponential_buckets,
};

/// The metrics of all queues of a control plane. Clones are the same metrics.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    depth: Gauges,
    adds: Counters,
    waits: Histograms,
    work: Histograms,
    retries: Counters,
    queues: Queues,
}

type Queues = Arc<Mutex<Vec<(&'static str, Weak<dyn Processing>)>>>;

/// A queue whose running work is measured when metrics are scraped.
pub(super) trait Processing: Send + Sync {
    /// Returns for how long each key has been processed.
    fn running(&self) -> Vec<Duration>;
}

/// The metrics of one queue.
pub(super) struct QueueMetrics {
    depth: Gauge,
    adds: Counter,
    waits: Histogram,
    work: Histogram,
    retries: Counter,
}

impl Metrics {
    pub fn new(registry: &Registry) -> Result<Metrics, Error> {
        let name = ["name"];
        let buckets = exponential_buckets(10e-9, 10.0, 10);
        let queues = Queues::default();
        let running = |measure: fn(&[Duration]) -> Duration| {
            let queues = queues.clone();
            move |gauges: &FloatGauges| {
                let mut queues = queues.lock().unwrap_or_else(PoisonError::into_inner);
                queues.retain(|(name, queue)| {
                    let Some(queue) = queue.upgrade() else {
                        gauges.remove(&[name]);
                        return false;
                    };
                    gauges.with(&[name]).set(measure(&queue.running()).as_secs_f64());
                    true
                });
            }
        };
        registry.gauges_at_scrape(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large \
             values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which \
             this increases.",
            &name,
            running(|running| running.iter().sum()),
        )?;
        registry.gauges_at_scrape(
            "workqueue_longest_running_processor_seconds",
            "How many seconds has the longest running processor for workqueue been running.",
            &name,
            running(|running| running.iter().max().copied().unwrap_or_default()),
        )?;
        Ok(Metrics(Arc::new(Inner {
            depth: registry.gauges("workqueue_depth", "Current depth of workqueue", &name)?,
            adds: registry.counters(
                "workqueue_adds_total",
                "Total number of adds handled by workqueue",
                &name,
            )?,
            waits: registry.histograms(
                "workqueue_queue_duration_seconds",
                "How long in seconds an item stays in workqueue before being requested.",
                &name,
                &buckets,
            )?,
            work: registry.histograms(
                "workqueue_work_duration_seconds",
                "How long in seconds processing an item from workqueue takes.",
                &name,
                &buckets,
            )?,
            retries: registry.counters(
                "workqueue_retries_total",
                "Total number of retries handled by workqueue",
                &name,
            )?,
            queues,
        })))
    }

    pub(super) fn queue(&self, name: &str) -> QueueMetrics {
        let Inner { depth, adds, waits, work, retries, .. } = &*self.0;
        let name = [name];
        QueueMetrics {
            depth: depth.with(&name),
            adds: adds.with(&name),
            waits: waits.with(&name),
            work: work.with(&name),
            retries: retries.with(&name),
        }
    }

    /// Measures the running work of a queue for as long as the queue exists.
    pub(super) fn observe(&self, name: &'static str, queue: Weak<dyn Processing>) {
        self.0.queues.lock().unwrap_or_else(PoisonError::into_inner).push((name, queue));
    }
}

impl QueueMetrics {
    pub(super) fn added(&self) {
        self.adds.inc();
        self.depth.inc();
    }

    pub(super) fn taken(&self, waited: Duration) {
        self.depth.dec();
        self.waits.observe(waited.as_secs_f64());
    }

    pub(super) fn processed(&self, took: Duration) {
        self.work.observe(took.as_secs_f64());
    }

    pub(super) fn retried(&self) {
        self.retries.inc();
    }
}
