//! The changes of a resource, in order, as far back as there is room; and the cursors that watches are.
//!
//! ```text
//! changes:   first=41 [ 41 42 43 44 ] end=45       numbered by the resource itself, without gaps
//! cursor A:  next=45   waits
//! cursor B:  next=38   what it needs is gone: it alone is told so
//! ```

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use crate::Error;
use crate::entry::Entry;
use crate::frame::Frames;
use crate::resource::Resource;

/// How much of the past is kept, per resource.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub changes: usize,
    /// Of the values that only the history holds.
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
    /// What it is now; for a deletion, what it was, at the revision of the deletion.
    pub entry: Arc<Entry>,
    /// What it was before.
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

    /// What a watcher sees whose selector the object no longer matches: what it was, at this revision.
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

    pub(crate) fn push(&mut self, change: Change, limits: &Limits) {
        self.bytes += change.weight();
        self.changes.push_back(Arc::new(change));
        while self.changes.len() > limits.changes || (self.bytes > limits.bytes && self.changes.len() > 1) {
            let Some(gone) = self.changes.pop_front() else { break };
            self.bytes -= gone.weight();
            self.first += 1;
            self.since = gone.revision;
        }
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

    /// Up to `most` changes from a number on; `None` if some of them are gone.
    pub(crate) fn read(&self, from: u64, most: usize, into: &mut Vec<Arc<Change>>) -> Option<()> {
        let skip = usize::try_from(from.checked_sub(self.first)?).ok()?;
        into.extend(self.changes.iter().skip(skip).take(most).cloned());
        Some(())
    }

    /// Changes after a revision, newest first.
    pub(crate) fn back_to(&self, revision: u64) -> impl Iterator<Item = &Arc<Change>> {
        self.changes.iter().rev().take_while(move |change| change.revision > revision)
    }
}

/// What a [`Cursor`] comes to.
#[derive(Debug)]
pub enum Next {
    /// The changes since, in order; never empty.
    Changes(Vec<Arc<Change>>),
    /// The cursor is so late that changes it needs are gone, or the cache had to start over.
    Expired,
}

/// How many changes a cursor takes at once.
const BATCH: usize = 256;

/// A place in the changes of a resource. It holds nothing but a number, so that a slow reader costs nothing.
#[derive(Debug)]
pub struct Cursor {
    pub(crate) resource: Arc<Resource>,
    pub(crate) next: u64,
    /// Of the cache's life: after it had to start over, numbers mean nothing any more.
    pub(crate) generation: u64,
    pub(crate) tail: tokio::sync::watch::Receiver<()>,
    pub(crate) seen: tokio::sync::watch::Receiver<u64>,
}

impl Cursor {
    /// Waits for changes. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Next {
        loop {
            // Marked before looking, so that what comes while looking wakes the wait below.
            self.tail.mark_unchanged();
            match self.try_next() {
                Some(next) => return next,
                None => {
                    if self.tail.changed().await.is_err() {
                        return Next::Expired;
                    }
                }
            }
        }
    }

    /// The changes that are there already; `None` if there are none.
    pub fn try_next(&mut self) -> Option<Next> {
        let mut changes = Vec::new();
        if self.resource.read_changes(self.generation, self.next, BATCH, &mut changes).is_none() {
            return Some(Next::Expired);
        }
        self.next += changes.len() as u64;
        (!changes.is_empty()).then_some(Next::Changes(changes))
    }

    /// The revision up to which this cursor has seen everything, if there is nothing more to read: for bookmarks.
    pub fn progress(&mut self) -> Option<u64> {
        // Read first: what is applied after this has a greater revision.
        let seen = (*self.seen.borrow()).max(self.resource.loaded_revision());
        self.resource.is_at_end(self.generation, self.next).then_some(seen)
    }
}
