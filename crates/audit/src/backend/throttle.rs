//! A limit on how often a backend gets a batch: a bucket of tokens.

use std::time::{Duration, Instant};

use pintle_runtime::Clock;

/// The rate of batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThrottleConfig {
    /// Batches a second on average.
    pub qps: f64,
    /// Batches at once.
    pub burst: u32,
}

pub(super) struct Throttle {
    config: ThrottleConfig,
    clock: Clock,
    tokens: f64,
    filled: Instant,
}

impl Throttle {
    pub(super) fn new(config: ThrottleConfig, clock: Clock) -> Throttle {
        let filled = clock.instant();
        Throttle { config, clock, tokens: f64::from(config.burst), filled }
    }

    /// Waits for a token and takes it.
    pub(super) async fn take(&mut self) {
        loop {
            let now = self.clock.instant();
            let since = now.saturating_duration_since(self.filled).as_secs_f64();
            let (rate, most) = (self.config.qps, f64::from(self.config.burst));
            self.tokens = (self.tokens + since * rate).min(most);
            self.filled = now;
            if self.tokens >= 1.0 {
                self.tokens -= 1.0;
                return;
            }
            let wait = ((1.0 - self.tokens) / rate).clamp(0.000_1, 3600.0);
            self.clock.sleep(Duration::from_secs_f64(wait)).await;
        }
    }
}
