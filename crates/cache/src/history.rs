//! The changes of a resource, in order, as far back as there is room.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use crate::Error;
use crate::entry::Entry;
use crate::frame::Frames;

/// How much of the past is kept, per resource.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub changes: usize,
    /// Bytes of the values that only the history holds.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { changes: 16_384, bytes: 32 << 20 }
    }
}

/// One change of one object.
#[derive(Debug)]
pub struct Change {
    pub revision: u64,
    /// The object after the change; for a deletion, the deleted object at the revision of the deletion.
    pub entry: Arc<Entry>,
    /// The object before the change.
    pub previous: Option<Arc<Entry>>,
    pub deleted: bool,
    /// See [`Change::left`].
    left: OnceLock<Arc<Entry>>,
    pub(crate) frames: Frames,
}

impl Change {
    pub(crate) fn new(
        revision: u64,
        entry: Arc<Entry>,
        previous: Option<Arc<Entry>>,
        deleted: bool,
    ) -> Change {
        Change { revision, entry, previous, deleted, left: OnceLock::new(), frames: Frames::default() }
    }

    /// Returns the object as it was before, at this revision: the deletion event for a watcher whose selector no longer matches it.
    pub fn left(&self) -> Option<&Arc<Entry>> {
        let previous = self.previous.as_ref()?;
        Some(self.left.get_or_init(|| Arc::new(previous.at(self.revision))))
    }

    fn weight(&self) -> usize {
        self.previous.as_ref().map_or(0, |previous| previous.stored().len()) + size_of::<Change>()
    }
}

#[derive(Debug, Default)]
pub(crate) struct History {
    changes: VecDeque<Arc<Change>>,
    /// The number of the first change kept.
    first: u64,
    bytes: usize,
    /// Everything after this revision is kept.
    since: u64,
}

impl History {
    pub(crate) fn starting_at(revision: u64, first: u64) -> History {
        History { changes: VecDeque::new(), first, bytes: 0, since: revision }
    }

    /// Adds a change and gives its number. What there is no more room for is handed to `dropped` with its number.
    pub(crate) fn push(
        &mut self,
        change: Arc<Change>,
        limits: &Limits,
        mut dropped: impl FnMut(u64, &Change),
    ) -> u64 {
        let number = self.end();
        self.bytes += change.weight();
        self.changes.push_back(change);
        while self.changes.len() > limits.changes || (self.bytes > limits.bytes && self.changes.len() > 1) {
            let Some(gone) = self.changes.pop_front() else { break };
            dropped(self.first, &gone);
            self.bytes -= gone.weight();
            self.first += 1;
            self.since = gone.revision;
        }
        number
    }

    /// The number of the first change that is kept.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The number that the next change will have.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.changes.len() as u64
    }

    /// Everything after this revision is kept.
    pub(crate) fn since(&self) -> u64 {
        self.since
    }

    /// The number of the first change after a revision.
    pub(crate) fn after(&self, revision: u64) -> Result<u64, Error> {
        if revision < self.since {
            return Err(Error::TooOld { requested: revision, oldest: self.since });
        }
        let before = self.changes.partition_point(|change| change.revision <= revision);
        Ok(self.first + before as u64)
    }

    /// The change of a number, if it is kept.
    pub(crate) fn get(&self, number: u64) -> Option<&Arc<Change>> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.changes.get(place)
    }

    /// Changes after a revision, up to another one, newest first.
    pub(crate) fn between(&self, after: u64, until: u64) -> impl ExactSizeIterator<Item = &Arc<Change>> {
        let place = |revision| self.changes.partition_point(|change| change.revision <= revision);
        let (from, to) = (place(after), place(until));
        self.changes.range(from..to.max(from)).rev()
    }
}
