//! Snapshots: the whole store at one revision, in a file of a format of its own.
//!
//! A snapshot holds what is there, not its history, and not the engine's pages: it can be checked without a store,
//! read by another version, and is as small as its content.
//!
//! Saving reads one committed state while writers go on. As long as it lasts, the engine cannot reuse the pages of
//! that state, so a reader that is slow lets the file of a busy store grow for a while.
//!
//! Restoring raises the revision far above the saved one and marks everything before as compacted. Clients that have
//! seen later revisions than the saved one then never meet a revision twice with different content: their watches end
//! as compacted and they list anew.

mod format;
mod restore;
mod save;

pub use format::Summary;
pub use restore::{restore, verify};
pub use save::{Snapshot, save_dir};

/// How far a restored store's revision is above the saved one. Fewer revisions than this are written between a snapshot and the loss of
/// its store; etcd's tools advise the same.
pub const REVISION_BUMP: u64 = 1_000_000_000;
