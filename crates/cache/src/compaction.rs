//! The revision up to which the store has compacted its history.
//!
//! Caches keep changes for as long as they have room, which may be longer than the store keeps them. A list at an old
//! revision must not depend on the server that answers it, so a revision that the store would refuse is not served from
//! memory either. Watches are exempt: they resume from any revision whose changes are still kept.
//!
//! The cache does not follow compactions. A list at an old revision asks the store, unless the last answer is recent:
//!
//! ```text
//! 00s   list at 120   asks the store: nothing before 100 is there; served
//! 05s   list at 110   known; served
//! 10s   (the store is compacted up to 150)
//! 12s   list at 120   still served
//! 16s   list at 120   asks again: refused
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pintle_runtime::Clock;
use pintle_storage::{Backend, Revision};
use tokio::sync::Mutex;
use tokio::time::timeout;

/// How long an answer of the store is good for.
const GOOD_FOR: Duration = Duration::from_secs(15);

/// How long the store is waited for. What is known must do while it is away.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Compaction {
    clock: Clock,
    revision: AtomicU64,
    /// When the store was last asked. Held while it is.
    asked: Mutex<Option<Instant>>,
}

impl Compaction {
    pub(crate) fn new(clock: Clock) -> Compaction {
        Compaction { clock, revision: AtomicU64::default(), asked: Mutex::default() }
    }

    /// The revision before which nothing can be read, as far as it is known.
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }

    /// Asks the store, unless that was done not long ago.
    pub(crate) async fn learn(&self, store: &dyn Backend) {
        let mut asked = self.asked.lock().await;
        if asked.is_some_and(|at| self.clock.instant().duration_since(at) < GOOD_FOR) {
            return;
        }
        if let Ok(Ok(Revision(compacted))) = timeout(PATIENCE, store.compacted_revision()).await {
            self.revision.fetch_max(compacted, Ordering::Relaxed);
        }
        *asked = Some(self.clock.instant());
    }
}
