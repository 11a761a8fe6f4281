//! The clock of a control plane.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch;

/// Tells the time of day and monotonic time, and sleeps. Clones are the same clock.
#[derive(Clone, Default)]
pub struct Clock(Option<Arc<ManualClock>>);

impl Clock {
    /// Returns the clock of the machine.
    pub fn system() -> Clock {
        Clock(None)
    }

    /// Returns the time of day, which may jump.
    pub fn now(&self) -> SystemTime {
        match &self.0 {
            None => SystemTime::now(),
            Some(manual) => manual.start + manual.elapsed(),
        }
    }

    /// Returns monotonic time, for deadlines and ages.
    pub fn instant(&self) -> Instant {
        match &self.0 {
            None => Instant::now(),
            Some(manual) => manual.monotonic_start + manual.elapsed(),
        }
    }

    /// Waits until `duration` has passed on this clock.
    pub async fn sleep(&self, duration: Duration) {
        match &self.0 {
            None => tokio::time::sleep(duration).await,
            Some(manual) => manual.reached(manual.elapsed().saturating_add(duration)).await,
        }
    }

    /// Waits for `future` at most for `duration` of this clock; `None` if it took longer.
    pub async fn timeout<T>(&self, duration: Duration, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            output = future => Some(output),
            () = self.sleep(duration) => None,
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Clock::manual" } else { "Clock::system" })
    }
}

/// A clock that stands still until a test advances it. Sleepers wake when their time has come.
pub struct ManualClock {
    start: SystemTime,
    monotonic_start: Instant,
    elapsed: watch::Sender<Duration>,
}

impl ManualClock {
    pub fn starting_at(start: SystemTime) -> Arc<ManualClock> {
        let elapsed = watch::Sender::new(Duration::ZERO);
        Arc::new(ManualClock { start, monotonic_start: Instant::now(), elapsed })
    }

    /// Returns the clock to hand to a control plane.
    pub fn clock(self: &Arc<ManualClock>) -> Clock {
        Clock(Some(self.clone()))
    }

    pub fn advance(&self, by: Duration) {
        self.elapsed.send_modify(|elapsed| *elapsed += by);
    }

    fn elapsed(&self) -> Duration {
        *self.elapsed.borrow()
    }

    async fn reached(&self, point: Duration) {
        // The sender lives as long as this clock, so waiting cannot fail.
        let _ = self.elapsed.subscribe().wait_for(|elapsed| *elapsed >= point).await;
    }
}

/// Measures how long something really takes, for metrics and logs. It is not part of any plane's time.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    pub fn seconds(&self) -> f64 {
        self.elapsed().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_manual_clock_moves_only_when_advanced() {
        let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let clock = manual.clock();
        let (before, instant) = (clock.now(), clock.instant());
        assert_eq!(before, SystemTime::UNIX_EPOCH);
        manual.advance(Duration::from_secs(5));
        assert_eq!(clock.now(), before + Duration::from_secs(5));
        assert_eq!(clock.instant(), instant + Duration::from_secs(5));
    }

    #[tokio::test]
    async fn a_sleeper_wakes_when_its_time_has_come() {
        let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let clock = manual.clock();
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep(Duration::from_secs(60)).await }
        });
        tokio::task::yield_now().await;
        manual.advance(Duration::from_secs(59));
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());
        manual.advance(Duration::from_secs(1));
        sleeper.await.unwrap();
        assert_eq!(clock.timeout(Duration::from_secs(1), async { 1 }).await, Some(1));
        manual.advance(Duration::from_secs(1));
        assert_eq!(clock.timeout(Duration::ZERO, std::future::pending::<()>()).await, None);
    }
}
