//! The highest number of requests in flight during the last second. The number at the moment of a scrape would say little
//! about a server whose requests take milliseconds.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pintle_metrics::{Error, Registry};
use pintle_runtime::Stopwatch;

use super::Metrics;

pub(super) struct InFlight {
    since_start: Stopwatch,
    read_only: Mutex<Watermark>,
    mutating: Mutex<Watermark>,
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
            read_only: Mutex::default(),
            mutating: Mutex::default(),
        });
        let exposed = in_flight.clone();
        registry.gauges_at_scrape(
            "apiserver_current_inflight_requests",
            "Requests worked on at once, long-running ones aside: the most of them in the last second.",
            &["request_kind"],
            move |gauges| {
                let elapsed = exposed.since_start.elapsed();
                for (kind, watermark) in [("readOnly", &exposed.read_only), ("mutating", &exposed.mutating)] {
                    let mut watermark = watermark.lock().unwrap_or_else(PoisonError::into_inner);
                    gauges.with(&[kind]).set(watermark.of_last_second(elapsed) as f64);
                }
            },
        )?;
        Ok(in_flight)
    }
}

impl Metrics {
    /// Notes the number of requests in flight after one has begun or ended.
    pub(crate) fn in_flight(&self, mutating: bool, count: usize) {
        let InFlight { since_start, read_only, mutating: writing } = &*self.0.in_flight;
        let watermark = if mutating { writing } else { read_only };
        watermark.lock().unwrap_or_else(PoisonError::into_inner).note(since_start.elapsed(), count);
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
