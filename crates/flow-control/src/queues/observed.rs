//! Measurements of a priority level: its demand for seats, and the use of its limits over time.

use pintle_metrics::{Sample, TimedRatio};

use crate::integrator::{Demand, Integrator};

pub(crate) const DEMAND: &[f64] = &[0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.7, 2.0, 2.8, 4.0, 6.0];
pub(crate) const REQUESTS: &[f64] = &[0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1.0];
pub(crate) const SEATS: &[f64] = &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0];

/// The measurements of a priority level. They change with its requests, under its lock.
pub(crate) struct Observed {
    demand: Integrator,
    demand_ratio: TimedRatio,
    waiting: TimedRatio,
    executing: TimedRatio,
    seats: TimedRatio,
}

/// The histograms of a priority level.
pub(crate) struct Samples {
    pub(crate) demand: Sample,
    pub(crate) waiting: Sample,
    pub(crate) executing: Sample,
    pub(crate) seats: Sample,
}

impl Observed {
    pub(super) fn new() -> Observed {
        Observed {
            demand: Integrator::default(),
            demand_ratio: TimedRatio::new(DEMAND),
            waiting: TimedRatio::new(REQUESTS),
            executing: TimedRatio::new(REQUESTS),
            seats: TimedRatio::new(SEATS),
        }
    }

    pub(super) fn pass(&mut self, nanoseconds: u64) {
        self.demand.pass(nanoseconds);
        for ratio in [&mut self.demand_ratio, &mut self.waiting, &mut self.executing, &mut self.seats] {
            ratio.pass(nanoseconds);
        }
    }

    /// Notes the state from now on.
    pub(super) fn set(
        &mut self,
        waiting: usize,
        executing: usize,
        seats_in_use: usize,
        seats_waiting: usize,
    ) {
        let demand = (seats_in_use + seats_waiting) as f64;
        self.demand.set(demand);
        self.demand_ratio.set(demand);
        self.waiting.set(waiting as f64);
        self.executing.set(executing as f64);
        self.seats.set(seats_in_use as f64);
    }

    /// Sets the limits: on seats, and on waiting requests.
    pub(super) fn set_limits(&mut self, seats: f64, waiting: f64) {
        for ratio in [&mut self.demand_ratio, &mut self.executing, &mut self.seats] {
            ratio.set_denominator(seats);
        }
        self.waiting.set_denominator(waiting);
    }

    pub(super) fn take_demand(&mut self) -> Demand {
        self.demand.take()
    }

    pub(super) fn samples(&self) -> Samples {
        Samples {
            demand: self.demand_ratio.sample(),
            waiting: self.waiting.sample(),
            executing: self.executing.sample(),
            seats: self.seats.sample(),
        }
    }
}
