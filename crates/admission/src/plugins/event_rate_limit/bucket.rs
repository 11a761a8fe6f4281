//! Token buckets.

use std::time::Instant;

/// The size and the rate of buckets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    pub(super) per_second: f64,
    pub(super) burst: f64,
}

/// A bucket, which is full at first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    tokens: f64,
    last: Instant,
}

impl Bucket {
    pub(super) fn new(rate: Rate, now: Instant) -> Bucket {
        Bucket { tokens: rate.burst, last: now }
    }

    /// Takes a token, if there is one.
    pub(super) fn take(&mut self, rate: Rate, now: Instant) -> bool {
        let elapsed = now.saturating_duration_since(self.last).as_secs_f64();
        let tokens = (self.tokens + elapsed * rate.per_second).min(rate.burst);
        // A part of a token that less than a nanosecond would bring counts as there.
        let is_enough = (1.0 - tokens) / rate.per_second < 1e-9;
        if is_enough {
            (self.tokens, self.last) = (tokens - 1.0, now);
        }
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_is_followed_by_the_rate() {
        let (rate, start) = (Rate { per_second: 2.0, burst: 3.0 }, Instant::now());
        let mut bucket = Bucket::new(rate, start);
        let mut taken = |millis: u64| {
            let now = start + Duration::from_millis(millis);
            (0..10).filter(|_| bucket.take(rate, now)).count()
        };
        assert_eq!([taken(0), taken(499), taken(500), taken(999), taken(2000)], [3, 0, 1, 0, 3]);
        // Tokens beyond the burst are lost.
        assert_eq!([taken(100_000), taken(100_000)], [3, 0]);
    }
}
