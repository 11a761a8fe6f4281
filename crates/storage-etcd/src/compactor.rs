//! Compaction, shared with every other API server on the same etcd.
//!
//! The key `compact_rev_key` is their clock and their lock. Its value is the last compacted revision, and its version (how
//! often it was written) is the time. Each server remembers the time and the newest revision it saw, waits an
//! interval, and tries to move the time on by one with that revision as the value. One of them succeeds and compacts what
//! is now one interval old; the others learn the new time and wait again:
//!
//! ```text
//! server A   sees rev 100, time 3          sets time 4 = "100", compacts 100, sees rev 180
//! server B        sees rev 120, time 3          fails: time is 4. sees rev 190
//! ```
//!
//! So history lives for one interval, and for less than two when a server dies. A kube-apiserver takes part as well.

use std::time::Duration;

use bytes::Bytes;
use pintle_storage::{Backend, Result, Revision};

use crate::Store;
use crate::client::Effect;
use crate::kv::{newest, read};
use crate::proto::{Compare, CompareTo, PutRequest, Request, TxnRequest};
use crate::store::plain;

/// The key of the compactors' shared record. It is outside all prefixes, since an etcd has one history for all its users.
pub(crate) const COMPACT_REV_KEY: Bytes = Bytes::from_static(b"compact_rev_key");

/// The state of one compactor between rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    /// The version of the key.
    time: i64,
    /// The newest revision then; zero before the first round.
    revision: Revision,
}

/// Compacts what is older than `interval`, again and again, until the store closes. An interval of zero compacts nothing.
pub async fn run(store: Store, interval: Duration) {
    if interval.is_zero() {
        return;
    }
    let mut client = store.client().clone();
    let mut seen = Seen::default();
    loop {
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = client.wait_closed() => return,
        }
        if let Err(error) = round(&store, &mut seen).await {
            tracing::warn!(%error, "etcd could not be compacted; trying again in {interval:?}");
        }
    }
}

/// One round. Gives the revision that was compacted, by this server or, since the last round, by another.
async fn round(store: &Store, seen: &mut Seen) -> Result<Option<Revision>> {
    let value = seen.revision.to_string().into();
    let put = PutRequest { key: COMPACT_REV_KEY, value, lease: 0 };
    let request = TxnRequest {
        compare: vec![Compare {
            result: 0,
            target: Compare::VERSION,
            key: COMPACT_REV_KEY,
            to: Some(CompareTo::Version(seen.time)),
        }],
        success: vec![Request::Put(put).into()],
        failure: vec![read(COMPACT_REV_KEY)],
    };
    let response = store.client().call(request, Effect::Once).await.map_err(plain)?;
    let now = newest(response.header.as_ref()).map_err(plain)?;
    if !response.succeeded {
        let current = response.responses.into_iter().next().and_then(|op| op.range?.kvs.pop());
        // The key may have been deleted; then the logical time restarts.
        *seen = Seen { time: current.as_ref().map_or(0, |kv| kv.version), revision: now };
        let compacted =
            current.and_then(|kv| std::str::from_utf8(&kv.value).ok()?.parse().ok()).map(Revision);
        compacted.into_iter().for_each(|revision| store.heard_of_compaction(revision));
        return Ok(compacted);
    }
    let due = seen.revision;
    *seen = Seen { time: seen.time + 1, revision: now };
    if due == Revision::ZERO {
        return Ok(None);
    }
    store.compact(due).await?;
    tracing::debug!(revision = %due, "etcd compacted");
    Ok(Some(due))
}
