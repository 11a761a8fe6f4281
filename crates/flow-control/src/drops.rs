//! `Retry-After`: it grows while a priority level refuses many requests, and shrinks when it no longer does.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// The longest time in seconds that a client is asked to wait.
const LONGEST: u64 = 32;

/// The refused requests of all priority levels.
#[derive(Debug, Default)]
pub(crate) struct DropTracker(Mutex<HashMap<Box<str>, Drops>>);

/// The refused requests of one priority level.
#[derive(Debug)]
struct Drops {
    /// Seconds with refused requests, before the current one, and their numbers.
    history: VecDeque<(u64, u64)>,
    second: u64,
    count: u64,
    retry_after: u64,
    /// The second of the last increase.
    raised: u64,
}

impl DropTracker {
    /// Counts a refused request in a second since 1970. Returns the seconds after which its client may try again.
    pub(crate) fn record(&self, level: &str, second: u64) -> u64 {
        let mut levels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !levels.contains_key(level) {
            levels.insert(level.into(), Drops::new());
        }
        levels.get_mut(level).map_or(1, |drops| {
            drops.record(second);
            drops.retry_after
        })
    }

    pub(crate) fn forget(&self, level: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(level);
    }
}

impl Drops {
    fn new() -> Drops {
        Drops { history: VecDeque::new(), second: 0, count: 0, retry_after: 1, raised: 0 }
    }

    fn record(&mut self, second: u64) {
        if second == self.second {
            self.count += 1;
            return;
        }
        self.history.push_back((self.second, self.count));
        let longest = (2 * self.retry_after).min(LONGEST);
        let last = self.second;
        while self.history.front().is_some_and(|(at, _)| last.saturating_sub(*at) > longest) {
            self.history.pop_front();
        }
        (self.second, self.count) = (second, 1);
        self.adjust(second);
    }

    /// Doubles the time if three requests were refused for each second of it, at most once in that time; shortens it by a second
    /// if less than one was.
    fn adjust(&mut self, second: u64) {
        let current = self.retry_after;
        let recent = self.history.iter().rev().take_while(|(at, _)| second.saturating_sub(*at) <= current);
        let dropped: u64 = recent.filter(|(at, _)| *at < second).map(|(_, count)| count).sum();
        if second.saturating_sub(self.raised) >= current && dropped >= 3 * current {
            self.retry_after = (2 * current).min(LONGEST);
            self.raised = second;
        } else if dropped < current && current > 1 {
            self.retry_after -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drop_many(tracker: &DropTracker, second: u64, count: usize) -> u64 {
        (0..count).map(|_| tracker.record("a", second)).last().unwrap()
    }

    #[test]
    fn the_time_doubles_under_load_and_shrinks_by_a_second_after_it() {
        let tracker = DropTracker::default();
        let start = 1_000_000;
        assert_eq!(drop_many(&tracker, start, 5), 1);
        assert_eq!(drop_many(&tracker, start + 1, 1), 2, "5 are more than 3 for 1 second");
        assert_eq!(drop_many(&tracker, start + 2, 20), 2, "it was raised a second ago");
        assert_eq!(drop_many(&tracker, start + 3, 20), 4);
        assert_eq!(drop_many(&tracker, start + 100, 1), 3, "no request was refused since");
        assert_eq!(drop_many(&tracker, start + 200, 1), 2);
        assert_eq!(tracker.record("b", start), 1, "levels are independent");
        tracker.forget("a");
        assert_eq!(drop_many(&tracker, start + 201, 1), 1);
    }

    #[test]
    fn the_time_is_bounded() {
        let tracker = DropTracker::default();
        let highest = (0..1000).map(|second| drop_many(&tracker, 50 + second, 200)).max();
        assert_eq!(highest, Some(LONGEST));
    }
}
