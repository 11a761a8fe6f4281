//! The stream of a watch's events, from the objects that existed at its start to its end.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_core::Stream as Chunks;
use pintle_cache::{Change, Cursor, Entry, Error, Follow, Next};
use pintle_flow_control::WatchRegistration;
use pintle_meta::Status;
use pintle_runtime::{Clock, Random};

use super::batch::{Batch, Event};
use super::encode::Encoder;
use super::wake::WakeSources;
use crate::lifecycle::{ActiveWatch, Signal};
use crate::metrics::LongRunning;
use crate::overload::Slot;
use crate::rest::Result;
use crate::rest::select::Selection;
use crate::streams;

/// Interval of bookmarks.
const BOOKMARK: Duration = Duration::from_secs(60);
/// Time of the last bookmark before the end.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// Returns the error of a watch whose revision the store has compacted.
pub(super) fn compacted_status(error: &Error) -> Option<Box<Status>> {
    match error {
        Error::Storage(pintle_storage::Error::Compacted { .. }) => {
            Some(Box::new(Status::expired("The resourceVersion for the provided watch is too old.")))
        }
        _ => None,
    }
}

/// Returns the time of the next bookmark: within a minute, or shortly before the end; then the end itself.
pub(super) fn next_bookmark(now: Instant, deadline: Instant, random: &Random) -> Instant {
    let last = deadline.checked_sub(LAST_BOOKMARK).filter(|last| *last > now);
    last.map_or(deadline, |last| last.min(now + BOOKMARK.mul_f64(0.75 + 0.25 * random.fraction())))
}

/// The progress of a watch.
pub(super) struct State {
    /// Objects that existed at the start, still to be sent.
    pub(super) initial: std::vec::IntoIter<Arc<Entry>>,
    /// The revision of the bookmark that marks the end of the initial events, if it is still to be sent.
    pub(super) initial_events_end: Option<u64>,
    pub(super) source: Source,
    /// Changes up to this revision are in `initial`, or known to the client.
    pub(super) after: u64,
    pub(super) selection: Selection,
    /// Changes that were read and are still to be sent.
    pub(super) pending: std::vec::IntoIter<Arc<Change>>,
}

/// The source of changes.
pub(super) enum Source {
    Cache(Cursor),
    Store(Follow),
}

impl Source {
    /// Returns the revision up to which every change was delivered, if it is known.
    fn progress(&mut self) -> Option<u64> {
        match self {
            Source::Cache(cursor) => cursor.progress(),
            Source::Store(_) => None,
        }
    }

    /// Returns the next changes; none where the watch ends without an error. Errors: the store's watch failed.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Result<Poll<Option<Vec<Arc<Change>>>>> {
        Ok(match self {
            Source::Cache(cursor) => cursor.poll_next(cx).map(|next| match next {
                Next::Changes(changes) => Some(changes),
                Next::Expired => None,
            }),
            Source::Store(follow) => match follow.poll_next(cx) {
                Poll::Ready(Some(Err(error))) => {
                    let failed = || Box::new(Status::internal(&error));
                    return Err(compacted_status(&error).unwrap_or_else(failed));
                }
                Poll::Ready(Some(Ok(changes))) => Poll::Ready(Some(changes)),
                Poll::Ready(None) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            },
        })
    }
}

/// The events of a watch as frames.
pub(in crate::rest) struct Stream {
    pub(super) encoder: Encoder,
    /// `None` once the watch is over.
    pub(super) state: Option<State>,
    /// The error of a watch that could not start, its only event.
    pub(super) start_error: Option<Box<Status>>,
    /// Whether the client asked for bookmarks.
    pub(super) bookmarks: bool,
    pub(super) next_bookmark: Instant,
    pub(super) clock: Clock,
    pub(super) deadline: Instant,
    pub(super) shutdown: Signal,
    /// Whether the shutdown has moved the deadline already.
    pub(super) is_shutting_down: bool,
    pub(super) endpoint_removed: Option<Signal>,
    pub(super) wake_sources: WakeSources,
    /// Bytes of events from which on a write is full.
    pub(super) batch_limit: usize,
    /// Set if watches have a grace period; gives each its own end.
    pub(super) termination: Option<ActiveWatch>,
    pub(super) _long_running: LongRunning,
    /// The permission to execute, until the initial events are sent.
    pub(super) slot: Option<Slot>,
    pub(super) _registration: Option<Arc<WatchRegistration>>,
}

