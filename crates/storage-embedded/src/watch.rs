//! A watch: a place in the sequence of revisions that moves forward.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use pintle_storage::{Error, Result, Revision, WatchItem, WatchRequest, WatchStream};
use tokio::sync::watch;
use tokio::time::Sleep;

use crate::feed::{Committed, Tip};
use crate::store::Shared;
use crate::tables::FIRST_REVISION;

/// How much a watch takes from the feed or the log at a time: what a reader that stops reading holds on to.
const STEP_BYTES: usize = 256 << 10;

/// How long to wait for a store that cannot be read right now.
const TRY_AGAIN: Duration = Duration::from_millis(50);

pub(crate) fn start(shared: Arc<Shared>, request: WatchRequest, progress_interval: Duration) -> WatchStream {
    let tip = shared.feed.subscribe();
    // Requests for progress made before this watch began are not its business.
    let progress_seen = tip.borrow().progress;
    let watcher = Watcher {
        // Nothing ever happened at an empty store's revision, so no compaction can take it away.
        next: request.from.0.max(FIRST_REVISION + 1),
        progress_seen,
        idle: request.progress.then(|| Idle::new(progress_interval)),
        tip,
        shared,
        request,
        ready: VecDeque::new(),
    };
    Box::pin(stream::unfold(Some(watcher), |watcher| async move {
        let mut watcher = watcher?;
        match watcher.next().await {
            Ok(item) => Some((Ok(item), Some(watcher))),
            Err(error) => Some((Err(error), None)),
        }
    }))
}

struct Watcher {
    shared: Arc<Shared>,
    tip: watch::Receiver<Tip>,
    request: WatchRequest,
    /// Everything before this revision is delivered or in `ready`.
    next: u64,
    ready: VecDeque<WatchItem>,
    progress_seen: u64,
    idle: Option<Idle>,
}

impl Watcher {
    async fn next(&mut self) -> Result<WatchItem> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(self.deliver(item));
            }
            let tip = *self.tip.borrow_and_update();
            if tip.closed {
                return Err(Error::Closed);
            }
            // `ready` is empty, so everything before `next` is delivered.
            let reached = Revision(tip.revision.min(self.next.saturating_sub(1)));
            if tip.progress > self.progress_seen && self.next > tip.progress_at {
                self.progress_seen = tip.progress;
                return Ok(self.deliver(WatchItem::Progress(reached)));
            }
            if self.next <= tip.revision {
                match self.advance().await {
                    // The store is being opened again after a failed write; what it has then is what comes next.
                    Err(Error::Unavailable(_)) => tokio::time::sleep(TRY_AGAIN).await,
                    result => result?,
                }
                continue;
            }
            let changed = match &mut self.idle {
                None => self.tip.changed().await,
                Some(idle) => tokio::select! {
                    // In this order: a change that came at the same time goes first.
                    biased;
                    changed = self.tip.changed() => changed,
                    () = &mut idle.sleep => return Ok(self.deliver(WatchItem::Progress(reached))),
                },
            };
            changed.map_err(|_| Error::Closed)?;
        }
    }

    /// Moves towards the tip, from the feed if it still has what is next, else from the log.
    async fn advance(&mut self) -> Result<()> {
        if let Some(entries) = self.shared.feed.read(self.next, STEP_BYTES) {
            for entry in entries {
                if let Some(item) = self.changes(&entry)? {
                    self.ready.push_back(item);
                }
                self.next = entry.revision + 1;
            }
            return Ok(());
        }
        let (shared, request, from) = (self.shared.clone(), self.request.clone(), self.next);
        let read = move || shared.read(|view| view.history(&request, from, STEP_BYTES));
        let history = tokio::task::spawn_blocking(read)
            .await
            .map_err(|error| Error::Unavailable(format!("reading history failed: {error}")))??;
        self.ready.extend(history.items);
        self.next = history.next;
        Ok(())
    }

    fn changes(&self, entry: &Committed) -> Result<Option<WatchItem>> {
        let mut events = Vec::new();
        for change in &entry.changes {
            if !change.key().starts_with(&self.request.prefix) {
                continue;
            }
            events.push(if self.request.prev {
                change
                    .event_with_prev(|revision, op| self.shared.read(|view| view.superseded(revision, op)))?
            } else {
                change.event()
            });
        }
        let revision = Revision(entry.revision);
        Ok((!events.is_empty()).then_some(WatchItem::Changes { revision, events }))
    }

    fn deliver(&mut self, item: WatchItem) -> WatchItem {
        if let Some(idle) = &mut self.idle {
            idle.start_over();
        }
        item
    }
}

/// Goes off when nothing was delivered for a while.
struct Idle {
    sleep: Pin<Box<Sleep>>,
    interval: Duration,
}

impl Idle {
    fn new(interval: Duration) -> Self {
        Idle { sleep: Box::pin(tokio::time::sleep(interval)), interval }
    }

    fn start_over(&mut self) {
        self.sleep.set(tokio::time::sleep(self.interval));
    }
}
