//! The position of a watch in the changes of a resource.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::history::Change;
use crate::interest::Interest;
use crate::resource::Resource;
use crate::subscription::Subscription;

/// The result of advancing a [`Cursor`].
#[derive(Debug)]
pub enum Next {
    /// The changes since that concern it, in order; never empty. Those of one transaction are together.
    Changes(Vec<Arc<Change>>),
    /// The cursor is so late that changes it needs are gone, or the cache had to start over.
    Expired,
}

/// How many changes a cursor takes at once; more only if they are of one transaction.
pub(crate) const BATCH: usize = 256;

/// A position in the changes of a resource. It holds no changes, so that a slow reader costs nothing; and it is woken only by
/// what concerns it.
#[derive(Debug)]
pub struct Cursor {
    pub(crate) resource: Arc<Resource>,
    pub(crate) interest: Interest,
    pub(crate) position: Position,
    pub(crate) subscription: Subscription,
    /// Whether there may be changes that the subscription has already announced and that were not read.
    pub(crate) unread: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// Everything of interest before this number was read.
    pub(crate) next: u64,
    /// Changes up to this revision are not of interest: the watch may begin at one that lies ahead.
    pub(crate) after: u64,
    /// Generation of the cache: after a reload, numbers mean nothing any more.
    pub(crate) generation: u64,
}

impl Cursor {
    /// Waits for changes. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Next {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The changes that are there, or those that come. It is woken by every change that concerns it until it is dropped.
    pub fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Next> {
        loop {
            // Asked before looking, so that what comes while looking wakes the wait below.
            let is_notified = self.subscription.take_notification();
            if (is_notified || self.unread)
                && let Some(next) = self.try_next()
            {
                return Poll::Ready(next);
            }
            if self.subscription.poll_notified(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Whether there may be something to read; if not, there is nothing. It takes no lock.
    pub fn has_changes(&self) -> bool {
        self.unread || self.subscription.has_notification()
    }

    /// Returns the changes that are there already, if any were announced since the last call; `None` if there are none.
    pub fn try_changes(&mut self) -> Option<Next> {
        if self.subscription.take_notification() || self.unread { self.try_next() } else { None }
    }

    /// The changes that are there already; `None` if there are none.
    pub fn try_next(&mut self) -> Option<Next> {
        let mut changes = Vec::new();
        // Of several transactions that are there, the last may have been left out.
        self.unread = true;
        match self.resource.read_changes(&self.interest, &mut self.position, BATCH, &mut changes) {
            None => Some(Next::Expired),
            Some(()) => {
                self.unread = changes.len() >= BATCH;
                (!changes.is_empty()).then_some(Next::Changes(changes))
            }
        }
    }

    /// The revision up to which this cursor has seen everything, if there is nothing more to read: for bookmarks. It costs
    /// the same however much has changed that does not concern the cursor.
    pub fn progress(&mut self) -> Option<u64> {
        self.resource.progress(&self.interest, &mut self.position)
    }

    pub fn interest(&self) -> &Interest {
        &self.interest
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.resource.leave(&self.interest, self.position.generation);
    }
}
