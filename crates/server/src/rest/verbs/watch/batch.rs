//! Events of a watch: which one a change is to a watcher, and several of them as one write.

use bytes::{Bytes, BytesMut};
use pintle_cache::Change;

use crate::rest::select::Selection;

/// The event that a change is to a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Added,
    Modified,
    /// The object was deleted.
    Deleted,
    /// The object exists, and the selectors match it no longer.
    Deselected,
}

impl Event {
    /// Returns the event of a change; none if the selection matches the object neither before nor after it.
    pub(super) fn from_change(change: &Change, selection: &Selection) -> Option<Event> {
        let before = change.previous.as_ref().is_some_and(|previous| selection.matches(previous));
        if change.deleted {
            return before.then_some(Event::Deleted);
        }
        match (before, selection.matches(&change.entry)) {
            (false, true) => Some(Event::Added),
            (true, true) => Some(Event::Modified),
            (true, false) => Some(Event::Deselected),
            (false, false) => None,
        }
    }

    /// Returns the type that the client sees.
    pub(super) fn name(self) -> &'static str {
        match self {
            Event::Added => "ADDED",
            Event::Modified => "MODIFIED",
            Event::Deleted | Event::Deselected => "DELETED",
        }
    }
}

/// Frames collected for one write. A single frame is passed on as it is, shared with all other watchers.
#[derive(Default)]
pub(super) struct Batch {
    /// Bytes from which on the batch is full.
    limit: usize,
    first: Option<Bytes>,
    more: BytesMut,
}

impl Batch {
    pub(super) fn new(limit: usize) -> Batch {
        Batch { limit, ..Batch::default() }
    }

    pub(super) fn push(&mut self, frame: Bytes) {
        match self.first.take() {
            None if self.more.is_empty() => self.first = Some(frame),
            first => {
                if let Some(first) = first {
                    self.more.extend_from_slice(&first);
                }
                self.more.extend_from_slice(&frame);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.more.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.first.as_ref().map_or(0, Bytes::len) + self.more.len() >= self.limit
    }

    pub(super) fn finish(&mut self) -> Bytes {
        self.first.take().unwrap_or_else(|| std::mem::take(&mut self.more).freeze())
    }
}
