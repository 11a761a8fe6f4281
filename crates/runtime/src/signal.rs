//! A moment in the life of a control plane or server that tasks wait for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// A moment that comes at most once. Clones are the same moment.
#[derive(Clone, Debug)]
pub struct Signal {
    name: &'static str,
    state: watch::Sender<bool>,
    /// The same as `state`, without a lock for callers that ask often.
    is_set: Arc<AtomicBool>,
}

impl Signal {
    pub fn new(name: &'static str) -> Signal {
        Signal { name, state: watch::Sender::new(false), is_set: Arc::default() }
    }

    pub fn set(&self) {
        self.is_set.store(true, Ordering::Release);
        if !self.state.send_replace(true) {
            tracing::debug!(name = self.name, "[graceful-termination] shutdown event");
        }
    }

    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Returns when the moment has come, at once if it already has.
    pub async fn wait(&self) {
        // An error means that all senders are gone, and we hold one.
        let _ = self.state.subscribe().wait_for(|set| *set).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_signal_reaches_tasks_that_wait_late() {
        let signal = Signal::new("test");
        let early = tokio::spawn({
            let signal = signal.clone();
            async move { signal.wait().await }
        });
        signal.set();
        early.await.unwrap();
        signal.wait().await;
        assert!(signal.is_set());
    }
}
