//! The seats of a request, or its place in a queue.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use crate::Digest;
use crate::control::FlowControl;
use crate::matching::Schema;
use crate::queues::{Finished, Key};
use crate::read_write::Phase;

/// A request in its priority level. Dropping it gives back what it has: seats, or its place in a queue.
pub struct Ticket {
    control: Arc<FlowControl>,
    schema: Arc<Schema>,
    key: Key,
    is_watch: bool,
    is_mutating: bool,
    /// The phase in which it is counted among all requests of the server: 0 for none.
    counted: AtomicU8,
    arrival: u64,
}

fn code(phase: Option<Phase>) -> u8 {
    phase.map_or(0, |phase| phase as u8 + 1)
}

fn phase(code: u8) -> Option<Phase> {
    match code {
        1 => Some(Phase::Waiting),
        2 => Some(Phase::Executing),
        _ => None,
    }
}

impl Ticket {
    pub(crate) fn new(
        control: Arc<FlowControl>,
        schema: Arc<Schema>,
        key: Key,
        digest: &Digest<'_>,
        phase: Phase,
        arrival: u64,
    ) -> Ticket {
        let ticket = Ticket {
            control,
            schema,
            key,
            is_watch: digest.verb == "watch",
            is_mutating: digest.is_mutating(),
            counted: AtomicU8::new(0),
            arrival,
        };
        ticket.count(Some(phase));
        ticket
    }

    fn count(&self, to: Option<Phase>) {
        let from = phase(self.counted.swap(code(to), Ordering::AcqRel));
        self.control.read_write.change(self.is_mutating, from, to, self.control.now());
    }

    /// Returns whether the request waits in a queue for the first time.
    pub fn is_waiting(&self) -> bool {
        phase(self.counted.load(Ordering::Acquire)) == Some(Phase::Waiting)
    }

    /// Waits until the request may execute. `false`: it was not let in within `limit`, and must be refused.
    pub async fn wait(&self, limit: Duration) -> bool {
        if self.reaches_seats(limit).await {
            let waited = self.control.now().saturating_sub(self.arrival);
            self.schema.metrics.waited(true, Duration::from_nanos(waited));
            self.count(Some(Phase::Executing));
            return true;
        }
        false
    }

    async fn reaches_seats(&self, limit: Duration) -> bool {
        let reached = poll_fn(|cx| self.schema.level.with(|state| state.set.poll(self.key, cx)));
        self.control.clock().timeout(limit, reached).await.is_some()
    }

    /// Gives the seats back until [`Ticket::resume`]. Does nothing for a request of an exempt level, which has none.
    pub fn suspend(&self) {
        self.count(None);
        self.control.change(&self.schema.level, |state, now| state.set.suspend(self.key, now));
    }

    /// Waits for the seats again, before the requests that wait in the same queue. `false`: there were none within `limit`.
    pub async fn resume(&self, limit: Duration) -> bool {
        self.control.change(&self.schema.level, |state, now| state.set.resume(self.key, now));
        let is_back = self.reaches_seats(limit).await;
        if is_back {
            self.count(Some(Phase::Executing));
        } else {
            self.control.change(&self.schema.level, |state, now| state.set.stop_resuming(self.key, now));
        }
        is_back
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.count(None);
        let finished = self.control.change(&self.schema.level, |state, now| state.set.finish(self.key, now));
        match finished {
            Some(Finished::Executed(time)) => self.schema.metrics.executed(self.is_watch, time),
            // The reference counts those as let in, too.
            Some(Finished::GaveUp(time)) => self.schema.metrics.waited(true, time),
            None => {}
        }
    }
}
