//! Snapshots of past revisions, made by undoing changes.

use super::Resource;
use crate::Error;
use crate::objects::Snapshot;

/// Maximum number of past snapshots kept for clients that page through them.
const MAX_PAST_SNAPSHOTS: usize = 4;

/// So few changes are undone again for each page.
const FEW_CHANGES: usize = 32;

impl Resource {
    /// The objects as they were at a revision, if the changes since are kept, and the store has not given them up.
    pub async fn snapshot_at(&self, revision: u64) -> Result<Snapshot, Error> {
        // No store gives up its newest revision.
        if revision < self.source.seen() {
            self.source.compaction.learn(&*self.source.store).await;
        }
        self.snapshot_from_history(revision)
    }

    fn snapshot_from_history(&self, revision: u64) -> Result<Snapshot, Error> {
        self.with_current(|state, current| {
            if revision > current {
                return Err(Error::TooLarge { requested: revision, current });
            }
            let compacted = self.source.compaction.revision().min(current);
            let oldest = if state.is_inconsistent { current } else { state.history.since().max(compacted) };
            if revision < oldest || state.is_inconsistent {
                return Err(Error::TooOld { requested: revision, oldest });
            }
            let later =
                state.past.iter().filter(|(known, _)| *known >= revision).min_by_key(|(known, _)| *known);
            let (until, mut objects) = match later {
                Some((known, objects)) => (*known, objects.clone()),
                None => (current, state.objects.clone()),
            };
            let changes = state.history.between(revision, until);
            let is_far = changes.len() > FEW_CHANGES;
            for change in changes {
                match &change.previous {
                    Some(previous) => drop(objects.insert(previous.clone())),
                    None => drop(objects.remove(change.entry.key())),
                }
            }
            if is_far {
                state.past.truncate(MAX_PAST_SNAPSHOTS - 1);
                state.past.push_front((revision, objects.clone()));
            }
            Ok(Snapshot::new(objects, revision))
        })
    }
}
