//! Changes that came before the first request for their resource.
//!
//! A client may watch from the revision of an object that it has just created, and be the first to read that resource. So
//! the last changes are kept as they came; a cache that is loaded then begins before them and goes through them.

use std::collections::VecDeque;

use pintle_storage::Event;

/// Maximum number of changes kept of a resource that is not loaded.
const MOST: usize = 256;

/// And how many bytes of keys and values.
const BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(crate) struct EarlyChanges {
    /// All changes after this revision are kept.
    pub(crate) since: u64,
    pub(crate) events: VecDeque<Event>,
    bytes: usize,
}

impl EarlyChanges {
    pub(crate) fn since(revision: u64) -> EarlyChanges {
        EarlyChanges { since: revision, events: VecDeque::new(), bytes: 0 }
    }

    /// Keeps the changes of a revision, and drops the oldest revisions that there is no room for.
    pub(crate) fn keep(&mut self, events: &[Event]) {
        self.bytes += events.iter().map(size).sum::<usize>();
        self.events.extend(events.iter().cloned());
        while self.events.len() > MOST || self.bytes > BYTES {
            let Some(oldest) = self.events.front().map(Event::revision) else { break };
            self.since = oldest.0;
            while let Some(event) = self.events.pop_front_if(|event| event.revision() == oldest) {
                self.bytes -= size(&event);
            }
        }
    }
}

fn size(event: &Event) -> usize {
    let value = match event {
        Event::Put { kv, .. } => kv.value.len(),
        Event::Delete { .. } => 0,
        Event::Unreadable(value) => value.reason.len(),
    };
    event.key().len() + value
}
