//! One priority level: its seats and queues behind a mutex that is held for less than a microsecond.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::borrowing::SeatDemand;
use crate::metrics::Metrics;
use crate::queues::{Limits, QueueSet};
use crate::{LevelSpec, Response};

/// A priority level in effect, or one that drains after it was deleted.
pub(crate) struct Level {
    pub(crate) name: Box<str>,
    metrics: Metrics,
    state: Mutex<State>,
    /// The most seats that the estimate for one request may have; zero for no limit.
    most_seats: AtomicU64,
    /// Whether it goes when its last request has ended.
    is_quiescing: AtomicBool,
}

pub(crate) struct State {
    pub(crate) set: QueueSet,
    pub(crate) response: Response,
    pub(crate) seats: Seats,
    pub(crate) demand: SeatDemand,
}

/// The seats of a level, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seats {
    /// By its share.
    pub(crate) nominal: usize,
    /// Without those that it lends at most.
    pub(crate) least: usize,
    /// With those that it borrows at most.
    pub(crate) most: usize,
    pub(crate) current: usize,
}

impl Level {
    pub(crate) fn new(spec: &LevelSpec, metrics: &Metrics, now: u64) -> Level {
        Level {
            name: spec.name.as_str().into(),
            metrics: metrics.clone(),
            state: Mutex::new(State {
                set: QueueSet::new(now),
                response: spec.response,
                seats: Seats::default(),
                demand: SeatDemand::default(),
            }),
            most_seats: AtomicU64::new(0),
            is_quiescing: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `operation` under the lock, and wakes the requests that may go on when it is released.
    pub(crate) fn with<T>(&self, operation: impl FnOnce(&mut State) -> T) -> T {
        let (result, woken, epochs) = {
            let mut state = self.state();
            let result = operation(&mut state);
            (result, state.set.take_woken(), state.set.take_epochs())
        };
        woken.into_iter().for_each(std::task::Waker::wake);
        (0..epochs).for_each(|_| self.metrics.epoch_advanced(&self.name));
        result
    }

    pub(crate) fn most_seats(&self) -> u64 {
        self.most_seats.load(Ordering::Relaxed)
    }

    pub(crate) fn set_most_seats(&self, most: u64) {
        self.most_seats.store(most, Ordering::Relaxed);
    }

    pub(crate) fn is_quiescing(&self) -> bool {
        self.is_quiescing.load(Ordering::Relaxed)
    }

    pub(crate) fn set_quiescing(&self, is_quiescing: bool) {
        self.is_quiescing.store(is_quiescing, Ordering::Relaxed);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.state().set.is_idle()
    }
}

impl State {
    /// Sets the limit on seats that holds from now on. `server`: the seats of the whole server.
    pub(crate) fn set_current(&mut self, current: usize, server: usize, now: u64) {
        self.seats.current = current;
        let denominator = match current {
            0 => (server as f64 / 10.0).round().max(1.0) as usize,
            current => current,
        };
        self.set.configure(self.response, Limits { seats: current, denominator }, now);
    }
}
