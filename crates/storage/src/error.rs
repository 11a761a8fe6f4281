//! Errors of a store, in the terms of its caller.

use crate::{Revision, UnreadableValue};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The caller's question behind every variant is: did my write happen, and is it worth trying again?
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// History before `compacted` is gone. A reader lists anew; a watcher starts over.
    #[error("required revision {requested} has been compacted (history starts at {compacted})")]
    Compacted { requested: Revision, compacted: Revision },

    /// A read named a revision that the store has not reached.
    #[error("required revision {requested} is a future revision (the store is at {current})")]
    FutureRevision { requested: Revision, current: Revision },

    /// The request surely had no effect: it was refused, or never left. Safe to try again.
    #[error("storage is unavailable: {0}")]
    Unavailable(String),

    /// The connection was lost or time ran out after a write was sent: it may have been applied, or not, or may be
    /// applied a moment from now. The caller must read before it writes again.
    #[error("storage did not answer, the outcome is unknown: {0}")]
    Unknown(String),

    /// No room is left. The write did not happen.
    #[error("storage is out of space: {0}")]
    NoSpace(String),

    /// A request is larger than the store takes. It did not happen.
    #[error("request is too large for the store: {size} bytes, the limit is {limit}")]
    TooLarge { size: usize, limit: usize },

    /// The caller broke the contract (a key twice in one transaction, a range that starts outside its prefix).
    #[error("invalid storage request: {0}")]
    InvalidArgument(String),

    /// A put named a lease that has ended. Nothing happened.
    #[error("lease {0} not found")]
    LeaseNotFound(i64),

    /// This store cannot do it, and will not later; the caller has another way.
    #[error("not supported by this store: {0}")]
    Unsupported(String),

    /// The data on disk is damaged or not ours. Nothing was changed.
    #[error("storage is damaged: {0}")]
    Corrupt(String),

    /// A backend between the store and its caller (conversion, encryption) could not transform a value. The text is for
    /// clients. A write did not happen, unless the value that was written cannot be read back.
    #[error("{0}")]
    Unreadable(String),

    /// Stored values that were to be read could not be decrypted: those of the read, up to a hundred and one, in its order. It may
    /// succeed later, so nothing keeps the outcome.
    #[error("{}", reason_of_first(.0))]
    Undecryptable(Vec<UnreadableValue>),

    /// A value that was to be written could not be encrypted. The write did not happen.
    #[error("{0}")]
    NotEncrypted(String),

    /// The store is closing. The request had no effect.
    #[error("storage is closed")]
    Closed,
}

fn reason_of_first(values: &[UnreadableValue]) -> &str {
    values.first().map(|value| &*value.reason).unwrap_or_default()
}
