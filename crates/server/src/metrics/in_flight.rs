//! The highest number of requests in flight during the last second. The number at the moment of a scrape would say little
//! about a server whose requests take milliseconds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pintle_flow_control::Phase;
use pintle_metrics::{Error, FloatGauges, Registry};
use pintle_runtime::Stopwatch;

use super::Metrics;

pub(super) struct InFlight {
    since_start: Stopwatch,
    executing: Kinds,
    /// Requests in queues, exposed where there are queues.
    queued: Kinds,
    has_queues: AtomicBool,
}

#[derive(Default)]
struct Kinds {
    read_only: Mutex<Watermark>,
    mutating: Mutex<Watermark>,
}

impl Kinds {
    fn note(&self, mutating: bool, elapsed: Duration, count: usize) {
        let watermark = if mutating { &self.mutating } else { &self.read_only };
        watermark.lock().unwrap_or_else(PoisonError::into_inner).note(elapsed, count);
    }

    fn expose(&self, gauges: &FloatGauges, elapsed: Duration) {
        for (kind, watermark) in [("readOnly", &self.read_only), ("mutating", &self.mutating)] {
            let mut watermark = watermark.lock().unwrap_or_else(PoisonError::into_inner);
            gauges.with(&[kind]).set(watermark.of_last_second(elapsed) as f64);
        }
    }
}

/// The highest numbers of the current second and of the one before. Seconds are counted from the server's start.
#[derive(Default)]
struct Watermark {
    second: u64,
    highest: usize,
    highest_before: usize,
}

impl Watermark {
    fn advance_to(&mut self, elapsed: Duration) {
        let second = elapsed.as_secs();
        if second > self.second {
            self.highest_before = if second == self.second + 1 { self.highest } else { 0 };
            (self.second, self.highest) = (second, 0);
        }
    }

    fn note(&mut self, elapsed: Duration, count: usize) {
        self.advance_to(elapsed);
        self.highest = self.highest.max(count);
    }

    fn of_last_second(&mut self, elapsed: Duration) -> usize {
        self.advance_to(elapsed);
        self.highest_before
    }
}

impl InFlight {
    pub(super) fn new(registry: &Registry) -> Result<Arc<InFlight>, Error> {
        let in_flight = Arc::new(InFlight {
            since_start: Stopwatch::start(),
            executing: Kinds::default(),
            queued: Kinds::default(),
            has_queues: AtomicBool::new(false),
        });
        let exposed = in_flight.clone();
        registry.gauges_at_scrape(
            "apiserver_current_inflight_requests",
            "Requests worked on at once, long-running ones aside: the most of them in the last second.",
            &["request_kind"],
            move |gauges| exposed.executing.expose(gauges, exposed.since_start.elapsed()),
        )?;
        let exposed = in_flight.clone();
        registry.gauges_at_scrape(
            "apiserver_current_inqueue_requests",
            "Requests in queues: the most of them in the last second.",
            &["request_kind"],
            move |gauges| {
                if exposed.has_queues.load(Ordering::Relaxed) {
                    exposed.queued.expose(gauges, exposed.since_start.elapsed());
                }
            },
        )?;
        Ok(in_flight)
    }
}

impl Metrics {
    /// Notes the number of requests in flight after one has begun or ended.
    pub(crate) fn in_flight(&self, mutating: bool, count: usize) {
        let InFlight { since_start, executing, .. } = &*self.0.in_flight;
        executing.note(mutating, since_start.elapsed(), count);
    }

    /// Returns a function that notes the numbers of requests that execute and wait under flow control.
    pub fn flow_control_note(&self) -> Arc<dyn Fn(Phase, bool, usize) + Send + Sync> {
        let in_flight = self.0.in_flight.clone();
        in_flight.has_queues.store(true, Ordering::Relaxed);
        Arc::new(move |phase, mutating, count| {
            let kinds = match phase {
                Phase::Executing => &in_flight.executing,
                Phase::Waiting => &in_flight.queued,
            };
            kinds.note(mutating, in_flight.since_start.elapsed(), count);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watermark_is_the_highest_number_of_the_second_before() {
        let (mut watermark, at) = (Watermark::default(), Duration::from_millis);
        for (millis, count) in [(100, 1), (200, 7), (300, 2), (1100, 3)] {
            watermark.note(at(millis), count);
        }
        assert_eq!(watermark.of_last_second(at(1200)), 7, "not of the current second");
        assert_eq!(watermark.of_last_second(at(2500)), 3);
        assert_eq!(watermark.of_last_second(at(3500)), 0, "no request has begun or ended since");
    }

    #[test]
    fn both_kinds_of_requests_are_exposed_from_the_start() {
        let metrics = Metrics::for_tests();
        metrics.in_flight(true, 1);
        let text = String::from_utf8(metrics.registry().render().unwrap()).unwrap();
        for kind in ["readOnly", "mutating"] {
            let line = format!("apiserver_current_inflight_requests{{request_kind=\"{kind}\"}} 0\n");
            assert!(text.contains(&line), "{text}");
        }
    }
}
