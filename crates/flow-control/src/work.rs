//! Work, in seats and seat-seconds.

use std::fmt;
use std::time::Duration;

/// Parts of a seat-second.
const SCALE: u64 = 100_000_000;

/// An amount of work: one second of one seat is 100,000,000 parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SeatSeconds(pub(crate) u64);

impl SeatSeconds {
    pub(crate) const ZERO: SeatSeconds = SeatSeconds(0);
    pub(crate) const MAX: SeatSeconds = SeatSeconds(u64::MAX);

    /// Returns the work of so many seats during so many nanoseconds.
    pub(crate) fn of(seats: f64, nanoseconds: u64) -> SeatSeconds {
        SeatSeconds((seats * nanoseconds as f64 * (SCALE as f64 / 1e9)).round() as u64)
    }

    pub(crate) fn plus(self, other: SeatSeconds) -> SeatSeconds {
        SeatSeconds(self.0.saturating_add(other.0))
    }

    pub(crate) fn minus(self, other: SeatSeconds) -> SeatSeconds {
        SeatSeconds(self.0.saturating_sub(other.0))
    }

    pub(crate) fn to_float(self) -> f64 {
        self.0 as f64 / SCALE as f64
    }

    /// Returns the time in which so many seats do this work.
    pub(crate) fn duration_per_seat(self, seats: u64) -> Duration {
        match seats {
            0 => Duration::ZERO,
            seats => Duration::from_nanos((self.0 as f64 / seats as f64 * (1e9 / SCALE as f64)) as u64),
        }
    }
}

impl fmt::Display for SeatSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:08}ss", self.0 / SCALE, self.0 % SCALE)
    }
}

/// The expected work of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkEstimate {
    /// Seats while the request executes.
    pub initial_seats: u64,
    /// Seats after its answer, for the watchers that it woke.
    pub final_seats: u64,
    /// How long it keeps its seats after its answer.
    pub additional_latency: Duration,
}

impl WorkEstimate {
    /// Returns the estimate of a request that occupies seats only while it executes.
    pub const fn seats(initial_seats: u64) -> WorkEstimate {
        WorkEstimate { initial_seats, final_seats: 0, additional_latency: Duration::ZERO }
    }

    /// Returns the seats that the request occupies from its start to its end.
    pub fn max_seats(&self) -> usize {
        usize::try_from(self.initial_seats.max(self.final_seats)).unwrap_or(usize::MAX)
    }

    pub(crate) fn final_work(&self) -> SeatSeconds {
        SeatSeconds::of(self.final_seats as f64, nanoseconds(self.additional_latency))
    }
}

/// Returns a duration in nanoseconds, at most half a millennium of them.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_printed_as_the_reference_prints_it() {
        assert_eq!(SeatSeconds::of(1.0, 3_000_000).to_string(), "0.00300000ss");
        assert_eq!(SeatSeconds::of(2.5, 10_000_000_000).to_string(), "25.00000000ss");
    }

    #[test]
    fn work_is_reshaped_without_loss() {
        let work = SeatSeconds::of(20.0, 5_000_000);
        assert_eq!(work.duration_per_seat(10), Duration::from_millis(10));
        assert_eq!(work.duration_per_seat(0), Duration::ZERO);
    }
}
