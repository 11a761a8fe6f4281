//! The metrics of flow control.
//!
//! Counters and histograms of requests are kept per flow schema, and made at their first use. What describes a priority level is read
//! from it by scrapes (`control`).

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pintle_metrics::{Counter, Counters, Error, FloatGauge, Gauge, Gauges, Histogram, Histograms, Registry};

const QUEUE_LENGTHS: [f64; 8] = [0.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0];
const DURATIONS: [f64; 13] = [0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0];
const WATCH_COUNTS: [f64; 6] = [0.0, 1.0, 10.0, 100.0, 1000.0, 10_000.0];
const SEATS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0];
const BY_FLOW: [&str; 2] = ["flow_schema", "priority_level"];

/// The metrics of this crate. Clones are the same metrics.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Families>);

struct Families {
    rejected: Counters,
    dispatched: Counters,
    not_accommodated: Counters,
    epochs: Counters,
    in_queue_requests: Gauges,
    in_queue_seats: Gauges,
    executing_requests: Gauges,
    executing_seats: Gauges,
    queue_length: Histograms,
    waiting: Histograms,
    execution: Histograms,
    watch_count: Histograms,
    seats: Histograms,
    fair_fraction: FloatGauge,
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    ConcurrencyLimit,
    QueueFull,
    TimeOut,
}

impl Reason {
    fn label(self) -> &'static str {
        match self {
            Reason::ConcurrencyLimit => "concurrency-limit",
            Reason::QueueFull => "queue-full",
            Reason::TimeOut => "time-out",
        }
    }
}

impl Metrics {
    pub(crate) fn new(registry: &Registry) -> Result<Metrics, Error> {
        let name = |name: &str| format!("apiserver_flowcontrol_{name}");
        let counters =
            |short: &str, help: &str, labels: &[&str]| registry.counters(&name(short), help, labels);
        let gauges = |short: &str, help: &str| registry.gauges(&name(short), help, &BY_FLOW);
        let histograms = |short: &str, help: &str, labels: &[&str], buckets: &[f64]| {
            registry.histograms(&name(short), help, labels, buckets)
        };
        let fraction = registry.float_gauges(
            &name("seat_fair_frac"),
            "Part of its demand that each priority level gets that can use it.",
            &[],
        )?;
        Ok(Metrics(Arc::new(Families {
            rejected: counters(
                "rejected_requests_total",
                "Requests that flow control refused.",
                &["flow_schema", "priority_level", "reason"],
            )?,
            dispatched: counters(
                "dispatched_requests_total",
                "Requests that flow control let execute.",
                &BY_FLOW,
            )?,
            not_accommodated: counters(
                "request_dispatch_no_accommodation_total",
                "Attempts to let a request execute for which too few seats were free.",
                &BY_FLOW,
            )?,
            epochs: counters(
                "epoch_advance_total",
                "Times that the virtual time of a priority level was wound back.",
                &["priority_level", "success"],
            )?,
            in_queue_requests: gauges("current_inqueue_requests", "Requests that wait in queues.")?,
            in_queue_seats: gauges("current_inqueue_seats", "Seats that requests in queues wait for.")?,
            executing_requests: gauges(
                "current_executing_requests",
                "Requests that execute; watches until they have sent their initial events.",
            )?,
            executing_seats: gauges(
                "current_executing_seats",
                "Seats of the requests that execute; of watches until they have sent their initial events.",
            )?,
            queue_length: histograms(
                "request_queue_length_after_enqueue",
                "Length of its queue that a request has seen, itself included.",
                &BY_FLOW,
                &QUEUE_LENGTHS,
            )?,
            waiting: histograms(
                "request_wait_duration_seconds",
                "Time that requests have waited in a queue.",
                &["execute", "flow_schema", "priority_level"],
                &DURATIONS,
            )?,
            execution: histograms(
                "request_execution_seconds",
                "Time that requests have executed; watches until they have sent their initial events.",
                &["flow_schema", "priority_level", "type"],
                &DURATIONS,
            )?,
            watch_count: histograms(
                "watch_count_samples",
                "Watches that a write may wake.",
                &BY_FLOW,
                &WATCH_COUNTS,
            )?,
            seats: histograms(
                "work_estimated_seats",
                "Seats of requests: the most that each occupies.",
                &BY_FLOW,
                &SEATS,
            )?,
            fair_fraction: fraction.with(&[]),
        })))
    }

    pub(crate) fn fair_fraction(&self, fraction: f64) {
        self.0.fair_fraction.set(fraction);
    }

