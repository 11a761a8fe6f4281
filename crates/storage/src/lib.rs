//! The storage contract: keys, bytes, revisions and leases; never objects.
//!
//! A store has **one revision counter**. Every transaction that changes something takes the next revision, and all
//! its changes carry it. The first revision a store ever hands out is greater than [`Revision::ZERO`], which stands
//! for "does not exist" in comparisons.
//!
//! Reads see one revision: the newest, or an older one named by the caller until it is compacted away.
//!
//! Watches give six guarantees. Each has a test of its name in [`conformance`], which every backend runs:
//!
//! - **Ordered**: batches arrive in increasing order of revision.
//! - **Unique**: no change is delivered twice on one watch.
//! - **Atomic**: all changes of one transaction under the watched prefix arrive in one batch.
//! - **Reliable**: no change at or after the first revision is left out.
//! - **Resumable**: a watch can start at any revision that is not compacted, and sees the same as one that was there.
//! - **Bookmarkable**: after progress at revision R, nothing at or before R is delivered any more.

mod backend;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
pub mod lease;
mod metrics;
mod types;

pub use backend::{Backend, WatchStream, prefix_end};
pub use error::{Error, Result};
pub use lease::LeaseId;
pub use metrics::Metrics;
pub use types::{
    Compare, Event, KeyValue, Op, Range, RangeRequest, Revision, Stats, Txn, TxnResult, UnreadableValue,
    WatchItem, WatchRequest,
};
