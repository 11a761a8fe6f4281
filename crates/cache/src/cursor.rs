//! The place of a watch in the changes of a resource.

use std::sync::Arc;

use crate::history::Change;
use crate::interest::{Interest, Tail};
use crate::resource::Resource;

/// What a [`Cursor`] comes to.
#[derive(Debug)]
pub enum Next {
    /// The changes since that concern it, in order; never empty. Those of one transaction are together.
    Changes(Vec<Arc<Change>>),
    /// The cursor is so late that changes it needs are gone, or the cache had to start over.
    Expired,
}

/// How many changes a cursor takes at once; more only if they are of one transaction.
pub(crate) const BATCH: usize = 256;

/// A place in the changes of a resource. It holds no changes, so that a slow reader costs nothing; and it is woken only by
/// what concerns it.
#[derive(Debug)]
pub struct Cursor {
    pub(crate) resource: Arc<Resource>,
    pub(crate) interest: Interest,
    pub(crate) place: Place,
    pub(crate) tail: Tail,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Everything of interest before this number was read.
    pub(crate) next: u64,
    /// Changes up to this revision are not of interest: the watch may begin at one that lies ahead.
    pub(crate) after: u64,
    /// Of the cache's life: after it had to start over, numbers mean nothing any more.
    pub(crate) generation: u64,
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
        match self.resource.read_changes(&self.interest, &mut self.place, BATCH, &mut changes) {
            None => Some(Next::Expired),
            Some(()) => (!changes.is_empty()).then_some(Next::Changes(changes)),
        }
    }

    /// The revision up to which this cursor has seen everything, if there is nothing more to read: for bookmarks. It costs
    /// the same however much has changed that does not concern the cursor.
    pub fn progress(&mut self) -> Option<u64> {
        self.resource.progress(&self.interest, &mut self.place)
    }

    pub fn interest(&self) -> &Interest {
        &self.interest
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.resource.leave(&self.interest, self.place.generation);
    }
}
