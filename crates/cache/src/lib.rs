//! The watch cache: per resource a snapshot of the objects, the changes that led to it, and the encoded bytes that clients get.
//!
//! One watch of the store feeds everything ([`Feed`]); each [`Resource`] is loaded when it is first asked for and follows
//! from then on. Values are normalised and looked into once, when they come in ([`Kind::read`]), and encoded once per
//! requested format ([`Entry::body`]); a list is a concatenation of bodies, a watch a cursor into the changes.

mod compaction;
mod consistency;
mod cursor;
mod early;
mod entry;
mod facts;
mod feed;
mod follow;
mod frame;
mod history;
mod interest;
mod map;
mod metrics;
mod objects;
mod pool;
mod resource;
mod subscription;
mod wake_order;

pub use consistency::Difference;
pub use cursor::{Cursor, Next};
pub use entry::{BodyFormat, Entry, Kind, Read};
pub use facts::Facts;
pub use feed::Feed;
pub use follow::Follow;
pub use frame::Frame;
pub use history::{Change, Limits};
pub use interest::Interest;
pub use map::{Keyed, Map};
pub use metrics::{CacheCheck, Metrics};
pub use objects::Snapshot;
pub use pool::Pool;
pub use resource::{Resource, StorePage};
pub use wake_order::wake_last;

/// Why the cache cannot answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The changes since that revision are not kept any more. A client lists anew.
    #[error("too old resource version: {requested} ({oldest})")]
    TooOld { requested: u64, oldest: u64 },

    /// The store has not reached that revision in the time there was.
    #[error("Too large resource version: {requested}, current: {current}")]
    TooLarge { requested: u64, current: u64 },

    /// The cache is not loaded, or had to start over: [`Resource::ready`] loads it.
    #[error("storage is (re)initializing")]
    NotReady,

    /// A stored value cannot be understood.
    #[error("unable to decode {key}: {reason}")]
    Undecodable { key: String, reason: String },

    #[error(transparent)]
    Storage(#[from] pintle_storage::Error),
}
