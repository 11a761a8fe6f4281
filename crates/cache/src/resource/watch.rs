//! Cursors: where watches begin, and what they read.

use std::sync::Arc;

use super::{Resource, State};
use crate::Error;
use crate::cursor::{Cursor, Position};
use crate::history::Change;
use crate::interest::{Interest, Numbers, Pending};
use crate::objects::Snapshot;

impl Resource {
    /// A cursor at the first change after a revision, which may lie ahead.
    pub fn watch(self: &Arc<Resource>, after: u64, interest: Interest) -> Result<Cursor, Error> {
        self.with_current(|state, _| {
            let next = state.history.after(after)?;
            Ok(self.cursor(state, next, after, interest))
        })
    }

    /// The objects now, and a cursor at the first change after.
    pub fn snapshot_and_watch(self: &Arc<Resource>, interest: Interest) -> Result<(Snapshot, Cursor), Error> {
        self.with_current(|state, revision| {
            let snapshot = Snapshot::new(state.objects.clone(), revision);
            let next = state.history.end();
            Ok((snapshot, self.cursor(state, next, revision, interest)))
        })
    }

    fn cursor(self: &Arc<Resource>, state: &mut State, next: u64, after: u64, interest: Interest) -> Cursor {
        let position = Position { next, after, generation: state.generation };
        let subscription = state.topics.enter(&interest, next, &state.history);
        Cursor { resource: self.clone(), interest, position, subscription, unread: true }
    }

    pub(crate) fn leave(&self, interest: &Interest, generation: u64) {
        let mut state = self.state();
        if state.generation == generation {
            state.topics.leave(interest);
        }
    }

    /// Returns the changes that a cursor has to read; `None` if it has expired.
    fn pending<'s>(state: &'s State, interest: &Interest, position: &Position) -> Option<Numbers<'s>> {
        if state.generation != position.generation {
            return None;
        }
        match state.topics.pending(interest, position.next, &state.history) {
            Pending::Lost => None,
            Pending::Numbers(numbers) => Some(numbers),
        }
    }

    /// Reads what a cursor has not seen yet, some transactions at a time, and moves its position; `None` if it has expired.
    pub(crate) fn read_changes(
        &self,
        interest: &Interest,
        position: &mut Position,
        most: usize,
        into: &mut Vec<Arc<Change>>,
    ) -> Option<()> {
        let state = self.state();
        let mut next = state.history.end();
        for number in Resource::pending(&state, interest, position)? {
            let change = state.history.get(number)?;
            if change.revision <= position.after {
                continue;
            }
            if into.len() >= most && into.last().is_none_or(|last| last.revision != change.revision) {
                next = number;
                break;
            }
            into.push(change.clone());
        }
        position.next = next;
        Some(())
    }

    /// The revision up to which a cursor has seen everything, if it has nothing to read.
    pub(crate) fn progress(&self, interest: &Interest, position: &mut Position) -> Option<u64> {
        // Read first: what is applied after this has a greater revision.
        let seen = self.source.seen();
        let state = self.state();
        let current = seen.max(state.applied);
        if current < position.after || Resource::pending(&state, interest, position)?.next().is_some() {
            return None;
        }
        position.next = state.history.end();
        Some(current)
    }
}
