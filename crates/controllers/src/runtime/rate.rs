//! Rate limits of retries: exponential backoff per item, and a token bucket over all items. The defaults are client-go's.

use std::time::{Duration, Instant};

/// The limits of a queue's retries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimits {
    /// The delay of an item's first retry; each further one takes twice as long.
    pub base_delay: Duration,
    pub max_delay: Duration,
    /// Retries per second over all items, once the burst is used up.
    pub per_second: f64,
    pub burst: f64,
}

impl Default for RateLimits {
    fn default() -> RateLimits {
        RateLimits {
            base_delay: Duration::from_millis(5),
            max_delay: Duration::from_secs(1000),
            per_second: 10.0,
            burst: 100.0,
        }
    }
}

impl RateLimits {
    /// Returns the delay of an item that has failed `failures` times before.
    pub(super) fn backoff(&self, failures: u32) -> Duration {
        let factor = 1u32.checked_shl(failures).unwrap_or(u32::MAX);
        self.base_delay.checked_mul(factor).unwrap_or(self.max_delay).min(self.max_delay)
    }
}

/// A token bucket. Tokens may be taken ahead of time: then the taker waits.
pub(super) struct Bucket {
    tokens: f64,
    updated: Instant,
}

impl Bucket {
    pub(super) fn full(limits: &RateLimits, now: Instant) -> Bucket {
        Bucket { tokens: limits.burst, updated: now }
    }

    /// Takes a token, and returns the time until it is there.
    pub(super) fn take(&mut self, limits: &RateLimits, now: Instant) -> Duration {
        let refilled = now.saturating_duration_since(self.updated).as_secs_f64() * limits.per_second;
        self.tokens = (self.tokens + refilled).min(limits.burst) - 1.0;
        self.updated = now;
        Duration::from_secs_f64((-self.tokens / limits.per_second).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_the_maximum() {
        let limits = RateLimits::default();
        let millis = |failures| limits.backoff(failures).as_millis();
        assert_eq!([0, 1, 2, 10].map(millis), [5, 10, 20, 5120]);
        assert_eq!([18, 31, 32, 1000].map(millis), [1_000_000; 4]);
    }

    #[test]
    fn a_burst_passes_and_the_rest_waits_its_turn() {
        let (limits, now) = (RateLimits { burst: 3.0, ..RateLimits::default() }, Instant::now());
        let mut bucket = Bucket::full(&limits, now);
        let mut take = |at: u64| bucket.take(&limits, now + Duration::from_millis(at)).as_millis();
        assert_eq!([0, 0, 0, 0, 0].map(&mut take), [0, 0, 0, 100, 200]);
        assert_eq!(take(300), 0, "two tokens were taken ahead, and three came");
    }
}
