//! The life of a server: named moments that others wait for, hooks around it, and the count of requests that a
//! shutdown waits for.
//!
//! ```text
//! start:     listen -> post-start hooks run -> READY=1 to systemd
//! SIGTERM:   ShutdownInitiated            readyz fails; pre-shutdown hooks run
//!            AfterShutdownDelayDuration   load balancers have had time to notice
//!            NotAcceptingNewRequest       the listener closes, clients get GOAWAY, watches end, at once or by and by
//!            InFlightRequestsDrained      at the latest after the request timeout
//!            the store closes, the process ends
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

pub use pintle_runtime::Signal;
use tokio::sync::Notify;

use crate::handlers::HealthCheck;

/// All moments of a server's life.
#[derive(Clone)]
pub struct Lifecycle {
    pub shutdown_initiated: Signal,
    pub after_shutdown_delay: Signal,
    pub pre_shutdown_hooks_stopped: Signal,
    /// Set when new requests are turned away and long-running ones end.
    pub not_accepting: Signal,
    pub drained: Signal,
    pub stopped_listening: Signal,
    pub has_been_ready: Signal,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Lifecycle {
            shutdown_initiated: Signal::new("ShutdownInitiated"),
            after_shutdown_delay: Signal::new("AfterShutdownDelayDuration"),
            pre_shutdown_hooks_stopped: Signal::new("PreShutdownHooksStopped"),
            not_accepting: Signal::new("NotAcceptingNewRequest"),
            drained: Signal::new("InFlightRequestsDrained"),
            stopped_listening: Signal::new("HTTPServerStoppedListening"),
            has_been_ready: Signal::new("HasBeenReady"),
        }
    }
}

/// Counts the work under way, until it is closed to new work.
#[derive(Clone, Default)]
pub struct Draining(Arc<State>);

#[derive(Default)]
struct State {
    /// The lowest bit: nothing more may begin. The rest: how many are under way, times two.
    bits: AtomicU64,
    empty: Notify,
}

const CLOSED: u64 = 1;
const ONE: u64 = 2;

/// Something under way; dropping it ends it.
pub struct Guard(Arc<State>);

impl Draining {
    /// Begins something, unless draining has begun.
    pub fn enter(&self) -> Option<Guard> {
        let add = |bits: u64| (bits & CLOSED == 0).then_some(bits + ONE);
        self.0.bits.fetch_update(Ordering::AcqRel, Ordering::Acquire, add).ok()?;
        Some(Guard(self.0.clone()))
    }

    pub fn active(&self) -> u64 {
        self.0.bits.load(Ordering::Acquire) / ONE
    }

    /// Lets nothing more begin and returns when the last has ended.
    pub async fn drain(&self) {
        self.0.bits.fetch_or(CLOSED, Ordering::AcqRel);
        loop {
            let empty = self.0.empty.notified();
            if self.active() == 0 {
                return;
            }
            empty.await;
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.0.bits.fetch_sub(ONE, Ordering::AcqRel) == CLOSED + ONE {
            self.0.empty.notify_waiters();
        }
    }
}

/// The least number of watches that end within a second.
const MIN_RATE: f64 = 200.0;

/// Ends the watches of a server one after the other within a grace period, so that their clients do not all go to the next
/// server at once.
pub struct WatchTermination {
    grace: Duration,
    active: AtomicU64,
    ended: AtomicU64,
    /// Watches that end in a second; set when the first one ends.
    rate: OnceLock<f64>,
}

/// A running watch, counted until it is dropped.
pub(crate) struct ActiveWatch(Arc<WatchTermination>);

impl WatchTermination {
    pub fn new(grace: Duration) -> WatchTermination {
        WatchTermination { grace, active: AtomicU64::new(0), ended: AtomicU64::new(0), rate: OnceLock::new() }
    }

