//! The pace of repairs. Where another controller wants an object otherwise, each change of one is an event for the other: without a
//! pace both would write as fast as they can.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pintle_runtime::Clock;

use crate::runtime::Key;

/// Repairs of an object that are made at once.
const AT_ONCE: u32 = 5;
const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(10 * 60);
/// An object that needed no repair for this long is as good as new.
const QUIET: Duration = Duration::from_secs(30 * 60);

/// Repairs of the objects of a controller.
pub(crate) struct Repairs {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    made: HashMap<Key, Made>,
    /// The number of objects at which those that are quiet are forgotten.
    limit: usize,
}

/// The repairs of an object.
struct Made {
    count: u32,
    last: Instant,
}

impl Repairs {
    pub(crate) fn new(clock: Clock) -> Repairs {
        Repairs { clock, state: Mutex::new(State { limit: 64, ..State::default() }) }
    }

    /// Returns how long the repair of an object has to wait; `None` if it may be made now, which is counted.
    pub(crate) fn wait(&self, object: &str) -> Option<Duration> {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.instant();
        let since = |made: &Made| now.saturating_duration_since(made.last);
        if let Some(made) = state.made.get_mut(object).filter(|made| since(made) < QUIET) {
            let delay = delay(made.count).saturating_sub(since(made));
            if !delay.is_zero() {
                return Some(delay);
            }
            *made = Made { count: made.count.saturating_add(1), last: now };
            return None;
        }
        if state.made.len() >= state.limit {
            state.made.retain(|_, made| since(made) < QUIET);
            state.limit = (2 * state.made.len()).max(64);
        }
        state.made.insert(object.into(), Made { count: 1, last: now });
        None
    }
}

/// Returns the least time between the last of some repairs and the next one.
fn delay(count: u32) -> Duration {
    match count.checked_sub(AT_ONCE) {
        None => Duration::ZERO,
        Some(more) => FIRST_DELAY
            .checked_mul(1u32.checked_shl(more).unwrap_or(u32::MAX))
            .unwrap_or(LONGEST_DELAY)
            .min(LONGEST_DELAY),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use pintle_runtime::ManualClock;

    use super::*;

    #[test]
    fn a_dispute_slows_down_and_is_forgotten() {
        let clock = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let repairs = Repairs::new(clock.clock());
        for _ in 0..AT_ONCE {
            assert_eq!(repairs.wait("a"), None);
        }
        let seconds = Duration::from_secs;
        assert_eq!(repairs.wait("a"), Some(seconds(1)));
        assert_eq!(repairs.wait("b"), None, "another object is its own matter");
        clock.advance(seconds(1));
        assert_eq!(repairs.wait("a"), None);
        assert_eq!(repairs.wait("a"), Some(seconds(2)));
        // Once per ten minutes in the long run.
        let mut made = 0;
        for _ in 0..24 * 60 {
            clock.advance(seconds(60));
            made += u32::from(repairs.wait("a").is_none());
        }
        assert!((144..160).contains(&made), "{made}");
        clock.advance(QUIET);
        for _ in 0..AT_ONCE {
            assert_eq!(repairs.wait("a"), None);
        }
    }

    #[test]
    fn quiet_objects_take_no_room() {
        let clock = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let repairs = Repairs::new(clock.clock());
        for number in 0..10_000 {
            repairs.wait(&number.to_string());
            clock.advance(QUIET / 100);
        }
        assert!(repairs.state.lock().unwrap().made.len() <= 256);
    }
}