    pub(crate) fn epoch_advanced(&self, level: &str) {
        self.0.epochs.with(&[level, "true"]).inc();
    }

    /// Returns the metrics of a flow schema.
    pub(crate) fn flow(&self, level: &str, schema: &str) -> FlowMetrics {
        FlowMetrics {
            families: self.clone(),
            level: level.into(),
            schema: schema.into(),
            rejected: Default::default(),
            dispatched: OnceLock::new(),
            not_accommodated: OnceLock::new(),
            in_queue: OnceLock::new(),
            executing: OnceLock::new(),
            queue_length: OnceLock::new(),
            waiting: Default::default(),
            execution: Default::default(),
            watch_count: OnceLock::new(),
            seats: OnceLock::new(),
        }
    }
}

/// The metrics of a flow schema in its priority level.
pub(crate) struct FlowMetrics {
    families: Metrics,
    level: Box<str>,
    schema: Box<str>,
    rejected: [OnceLock<Counter>; 3],
    dispatched: OnceLock<Counter>,
    not_accommodated: OnceLock<Counter>,
    in_queue: OnceLock<(Gauge, Gauge)>,
    executing: OnceLock<(Gauge, Gauge)>,
    queue_length: OnceLock<Histogram>,
    /// By whether the request was let in.
    waiting: [OnceLock<Histogram>; 2],
    /// By whether the request is a watch.
    execution: [OnceLock<Histogram>; 2],
    watch_count: OnceLock<Histogram>,
    seats: OnceLock<Histogram>,
}

impl FlowMetrics {
    fn labels(&self) -> [&str; 2] {
        [&self.schema, &self.level]
    }

    fn families(&self) -> &Families {
        &self.families.0
    }

    pub(crate) fn rejected(&self, reason: Reason) {
        let counter = self.rejected[reason as usize]
            .get_or_init(|| self.families().rejected.with(&[&self.schema, &self.level, reason.label()]));
        counter.inc();
    }

    pub(crate) fn dispatched(&self) {
        self.dispatched.get_or_init(|| self.families().dispatched.with(&self.labels())).inc();
    }

    pub(crate) fn not_accommodated(&self) {
        self.not_accommodated.get_or_init(|| self.families().not_accommodated.with(&self.labels())).inc();
    }

    /// Counts a request that begins or ends to wait with its seats.
    pub(crate) fn in_queue(&self, requests: i64, seats: i64) {
        let families = self.families();
        let (request_gauge, seat_gauge) = self.in_queue.get_or_init(|| {
            (families.in_queue_requests.with(&self.labels()), families.in_queue_seats.with(&self.labels()))
        });
        request_gauge.add(requests);
        seat_gauge.add(seats);
    }

    /// Counts a request that begins or ends to execute, and seats that it takes or gives back.
    pub(crate) fn executing(&self, requests: i64, seats: i64) {
        let families = self.families();
        let (request_gauge, seat_gauge) = self.executing.get_or_init(|| {
            (families.executing_requests.with(&self.labels()), families.executing_seats.with(&self.labels()))
        });
        request_gauge.add(requests);
        seat_gauge.add(seats);
    }

    pub(crate) fn queue_length(&self, length: usize) {
        let histogram = self.queue_length.get_or_init(|| self.families().queue_length.with(&self.labels()));
        histogram.observe(length as f64);
    }

    pub(crate) fn waited(&self, is_let_in: bool, time: Duration) {
        let execute = if is_let_in { "true" } else { "false" };
        let histogram = self.waiting[usize::from(is_let_in)]
            .get_or_init(|| self.families().waiting.with(&[execute, &self.schema, &self.level]));
        histogram.observe(time.as_secs_f64());
    }

    pub(crate) fn executed(&self, is_watch: bool, time: Duration) {
        let kind = if is_watch { "watch" } else { "regular" };
        let histogram = self.execution[usize::from(is_watch)]
            .get_or_init(|| self.families().execution.with(&[&self.schema, &self.level, kind]));
        histogram.observe(time.as_secs_f64());
    }

    pub(crate) fn watch_count(&self, count: usize) {
        let histogram = self.watch_count.get_or_init(|| self.families().watch_count.with(&self.labels()));
        histogram.observe(count as f64);
    }

    pub(crate) fn seats(&self, seats: usize) {
        self.seats.get_or_init(|| self.families().seats.with(&self.labels())).observe(seats as f64);
    }
}
