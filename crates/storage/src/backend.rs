//! The seam between Pintle and a store.

use std::pin::Pin;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;

use crate::{
    KeyValue, LeaseId, Range, RangeRequest, Result, Revision, Stats, Txn, TxnResult, WatchItem, WatchRequest,
};

/// The items of a watch. After an error it ends. Dropping it ends the watch.
///
/// It ends with [`crate::Error::Compacted`] when the watcher is so late that history it still needs is gone, and with
/// [`crate::Error::Closed`] when the store closes. A backend that loses its connection resumes by itself.
pub type WatchStream = Pin<Box<dyn Stream<Item = Result<WatchItem>> + Send>>;

/// A store of versioned bytes. See the crate's documentation for the guarantees.
///
/// All methods may be called concurrently. A future that is dropped before it is ready may or may not have had its
/// effect.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// One key, at the newest revision (linearizably) or at an older one. The second value is the newest revision of
    /// the store when it answered.
    ///
    /// Errors: `Compacted`, `FutureRevision`; `Undecryptable` and `Unreadable` from a backend in between.
    async fn get(&self, key: &[u8], at: Option<Revision>) -> Result<(Option<KeyValue>, Revision)>;

    /// Keys of a prefix. All pages read `at` the same revision belong together.
    ///
    /// Errors: as for `get`.
    async fn range(&self, request: RangeRequest) -> Result<Range>;

    /// How many keys start with `prefix`, at the newest revision.
    async fn count(&self, prefix: &[u8]) -> Result<u64>;

    /// Compares and then changes or reads, atomically. Returns after the changes are durable.
    ///
    /// Errors: `InvalidArgument`, `TooLarge`, `NoSpace`, `LeaseNotFound`; `Unavailable` means not applied, `Unknown`
    /// means perhaps. `NotEncrypted` and `Unreadable` from a backend in between: not applied; `Undecryptable`: not applied, and what
    /// is there instead cannot be read.
    async fn txn(&self, txn: Txn) -> Result<TxnResult>;

    /// Returns the value that a read would return after writing this one. Called instead of a `txn` for dry runs.
    ///
    /// Errors: `Unreadable`, if that is what the write or the read would say.
    async fn rehearse(&self, value: Bytes) -> Result<Bytes> {
        Ok(value)
    }

    /// Starts a watch. Returns once the store has accepted it, so that no later change can be missed.
    ///
    /// `from` before the compacted revision is `Compacted`, either here or as the first item of the stream. At the
    /// compacted revision itself a store may have forgotten a deletion already; everything after it is there.
    ///
    /// A change whose value cannot be decrypted is delivered as [`crate::Event::Unreadable`] in its place, and the watch goes on.
    async fn watch(&self, request: WatchRequest) -> Result<WatchStream>;

    /// Asks every open watch of this backend to report its progress soon, up to at least the revision that was the
    /// newest when this was called, also where nothing changed under its prefix.
    ///
    /// Errors: `Unsupported` when the store's progress cannot be trusted; readers then ask the store itself.
    async fn request_progress(&self) -> Result<()>;

    /// The newest revision, linearizably.
    async fn current_revision(&self) -> Result<Revision>;

    /// The newest revision, linearizably, where it is known without a round trip; `None` where it needs one.
    fn known_revision(&self) -> Option<Revision> {
        None
    }

    /// Gives up history before `revision`: reads before it fail from now on, and its space is reused in time.
    /// Compacting what is compacted already is not an error. Readers and writers are not held up.
    ///
    /// Errors: `FutureRevision`.
    async fn compact(&self, revision: Revision) -> Result<()>;

    /// The revision below which history is gone; `ZERO` if nothing was compacted or the store cannot tell cheaply.
    async fn compacted_revision(&self) -> Result<Revision>;

    /// A lease that ends `ttl` from now or somewhat later ([`crate::lease::Window`]). It may be shared with other
    /// callers and is never renewed. Keys attached to it by [`crate::Op::Put`] are deleted, with events, when it ends.
    async fn lease(&self, ttl: Duration) -> Result<LeaseId>;

    /// Whether the store can serve: a cheap round trip to where the data is.
    async fn health(&self) -> Result<()>;

    /// Figures for metrics.
    async fn stats(&self) -> Result<Stats>;

    /// Makes acknowledged writes reach their final place, ends all watches with `Closed` and refuses what comes after.
    async fn close(&self) -> Result<()>;
}

/// The end of the range of keys that start with `prefix`: the first key after all of them. `None` if there is none
/// (the prefix is empty or all 0xff).
///
/// `prefix_end(b"/registry/pods/")` is `/registry/pods0`.
pub fn prefix_end(prefix: &[u8]) -> Option<Bytes> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_end_is_the_first_key_after_the_prefix() {
        assert_eq!(prefix_end(b"/a/").as_deref(), Some(&b"/a0"[..]));
        assert_eq!(prefix_end(b"a\xff\xff").as_deref(), Some(&b"b"[..]));
        assert_eq!(prefix_end(b"\xff"), None);
        assert_eq!(prefix_end(b""), None);
    }
}
