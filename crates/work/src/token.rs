//! The deadline and cancellation of a request's work.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use pintle_runtime::Clock;

/// Ends the work of one request at its deadline, or when its client is gone.
pub struct Token {
    deadline: Option<Instant>,
    cancelled: AtomicBool,
    on_wait: OnceLock<Box<dyn Fn(bool) + Send + Sync>>,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("deadline", &self.deadline).field("cancelled", &self.cancelled).finish()
    }
}

impl Token {
    /// `None`: the work ends only when it is cancelled.
    pub fn new(deadline: Option<Instant>) -> Token {
        Token { deadline, cancelled: AtomicBool::new(false), on_wait: OnceLock::new() }
    }

    /// Sets the function that is called on the pool before (`true`) and after (`false`) the work waits for another program
    /// with its thread. Only the first counts.
    pub fn on_wait(&self, waits: impl Fn(bool) + Send + Sync + 'static) {
        let _ = self.on_wait.set(Box::new(waits));
    }

    pub(crate) fn pause(&self) -> Pause<'_> {
        if let Some(waits) = self.on_wait.get() {
            waits(true);
        }
        Pause(self)
    }

    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    pub fn is_over(&self) -> bool {
        self.is_cancelled() || self.deadline.is_some_and(|deadline| Clock::system().instant() >= deadline)
    }
}

/// Ends a wait when it is dropped.
pub(crate) struct Pause<'t>(&'t Token);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        if let Some(waits) = self.0.on_wait.get() {
            waits(false);
        }
    }
}

/// The work was ended by its [`Token`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;
