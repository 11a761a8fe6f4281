//! Recent changes, in memory, shared by all watches.
//!
//! A watch is a place in this sequence and nothing else, so a slow one costs nothing: when the changes it needs have
//! left the feed, it reads them from the log. Values are the bytes that the writing clients sent, never copied.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, RwLock};

use pintle_storage::{Event, KeyValue};
use tokio::sync::watch;

/// One change of a committed transaction.
#[derive(Debug)]
pub(crate) struct Change {
    event: Event,
    superseded: Option<(u64, u32)>,
    /// The value before: read when the first watch wants it, and then shared.
    prev: OnceLock<Option<KeyValue>>,
}

impl Change {
    pub(crate) fn new(event: Event, superseded: Option<(u64, u32)>) -> Self {
        Change { event, superseded, prev: OnceLock::new() }
    }

    pub(crate) fn key(&self) -> &[u8] {
        self.event.key()
    }

    pub(crate) fn event(&self) -> Event {
        self.event.clone()
    }

    /// The event with the value before it, which `read` finds by revision and operation.
    pub(crate) fn event_with_prev<E>(
        &self,
        read: impl FnOnce(u64, u32) -> Result<Option<KeyValue>, E>,
    ) -> Result<Event, E> {
        let mut event = self.event.clone();
        if let Some((revision, op)) = self.superseded {
            let value = match self.prev.get() {
                Some(value) => value.clone(),
                None => {
                    let value = read(revision, op)?;
                    self.prev.get_or_init(|| value).clone()
                }
            };
            match &mut event {
                Event::Put { prev, .. } | Event::Delete { prev, .. } => *prev = value,
                Event::Unreadable(_) => {}
            }
        }
        Ok(event)
    }
}

/// All changes of one revision.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) revision: u64,
    pub(crate) changes: Vec<Change>,
    pub(crate) bytes: usize,
}

impl Committed {
    /// Approximate memory of a change besides its bytes.
    const OVERHEAD: usize = 256;

    pub(crate) fn new(revision: u64, changes: Vec<Change>) -> Self {
        let bytes = changes
            .iter()
            .map(|change| match &change.event {
                // Twice, because the value before is about as large and may join it.
                Event::Put { kv, .. } => Committed::OVERHEAD + kv.key.len() + 2 * kv.value.len(),
                Event::Delete { .. } | Event::Unreadable(_) => Committed::OVERHEAD + change.event.key().len(),
            })
            .sum();
        Committed { revision, changes, bytes }
    }
}

/// The state that a watch reads to decide whether it has events to deliver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tip {
    /// The newest committed revision.
    pub(crate) revision: u64,
    /// Counts the requests for progress; `progress_at` is the newest revision at the last one.
    pub(crate) progress: u64,
    pub(crate) progress_at: u64,
    pub(crate) closed: bool,
}

#[derive(Debug)]
pub(crate) struct Feed {
    ring: RwLock<Ring>,
    tip: watch::Sender<Tip>,
}

#[derive(Debug, Default)]
struct Ring {
    /// Without gaps, so the entry of a revision is at its distance from the first.
    entries: VecDeque<Arc<Committed>>,
    bytes: usize,
    max_bytes: usize,
}

impl Feed {
    pub(crate) fn new(revision: u64, max_bytes: usize) -> Self {
        Feed {
            ring: RwLock::new(Ring { max_bytes, ..Ring::default() }),
            tip: watch::Sender::new(Tip { revision, ..Tip::default() }),
        }
    }

    /// Adds what was committed, in order and without a gap to what was added before, and wakes the watches.
    /// `revision` is the newest one.
    pub(crate) fn publish(&self, revision: u64, committed: Vec<Committed>) {
        if self.tip.borrow().revision == revision {
            return;
        }
        {
            let mut ring = self.ring.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            if committed.is_empty() {
                // Revisions came without their changes, from a store that was opened again. The ring has no gaps, so
                // it starts anew; watches find them in the log.
                ring.entries.clear();
                ring.bytes = 0;
            }
            for entry in committed {
                ring.bytes += entry.bytes;
                ring.entries.push_back(Arc::new(entry));
            }
            while ring.bytes > ring.max_bytes
                && let Some(gone) = ring.entries.pop_front()
            {
                ring.bytes -= gone.bytes;
            }
        }
        self.tip.send_modify(|tip| tip.revision = revision);
    }

    /// Some entries from `revision` on; `None` if they have left the feed. The caller knows that the revision is
    /// committed.
    pub(crate) fn read(&self, revision: u64, max_bytes: usize) -> Option<Vec<Arc<Committed>>> {
        let ring = self.ring.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let first = ring.entries.front()?.revision;
        let skip = usize::try_from(revision.checked_sub(first)?).ok()?;
        let mut bytes = 0;
        let entries: Vec<_> = ring
            .entries
            .iter()
            .skip(skip)
            .take_while(|entry| {
                let take = bytes < max_bytes;
                bytes += entry.bytes;
                take
            })
            .cloned()
            .collect();
        (!entries.is_empty()).then_some(entries)
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Tip> {
        self.tip.subscribe()
    }

    pub(crate) fn request_progress(&self) {
        self.tip.send_modify(|tip| {
            tip.progress += 1;
            tip.progress_at = tip.revision;
        });
    }

    pub(crate) fn close(&self) {
        self.tip.send_modify(|tip| tip.closed = true);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use pintle_storage::Revision;

    use super::*;

    fn committed(revision: u64, size: usize) -> Committed {
        let kv = KeyValue {
            key: "k".into(),
            value: Bytes::from(vec![0; size]),
            create_revision: Revision(revision),
            mod_revision: Revision(revision),
            lease: None,
            stale: false,
        };
        Committed::new(revision, vec![Change::new(Event::Put { kv, prev: None }, None)])
    }

    #[test]
    fn the_feed_keeps_recent_changes_within_its_bytes() {
        let feed = Feed::new(1, 10_000);
        feed.publish(21, (2..=21).map(|revision| committed(revision, 1000)).collect());
        assert_eq!(feed.subscribe().borrow().revision, 21);
        assert!(feed.read(2, usize::MAX).is_none(), "too old");
        let first = (2..).find(|revision| feed.read(*revision, usize::MAX).is_some()).unwrap();
        assert_eq!(first, 18, "four times 2.2 KB");
        let revisions: Vec<_> =
            feed.read(19, usize::MAX).unwrap().iter().map(|entry| entry.revision).collect();
        assert_eq!(revisions, [19, 20, 21]);
        assert_eq!(feed.read(18, 1).unwrap().len(), 1, "at least one, however large");
    }

    #[test]
    fn revisions_without_their_changes_are_left_to_the_log() {
        let feed = Feed::new(1, 10_000);
        feed.publish(3, vec![committed(2, 10), committed(3, 10)]);
        feed.publish(4, Vec::new());
        feed.publish(5, vec![committed(5, 10)]);
        assert!(feed.read(3, usize::MAX).is_none());
        assert!(feed.read(4, usize::MAX).is_none());
        assert_eq!(feed.read(5, usize::MAX).unwrap()[0].revision, 5);
    }

    #[test]
    fn a_change_larger_than_the_feed_is_left_to_the_log() {
        let feed = Feed::new(1, 10_000);
        feed.publish(2, vec![committed(2, 20_000)]);
        assert!(feed.read(2, usize::MAX).is_none());
        feed.publish(3, vec![committed(3, 1000)]);
        assert_eq!(feed.read(3, usize::MAX).unwrap().len(), 1);
    }
}
