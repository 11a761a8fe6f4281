//! A watch of the store itself, for resources that are not kept in memory: it can begin at any revision that the store
//! still has, and costs one watch of the store per watcher.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::StreamExt;
use pintle_storage::{Event, Revision, WatchItem, WatchRequest, WatchStream};

use crate::Error;
use crate::history::Change;
use crate::resource::Resource;

/// The changes after a revision, read from the store.
pub struct Follow {
    resource: Arc<Resource>,
    changes: WatchStream,
}

impl Resource {
    /// Follows the keys below a prefix from the first change after a revision, which may lie ahead.
    ///
    /// Errors: `Storage` with `Compacted`, here or of the first change.
    pub async fn follow(self: &Arc<Resource>, prefix: &str, after: u64) -> Result<Follow, Error> {
        let request = WatchRequest {
            prefix: self.full_key(prefix),
            from: Revision(after).next(),
            prev: true,
            progress: false,
        };
        let changes = self.store().watch(request).await?;
        Ok(Follow { resource: self.clone(), changes })
    }
}

impl Follow {
    /// The changes of the next transaction; nothing where the store's watch has ended.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<Arc<Change>>, Error>>> {
        loop {
            match ready!(self.changes.poll_next_unpin(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                Some(Ok(WatchItem::Progress(_))) => {}
                Some(Ok(WatchItem::Changes { events, .. })) => {
                    let changes = events.iter().map(|event| self.change(event));
                    let changes: Vec<_> = changes.filter_map(Result::transpose).collect::<Result<_, _>>()?;
                    if !changes.is_empty() {
                        return Poll::Ready(Some(Ok(changes)));
                    }
                }
            }
        }
    }

    /// Errors: the value cannot be decrypted.
    fn change(&self, event: &Event) -> Result<Option<Arc<Change>>, Error> {
        if let Event::Unreadable(value) = event {
            return Err(pintle_storage::Error::Undecryptable(vec![value.clone()]).into());
        }
        Ok(self.readable_change(event))
    }

    fn readable_change(&self, event: &Event) -> Option<Arc<Change>> {
        let revision = event.revision().0;
        let (entry, previous) = match event {
            Event::Put { kv, prev } => {
                let previous = prev.as_ref().and_then(|kv| self.resource.stored_entry(kv));
                (self.resource.stored_entry(kv)?, previous)
            }
            // A deletion whose previous value the store has compacted cannot be shown.
            Event::Delete { prev, .. } => {
                let previous = self.resource.stored_entry(prev.as_ref()?)?;
                (Arc::new(previous.at(revision)), Some(previous))
            }
            Event::Unreadable(_) => return None,
        };
        let deleted = matches!(event, Event::Delete { .. });
        Some(Arc::new(Change::new(revision, entry, previous, deleted)))
    }
}