impl Stream {
    /// Returns the time until the watch ends by itself.
    pub(in crate::rest) fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(self.clock.instant())
    }

    pub(in crate::rest) fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Waits until the server shuts down and the watch has reached the end of its grace period. Called while an event is
    /// sent, which may take forever.
    pub(in crate::rest) async fn shut_down(&mut self) {
        self.shutdown.wait().await;
        self.observe_shutdown(self.clock.instant());
        self.clock.sleep(self.remaining()).await;
    }

    /// Returns the next events; `None` when the watch is over.
    pub(in crate::rest) async fn next(&mut self) -> Option<Result<Bytes>> {
        poll_fn(|cx| self.poll_events(cx)).await
    }

    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        if let Some(status) = self.start_error.take() {
            return Poll::Ready(Some(self.end_with(&status)));
        }
        loop {
            let now = self.clock.instant();
            self.observe_shutdown(now);
            let is_removed = self.endpoint_removed.as_ref().is_some_and(Signal::is_set);
            if now >= self.deadline || is_removed {
                return Poll::Ready(None);
            }
            let Some(state) = &mut self.state else { return Poll::Ready(None) };
            let ready = state.poll_ready(&mut self.encoder, self.batch_limit, cx);
            // Before its client sees them all, so that its next request finds the seats free.
            if state.has_sent_initial() {
                self.slot = None;
            }
            match ready {
                Ok(Poll::Ready(Some(events))) => return Poll::Ready(Some(Ok(events))),
                Ok(Poll::Ready(None)) => return Poll::Ready(None),
                Ok(Poll::Pending) => {}
                Err(status) => return Poll::Ready(Some(self.end_with(&status))),
            }
            let until = if self.bookmarks { self.next_bookmark } else { self.deadline };
            if self.wake_sources.poll(until, now, cx).is_pending() {
                streams::park();
                return Poll::Pending;
            }
            if self.bookmarks
                && now >= self.next_bookmark
                && let Some(bookmark) = self.bookmark(now)
            {
                return Poll::Ready(Some(bookmark.or_else(|status| self.end_with(&status))));
            }
        }
    }

    /// Moves the deadline once, when a shutdown has begun.
    fn observe_shutdown(&mut self, now: Instant) {
        if self.shutdown.is_set() && !std::mem::replace(&mut self.is_shutting_down, true) {
            let delay = self.termination.as_ref().map(ActiveWatch::delay).unwrap_or_default();
            self.deadline = self.deadline.min(now + delay);
            self.next_bookmark = self.deadline;
        }
    }

    /// Returns a bookmark at the revision that the watch has reached, if that is known.
    fn bookmark(&mut self, now: Instant) -> Option<Result<Bytes>> {
        self.next_bookmark = next_bookmark(now, self.deadline, &self.encoder.serving.random);
        let state = self.state.as_mut()?;
        let revision = state.source.progress().filter(|revision| *revision >= state.after)?;
        Some(self.encoder.bookmark(revision, false).map(|event| self.encoder.sent(event)))
    }

    /// Returns an ERROR event, which is the last one.
    fn end_with(&mut self, status: &Status) -> Result<Bytes> {
        self.state = None;
        self.encoder.error(status).map(|event| self.encoder.sent(event))
    }
}

impl Chunks for Stream {
    type Item = std::result::Result<Bytes, crate::body::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let events = self.poll_events(cx);
        events.map(|events| events.map(|events| events.map_err(|status| status.message.into())))
    }
}

impl State {
    /// Returns whether no object that existed at the start is still to be sent.
    pub(super) fn has_sent_initial(&self) -> bool {
        self.initial.as_slice().is_empty() && self.initial_events_end.is_none()
    }

    /// Returns the events that were read already, or those of the next changes; none when the watch ends.
    fn poll_ready(
        &mut self,
        encoder: &mut Encoder,
        batch_limit: usize,
        cx: &mut Context<'_>,
    ) -> Result<Poll<Option<Bytes>>> {
        loop {
            if let Some(events) = self.ready(encoder, batch_limit)? {
                return Ok(Poll::Ready(Some(events)));
            }
            match self.source.poll_next(cx)? {
                Poll::Ready(Some(changes)) => self.pending = changes.into_iter(),
                Poll::Ready(None) => return Ok(Poll::Ready(None)),
                Poll::Pending => return Ok(Poll::Pending),
            }
        }
    }

    /// Returns the events of objects and changes that were read already; `None` if there are none.
    fn ready(&mut self, encoder: &mut Encoder, batch_limit: usize) -> Result<Option<Bytes>> {
        let mut batch = Batch::new(batch_limit);
        for entry in self.initial.by_ref() {
            let event = encoder.entry("ADDED", &entry)?;
            batch.push(encoder.sent(event));
            if batch.is_full() {
                return Ok(Some(batch.finish()));
            }
        }
        if let Some(revision) = self.initial_events_end.take() {
            let event = encoder.bookmark(revision, true)?;
            batch.push(encoder.sent(event));
            if let Some((histogram, received)) = encoder.initial.take() {
                histogram.observe(received.elapsed().as_secs_f64());
            }
            if batch.is_full() {
                return Ok(Some(batch.finish()));
            }
        }
        for change in self.pending.by_ref() {
            if change.revision > self.after
                && let Some(event) = Event::from_change(&change, &self.selection)
            {
                let event = encoder.change(&change, event)?;
                batch.push(encoder.sent(event));
                if batch.is_full() {
                    return Ok(Some(batch.finish()));
                }
            }
        }
        Ok((!batch.is_empty()).then(|| batch.finish()))
    }
}
