//! Bounds what all encoded bodies take together: when it is too much, the ones encoded first go first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::entry::{Entry, Form};

/// Bodies of entries, by age. One for all resources of a control plane.
#[derive(Debug)]
pub struct Pool {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    bytes: usize,
    queue: VecDeque<(Weak<Entry>, Form, usize)>,
}

impl Pool {
    pub fn new(limit: usize) -> Pool {
        Pool { limit, state: Mutex::default() }
    }

    /// How many bytes of bodies there are, those of entries that are gone included until their turn comes.
    pub fn bytes(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    pub(crate) fn add(&self, entry: &Arc<Entry>, form: Form, size: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.bytes += size;
        state.queue.push_back((Arc::downgrade(entry), form, size));
        while state.bytes > self.limit {
            let Some((entry, form, size)) = state.queue.pop_front() else { break };
            state.bytes -= size;
            if let Some(entry) = entry.upgrade() {
                entry.forget(form);
            }
        }
        // What has gone with its entry is swept out from the front, so that the queue does not outgrow what it bounds.
        while let Some(size) =
            state.queue.front().and_then(|(entry, _, size)| (entry.strong_count() == 0).then_some(*size))
        {
            state.bytes -= size;
            state.queue.pop_front();
        }
    }
}
