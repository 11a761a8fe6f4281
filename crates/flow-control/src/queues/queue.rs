//! One queue of a priority level.

use super::entries::List;
use crate::work::SeatSeconds;

#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    /// Requests that want their seats back, which go first.
    pub(crate) resuming: List,
    pub(crate) waiting: List,
    pub(crate) executing: usize,
    /// Seats of requests that execute, or that have ended and keep them for a while.
    pub(crate) seats_in_use: usize,
    /// Virtual time at which the next request begins.
    pub(crate) next_dispatch: SeatSeconds,
    /// Sums over the requests that wait.
    pub(crate) work_waiting: SeatSeconds,
    pub(crate) seats_waiting: usize,
    pub(crate) initial_seats_waiting: usize,
}

impl Queue {
    pub(crate) fn waits(&self) -> bool {
        !self.waiting.is_empty() || !self.resuming.is_empty()
    }

    /// Returns whether it shares in the seats by virtual time.
    pub(super) fn is_active(&self) -> bool {
        self.executing > 0 || self.waits()
    }

    /// Returns whether nothing refers to it.
    pub(super) fn is_unused(&self) -> bool {
        !self.is_active() && self.seats_in_use == 0
    }
}
