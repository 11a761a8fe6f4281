//! The embedded store: one file, many versions of each key, one writer.
//!
//! ```text
//!   txn ─┐                        ┌─> View (the newest committed state)  ─> get, range, count
//!   txn ─┼─> queue ─> writer ─────┤
//!   txn ─┘   bounded   applies a  └─> Feed (recent changes, in memory)   ─> watches
//!                      group, one
//!                      fsync
//! ```
//!
//! - `tables` and `record` are the format on disk (docs/storage-format.md).
//! - `apply` turns transactions into versions; `compact` and `lease` take versions away again.
//! - `writer` is the only thread that writes. What has queued while a commit was under way becomes the next commit.
//!   `recover` is what it does when the disk fails.
//! - `view` reads what is committed; `feed` and `watch` tell about it as it comes.
//! - `opening` opens the engine in bounded time; `guard` turns its panics on damaged files into errors,
//!   and `undo` leaves them as they were.
//! - `disk` is the seam below the engine, through which tests inject faults.
//!
//! Two invariants hold it together. *Nothing is visible before it is durable*: the view, the feed and the answers
//! change only after the commit's fsync. *Revisions have no gaps*: each changing transaction takes the next one, so
//! that a place in the feed is found by subtraction.

mod apply;
mod compact;
mod dir;
pub mod disk;
mod engine;
mod error;
mod feed;
mod guard;
mod job;
mod lease;
mod opening;
mod options;
mod record;
mod recover;
pub mod snapshot;
mod store;
mod tables;
mod undo;
mod view;
mod watch;
mod writer;

pub use error::OpenError;
pub use options::{Location, Options};
pub use store::Store;
