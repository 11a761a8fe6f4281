//! Compaction: gives up history, bit by bit.
//!
//! `compacted = C` is made durable first, and from then on reads before C fail. Then the sweep follows the log up to C,
//! a few entries per commit. Each entry names the version it superseded, so nothing else needs to be looked at:
//!
//! ```text
//! log      8: a=1    9: a=2 (over 8)    10: a deleted (over 9)    11: b=1    12: b=2 (over 11)    compact at 12
//! sweep              drops 8            drops 9, and 10 itself               not before 12 is history
//! ```
//!
//! The entries of C itself are left for the next time: they are what a watch from C still delivers. So the sweep stops
//! before C, and after it every entry of the log at or after C is there, and every key's last version before it.
//!
//! `swept` is saved with the same commit as the work it stands for, so that a crash repeats nothing and forgets nothing.

use pintle_storage::{Error, Result, Revision};
use redb::ReadableTable;

use crate::apply::{Decided, Group};
use crate::engine::State;
use crate::error::storage_error;
use crate::record::Record;
use crate::tables::At;

impl State {
    /// Whether compaction has work left.
    pub(crate) fn sweeping(&self) -> bool {
        self.swept < self.compacted
    }
}

/// Looking at an entry costs so much less than taking a version away.
const SCAN_FACTOR: usize = 8;

/// A version that no read can return any more.
struct Dead {
    key: Vec<u8>,
    revision: u64,
    op: u32,
}

impl Group<'_> {
    pub(crate) fn compact(&mut self, revision: Revision) -> Decided<()> {
        if revision.0 > self.state.revision {
            let current = Revision(self.state.revision);
            return Ok(Err(Error::FutureRevision { requested: revision, current }));
        }
        self.state.compacted = self.state.compacted.max(revision.0);
        Ok(Ok(()))
    }

    /// Sweeps until about `budget` versions are gone, or a few times as many entries had nothing to take away.
    pub(crate) fn sweep(&mut self, budget: usize) -> Result<()> {
        let end = self.state.compacted;
        let mut dead = Vec::new();
        let mut swept = end;
        let mut last = 0;
        let entries = self.log.range((self.state.swept, 0)..(end, 0)).map_err(storage_error)?;
        for (seen, entry) in entries.enumerate() {
            let (at, data) = entry.map_err(storage_error)?;
            let (revision, op) = at.value();
            // Only between revisions, because `swept` knows nothing smaller.
            if (dead.len() >= budget || seen >= SCAN_FACTOR * budget) && revision != last {
                swept = revision;
                break;
            }
            last = revision;
            let record = Record::decode(data.value())?;
            if record.prev_revision != 0 {
                dead.push(Dead {
                    key: record.key.to_vec(),
                    revision: record.prev_revision,
                    op: record.prev_op,
                });
            }
            if record.deleted {
                dead.push(Dead { key: record.key.to_vec(), revision, op });
            }
        }
        for Dead { key, revision, op } in dead {
            self.versions.remove(At::new(&key, revision)).map_err(storage_error)?;
            if let Some(data) = self.log.remove((revision, op)).map_err(storage_error)? {
                self.state.bytes = self.state.bytes.saturating_sub(data.value().len() as u64);
            }
        }
        self.state.swept = swept;
        Ok(())
    }
}
