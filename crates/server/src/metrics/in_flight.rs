//! How many requests were worked on at once, at most, in the second before: what there is at the moment of a scrape says
//! little about a server whose requests take milliseconds.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use prometheus::IntGauge;

use super::{Maker, Metrics};

pub(super) struct InFlight {
    began: Instant,
    read_only: Watermark,
    mutating: Watermark,
}

struct Watermark {
    shown: IntGauge,
    marks: Mutex<Marks>,
}

/// Seconds are counted from the server's start.
#[derive(Default)]
struct Marks {
    second: u64,
    /// In this second so far...
    highest: usize,
    /// ...and in the one before.
    before: usize,
}

impl Marks {
    fn come_to(&mut self, second: u64) {
        if second > self.second {
            self.before = if second == self.second + 1 { self.highest } else { 0 };
            (self.second, self.highest) = (second, 0);
        }
    }
}

impl Watermark {
    fn at(&self, second: u64, act: impl FnOnce(&mut Marks)) {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.come_to(second);
        act(&mut marks);
    }
}

impl InFlight {
    pub(super) fn new(maker: &Maker<'_>) -> Result<InFlight, prometheus::Error> {
        let gauge = maker.gauge(
            "apiserver_current_inflight_requests",
            "Requests worked on at once, long-running ones aside: the most of them in the last second.",
            &["request_kind"],
        )?;
        let watermark = |kind| Watermark { shown: gauge.with(&[kind]), marks: Mutex::default() };
        Ok(InFlight {
            began: Instant::now(),
            read_only: watermark("readOnly"),
            mutating: watermark("mutating"),
        })
    }

    fn second(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.began).as_secs()
    }

    /// Called before figures are shown.
    pub(super) fn settle(&self, now: Instant) {
        for watermark in [&self.read_only, &self.mutating] {
            let show = |marks: &mut Marks| {
                watermark.shown.set(i64::try_from(marks.before).unwrap_or(i64::MAX));
            };
            watermark.at(self.second(now), show);
        }
    }
}

impl Metrics {
    /// So many requests of a kind are worked on now that one more has begun or ended.
    pub(crate) fn working_on(&self, mutating: bool, count: usize, now: Instant) {
        let all = &self.0.in_flight;
        let watermark = if mutating { &all.mutating } else { &all.read_only };
        watermark.at(all.second(now), |marks| marks.highest = marks.highest.max(count));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::MetricsOptions;

    #[test]
    fn the_most_of_the_last_second_is_shown() {
        let metrics = Metrics::new(&MetricsOptions::default()).unwrap();
        let began = metrics.0.in_flight.began;
        let at = |millis| began + Duration::from_millis(millis);
        for (millis, count) in [(100, 1), (200, 7), (300, 2), (1100, 3)] {
            metrics.working_on(true, count, at(millis));
        }
        let shown = |millis| {
            metrics.0.in_flight.settle(at(millis));
            metrics.0.in_flight.mutating.shown.get()
        };
        assert_eq!(shown(1200), 7, "of the second before, not of this one");
        assert_eq!(shown(2500), 3);
        assert_eq!(shown(3500), 0, "nothing has begun or ended since");
        assert_eq!(metrics.0.in_flight.read_only.shown.get(), 0);
    }
}
