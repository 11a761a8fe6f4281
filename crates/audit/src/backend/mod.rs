//! Backends: where events go.
//!
//! ```text
//! union -> truncate -> batch | blocking -> log (a file that rotates, or standard output)
//!       -> truncate -> batch | blocking -> webhook
//! ```

mod batch;
mod log;
mod rotation;
mod throttle;
mod truncate;
mod webhook;

#[cfg(test)]
mod log_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod webhook_tests;

use std::sync::Arc;

use async_trait::async_trait;
use pintle_runtime::{Clock, Spawner};

pub use self::batch::BatchConfig;
use self::batch::Batching;
pub use self::log::{Format, LogBackend, Output};
pub use self::rotation::{RotatingFile, RotationConfig, create_private};
pub use self::throttle::ThrottleConfig;
pub use self::truncate::TruncateConfig;
use self::truncate::Truncating;
pub use self::webhook::WebhookBackend;
use crate::event::Event;
use crate::metrics::Metrics;

/// Takes events.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Called with the events of one stage, or with a batch. Returns false if one could not be recorded, which refuses the
    /// request where the mode is strict. Errors are counted and logged here.
    async fn process(&self, events: &[Arc<Event>]) -> bool;

    /// Takes an event at once, if it need not wait for anything; false if [`Backend::process`] must be called.
    fn accept(&self, event: &Arc<Event>) -> bool {
        let _ = event;
        false
    }

    /// Called once, after the last event. Returns when everything is written.
    async fn shut_down(&self) {}
}

/// When events are written.
#[derive(Clone, Debug, PartialEq)]
pub enum Mode {
    /// Later, many at once.
    Batch(BatchConfig),
    /// While the request waits.
    Blocking,
    /// While the request waits, which fails if its arrival cannot be recorded.
    BlockingStrict,
}

/// How a backend is called.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub mode: Mode,
    pub truncate: Option<TruncateConfig>,
}

/// The surroundings of backends.
#[derive(Clone)]
pub struct Surroundings {
    pub metrics: Metrics,
    pub clock: Clock,
    pub spawner: Spawner,
}

/// Returns a backend that calls `delegate` as it is configured.
pub fn delivering(
    delegate: Arc<dyn Backend>,
    delivery: &Delivery,
    surroundings: &Surroundings,
) -> Arc<dyn Backend> {
    let called: Arc<dyn Backend> = match &delivery.mode {
        Mode::Batch(config) => Batching::start(delegate, config, surroundings),
        Mode::Blocking => Arc::new(IgnoringErrors(delegate)),
        Mode::BlockingStrict => delegate,
    };
    match delivery.truncate {
        Some(config) => Arc::new(Truncating::new(called, config, surroundings.metrics.clone())),
        None => called,
    }
}

/// Returns a backend that calls all of them, one after the other.
pub fn union(mut backends: Vec<Arc<dyn Backend>>) -> Option<Arc<dyn Backend>> {
    match backends.len() {
        0 | 1 => backends.pop(),
        _ => Some(Arc::new(Union(backends))),
    }
}

struct IgnoringErrors(Arc<dyn Backend>);

#[async_trait]
impl Backend for IgnoringErrors {
    async fn process(&self, events: &[Arc<Event>]) -> bool {
        self.0.process(events).await;
        true
    }

    async fn shut_down(&self) {
        self.0.shut_down().await;
    }
}

struct Union(Vec<Arc<dyn Backend>>);

#[async_trait]
impl Backend for Union {
    async fn process(&self, events: &[Arc<Event>]) -> bool {
        let mut success = true;
        for backend in &self.0 {
            success &= backend.process(events).await;
        }
        success
    }

    async fn shut_down(&self) {
        for backend in &self.0 {
            backend.shut_down().await;
        }
    }
}
