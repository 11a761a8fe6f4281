//! The vocabulary of the contract.

use std::fmt;

use bytes::Bytes;

use crate::LeaseId;

/// A point in the history of the whole store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// No revision: "does not exist" in a [`Compare`], "the newest" nowhere (that is `None`).
    pub const ZERO: Revision = Revision(0);

    /// The revision after this one, which is where a watch continues that has seen everything up to here.
    #[must_use]
    pub fn next(self) -> Revision {
        Revision(self.0.saturating_add(1))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One key as it stood at some revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    pub key: Bytes,
    pub value: Bytes,
    /// The revision that created the key, after its last deletion.
    pub create_revision: Revision,
    /// The revision that wrote this value.
    pub mod_revision: Revision,
    /// The lease that will delete the key when it ends.
    pub lease: Option<LeaseId>,
    /// The store does not hold the value as it would be written today: under another key, or in another version. A writer that has
    /// nothing to change writes it all the same. Only a backend that transforms values sets it.
    pub stale: bool,
}

/// Which keys to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeRequest {
    /// All keys that start with this. Empty means every key.
    pub prefix: Bytes,
    /// Where to begin, inclusive; at or after `prefix`. `None` begins at the first key of the prefix.
    pub from: Option<Bytes>,
    /// At most so many keys; 0 means all.
    pub limit: usize,
    /// Read as of this revision; `None` means the newest, linearizably.
    pub at: Option<Revision>,
}

/// The answer to a [`RangeRequest`], in bytewise order of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    pub kvs: Vec<KeyValue>,
    /// How many keys of the prefix follow the last one returned. More than zero only when `limit` cut the answer.
    pub remaining: u64,
    /// The newest revision of the store when it answered, also when an older one was read.
    pub revision: Revision,
}

/// One condition of a transaction: the key was last written at this revision; [`Revision::ZERO`]: it is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compare {
    pub key: Bytes,
    pub mod_revision: Revision,
}

/// One change of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Writes the key. A lease of the previous value is detached; `lease`, if any, is attached.
    Put { key: Bytes, value: Bytes, lease: Option<LeaseId> },
    /// Deletes the key. Deleting what is not there changes nothing and makes no event.
    Delete { key: Bytes },
}

impl Op {
    pub fn key(&self) -> &Bytes {
        match self {
            Op::Put { key, .. } | Op::Delete { key } => key,
        }
    }
}

/// If all of `compare` hold, `then` happens atomically under one new revision; else `otherwise` is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Txn {
    pub compare: Vec<Compare>,
    /// No key may appear twice ([`crate::Error::InvalidArgument`]).
    pub then: Vec<Op>,
    pub otherwise: Vec<Bytes>,
}

impl Txn {
    /// Creates a key that must not exist; reads it otherwise.
    pub fn create(key: Bytes, value: Bytes, lease: Option<LeaseId>) -> Txn {
        Txn::update(key, value, Revision::ZERO, lease)
    }

    /// Writes a key last written at `expected`; reads it otherwise.
    pub fn update(key: Bytes, value: Bytes, expected: Revision, lease: Option<LeaseId>) -> Txn {
        Txn {
            compare: vec![Compare { key: key.clone(), mod_revision: expected }],
            otherwise: vec![key.clone()],
            then: vec![Op::Put { key, value, lease }],
        }
    }

    /// Deletes a key last written at `expected`; reads it otherwise.
    pub fn delete(key: Bytes, expected: Revision) -> Txn {
        Txn {
            compare: vec![Compare { key: key.clone(), mod_revision: expected }],
            otherwise: vec![key.clone()],
            then: vec![Op::Delete { key }],
        }
    }

    /// Writes a key whatever is there.
    pub fn put(key: Bytes, value: Bytes) -> Txn {
        Txn { then: vec![Op::Put { key, value, lease: None }], ..Txn::default() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnResult {
    pub succeeded: bool,
    /// The revision of the changes when `then` changed something, else the newest one.
    pub revision: Revision,
    /// One per key of `otherwise` when the comparison failed, else empty.
    pub read: Vec<Option<KeyValue>>,
    /// The values as later reads return them, one per put. Empty where they are the values handed in; only a backend that
    /// converts values on the way to the store and back fills it.
    pub written: Vec<Bytes>,
}

/// One change, as a watch sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Put {
        kv: KeyValue,
        /// The value before, when the watch asked for it, there was one, and it is not compacted away.
        prev: Option<KeyValue>,
    },
    Delete {
        key: Bytes,
        /// The revision of the deletion.
        revision: Revision,
        /// As for `Put`.
        prev: Option<KeyValue>,
    },
    /// A change with a value that a backend in between could not transform.
    Unreadable(UnreadableValue),
}

/// A stored value that a backend in between could not transform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableValue {
    pub key: Bytes,
    /// The revision of the value; in an [`Event`], that of the change.
    pub revision: Revision,
    pub reason: String,
}

impl Event {
    pub fn key(&self) -> &Bytes {
        match self {
            Event::Put { kv, .. } => &kv.key,
            Event::Delete { key, .. } => key,
            Event::Unreadable(value) => &value.key,
        }
    }

    pub fn revision(&self) -> Revision {
        match self {
            Event::Put { kv, .. } => kv.mod_revision,
            Event::Delete { revision, .. } => *revision,
            Event::Unreadable(value) => value.revision,
        }
    }

    /// Whether the key did not exist before this change.
    pub fn is_create(&self) -> bool {
        matches!(self, Event::Put { kv, .. } if kv.create_revision == kv.mod_revision)
    }
}

/// Prefix and first revision of a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchRequest {
    /// All keys that start with this. Empty means every key.
    pub prefix: Bytes,
    /// The first revision to deliver. One that lies ahead is waited for.
    pub from: Revision,
    /// Whether events carry the previous value.
    pub prev: bool,
    /// Whether the watch delivers [`WatchItem::Progress`] now and then while nothing changes under the prefix.
    /// Progress asked for by [`crate::Backend::request_progress`] is delivered either way.
    pub progress: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchItem {
    /// All changes of one revision under the prefix, in the order of the transaction's operations; never empty.
    Changes { revision: Revision, events: Vec<Event> },
    /// Everything up to and including this revision has been delivered.
    Progress(Revision),
}

/// Sizes that a store reports for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes that the store takes on its disk (in memory for one that keeps nothing).
    pub size: u64,
    /// Bytes of `size` that hold something now.
    pub size_in_use: u64,
}