    pub(crate) fn enter(self: &Arc<WatchTermination>) -> ActiveWatch {
        self.active.fetch_add(1, Ordering::Relaxed);
        ActiveWatch(self.clone())
    }
}

impl ActiveWatch {
    /// Returns how long this watch goes on after the shutdown began. Called once by every watch.
    pub(crate) fn delay(&self) -> Duration {
        let WatchTermination { grace, active, ended, rate } = &*self.0;
        let all = active.load(Ordering::Relaxed) as f64;
        let rate = rate.get_or_init(|| (all / grace.as_secs_f64()).max(MIN_RATE));
        let before = ended.fetch_add(1, Ordering::Relaxed) as f64;
        Duration::from_secs_f64(before / rate).min(*grace)
    }
}

impl Drop for ActiveWatch {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(crate) type HookFuture = std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;
pub(crate) type Hook = Box<dyn FnOnce() -> HookFuture + Send>;

/// Work around the life of a server, by name. Each post-start hook is a health check too.
#[derive(Default)]
pub struct Hooks {
    pub(crate) post_start: Vec<(String, Hook, HookDone)>,
    pub(crate) pre_shutdown: Vec<(String, Hook)>,
    /// Checks of what hooks have begun.
    pub(crate) checks: Vec<HealthCheck>,
    /// The order of their health checks; those that are not in it come after.
    pub(crate) order: &'static [&'static str],
}

/// Whether a post-start hook has finished.
#[derive(Clone, Default)]
pub struct HookDone(Arc<Mutex<bool>>);

impl HookDone {
    pub fn is_done(&self) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

impl Hooks {
    /// Runs once the server listens. The server is not ready before it has finished; an error ends the process.
    pub fn post_start<F>(&mut self, name: &str, hook: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.post_start.push((name.into(), Box::new(|| Box::pin(hook())), HookDone::default()));
    }

    /// Adds a check of the boot sequence, for work that a hook begins and does not wait for.
    pub fn check(&mut self, check: HealthCheck) {
        self.checks.push(check);
    }

    /// Sets the order in which health endpoints show hooks and checks, by their names.
    pub fn order_by(&mut self, names: &'static [&'static str]) {
        self.order = names;
    }

    /// Returns all health checks of the boot sequence in their order.
    pub(crate) fn health_checks(&self) -> Vec<HealthCheck> {
        let hooks = self.post_start.iter().map(|(name, _, done)| (name.as_str(), done.clone()));
        let hooks = hooks.map(|(name, done)| (name, HealthCheck::post_start_hook(name, done)));
        let checks = self.checks.iter().map(|check| (check.name(), check.clone()));
        let mut all: Vec<(&str, HealthCheck)> = hooks.chain(checks).collect();
        all.sort_by_key(|(name, _)| {
            self.order.iter().position(|known| known == name).unwrap_or(self.order.len())
        });
        all.into_iter().map(|(_, check)| check).collect()
    }

    /// Runs when a shutdown has been asked for, while requests are still served.
    pub fn pre_shutdown<F>(&mut self, name: &str, hook: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.pre_shutdown.push((name.into(), Box::new(|| Box::pin(hook()))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn draining_waits_for_the_last_and_lets_none_begin() {
        let draining = Draining::default();
        let (first, second) = (draining.enter().unwrap(), draining.enter().unwrap());
        let waiter = tokio::spawn({
            let draining = draining.clone();
            async move { draining.drain().await }
        });
        while draining.enter().is_some() {
            tokio::task::yield_now().await;
        }
        drop(first);
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(!waiter.is_finished(), "one is still under way");
        drop(second);
        waiter.await.unwrap();
        assert!(draining.enter().is_none());
    }

    #[test]
    fn watches_end_one_after_the_other_within_the_time_they_have() {
        let delays = |grace: u64, count: usize| {
            let termination = Arc::new(WatchTermination::new(Duration::from_secs(grace)));
            let watches: Vec<ActiveWatch> = (0..count).map(|_| termination.enter()).collect();
            watches.iter().map(|watch| watch.delay().as_millis()).collect::<Vec<_>>()
        };
        assert_eq!(delays(10, 4), [0, 5, 10, 15], "few of them do not take all of it");
        let many = delays(1, 1000);
        assert!(many.is_sorted() && many[500] == 500 && many[999] == 999, "{many:?}");
    }
}
