//! The stream of a watch's events, from the objects that existed at its start to its end.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream as Chunks;
use pintle_cache::{Change, Cursor, Entry, Error, Follow, Next};
use pintle_meta::Status;
use pintle_runtime::Random;
use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

use super::encode::Encoder;
use crate::lifecycle::{Signal, Terminating};
use crate::metrics::LongRunning;
use crate::rest::Result;
use crate::rest::select::Selection;
use crate::streams;

/// Interval of bookmarks.
const BOOKMARK: Duration = Duration::from_secs(60);
/// Time of the last bookmark before the end.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// The event that ends a watch whose revision the store has compacted.
pub(super) fn lost(error: &Error) -> Option<Box<Status>> {
    match error {
        Error::Storage(pintle_storage::Error::Compacted { .. }) => {
            Some(Box::new(Status::expired("The resourceVersion for the provided watch is too old.")))
        }
        _ => None,
    }
}

/// Now and then, and once more shortly before the end; then no more.
pub(super) fn next_bookmark(deadline: Instant, random: &Random) -> Instant {
    let now = Instant::now();
    let last = deadline.checked_sub(LAST_BOOKMARK).filter(|last| *last > now);
    last.map_or(deadline, |last| last.min(now + BOOKMARK.mul_f64(0.75 + 0.25 * random.fraction())))
}

/// The progress of a watch.
pub(super) struct State {
    /// Objects that existed at the start, still to be sent.
    pub(super) initial: std::vec::IntoIter<Arc<Entry>>,
    /// The revision of the bookmark that follows it.
    pub(super) ends: Option<u64>,
    pub(super) source: Source,
    /// Changes up to this revision were seen before.
    pub(super) after: u64,
    pub(super) selection: Selection,
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

    /// The next changes; nothing where there will be no more.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Result<Poll<Option<Vec<Arc<Change>>>>> {
        Ok(match self {
            Source::Cache(cursor) => cursor.poll_next(cx).map(|next| match next {
                Next::Changes(changes) => Some(changes),
                Next::Expired => None,
            }),
            Source::Store(follow) => match follow.poll_next(cx) {
                Poll::Ready(Some(Err(error))) => match lost(&error) {
                    Some(status) => return Err(status),
                    None => Poll::Ready(None),
                },
                Poll::Ready(Some(Ok(changes))) => Poll::Ready(Some(changes)),
                Poll::Ready(None) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            },
        })
    }
}

pub(in crate::rest) struct Stream {
    pub(super) encoder: Encoder,
    pub(super) state: Option<State>,
    /// An error that is the last event.
    pub(super) last: Option<Box<Status>>,
    pub(super) bookmarks: bool,
    pub(super) next_bookmark: Instant,
    pub(super) deadline: Instant,
    pub(super) stop: Signal,
    /// The endpoint's end.
    pub(super) ended: Option<Signal>,
    /// Whether the server is stopping and has set the watch's last deadline.
    pub(super) stopping: bool,
    pub(super) other: Other,
    /// How much is put together from several events.
    pub(super) at_once: usize,
    /// Where watches end one after the other.
    pub(super) terminating: Option<Terminating>,
    pub(super) _counted: LongRunning,
}

impl Stream {
    pub(in crate::rest) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// When it comes, the watch is over.
    pub(in crate::rest) fn stop(&self) -> Signal {
        self.stop.clone()
    }

    /// The next events; `None` when the watch is over.
    pub(in crate::rest) async fn next(&mut self) -> Option<Result<Bytes>> {
        poll_fn(|cx| self.poll_events(cx)).await
    }

    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        if let Some(status) = self.last.take() {
            return Poll::Ready(Some(self.end_with(&status)));
        }
        loop {
            let now = Instant::now();
            let ended = self.ended.as_ref().is_some_and(Signal::is_set);
            if self.stop.is_set() && !std::mem::replace(&mut self.stopping, true) {
                let delay = self.terminating.as_ref().map(Terminating::delay).unwrap_or_default();
                self.deadline = self.deadline.min(now + delay);
                self.next_bookmark = self.deadline;
            }
            if now >= self.deadline || ended {
                return Poll::Ready(None);
            }
            let Some(state) = &mut self.state else { return Poll::Ready(None) };
            match state.poll_ready(&mut self.encoder, self.at_once, cx) {
                Ok(Poll::Ready(Some(events))) => return Poll::Ready(Some(Ok(events))),
                Ok(Poll::Ready(None)) => return Poll::Ready(None),
                Ok(Poll::Pending) => {}
                Err(status) => return Poll::Ready(Some(self.end_with(&status))),
            }
            let until = if self.bookmarks { self.next_bookmark } else { self.deadline };
            if self.other.poll(until, now, cx).is_pending() {
                streams::settle();
                return Poll::Pending;
            }
            if self.bookmarks && now >= self.next_bookmark {
                self.next_bookmark = next_bookmark(self.deadline, &self.encoder.serving.random);
                if let Some(revision) = state.source.progress().filter(|revision| *revision >= state.after) {
                    let bookmark = self.encoder.bookmark(revision, false);
                    return Poll::Ready(Some(bookmark.map(|event| self.encoder.sent(event))));
                }
            }
        }
    }

    /// The last event: an error.
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

/// The other ends of a wait for changes: the time for a bookmark or the end, and the end of the server.
///
/// Nearly every wait ends with a change. So these are asked to wake a task when it waits for the first time, and not again
/// for every change.
pub(super) struct Other {
    timer: Pin<Box<Sleep>>,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The task that they wake.
    waker: Option<Waker>,
}

impl Other {
    pub(super) fn new(deadline: Instant, stop: Signal, ended: Option<Signal>) -> Other {
        let stopped: Pin<Box<dyn Future<Output = ()> + Send>> = match ended {
            None => Box::pin(async move { stop.wait().await }),
            Some(ended) => Box::pin(async move {
                tokio::select! {
                    () = stop.wait() => {}
                    () = ended.wait() => {}
                }
            }),
        };
        Other { timer: Box::pin(sleep_until(deadline)), stopped, waker: None }
    }

    /// Pending until then, or until the server stops.
    fn poll(&mut self, until: Instant, now: Instant, cx: &mut Context<'_>) -> Poll<()> {
        if self.timer.deadline() != until {
            self.timer.as_mut().reset(until);
            self.waker = None;
        }
        if self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            return if now >= until { Poll::Ready(()) } else { Poll::Pending };
        }
        // Unconstrained: a task that has used up its budget would get `Pending` without its waker being registered.
        let timer = pin!(unconstrained(self.timer.as_mut())).poll(cx);
        if timer.is_ready() {
            return Poll::Ready(());
        }
        if pin!(unconstrained(self.stopped.as_mut())).poll(cx).is_ready() {
            // The signal is reported once.
            self.stopped = Box::pin(std::future::pending());
            return Poll::Ready(());
        }
        self.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl State {
    /// The events that are there already, or those of the next changes; none when the watch is too late for them.
    fn poll_ready(
        &mut self,
        encoder: &mut Encoder,
        at_once: usize,
        cx: &mut Context<'_>,
    ) -> Result<Poll<Option<Bytes>>> {
        loop {
            if let Some(events) = self.ready(encoder, at_once)? {
                return Ok(Poll::Ready(Some(events)));
            }
            match self.source.poll_next(cx)? {
                Poll::Ready(Some(changes)) => self.pending = changes.into_iter(),
                Poll::Ready(None) => return Ok(Poll::Ready(None)),
                Poll::Pending => return Ok(Poll::Pending),
            }
        }
    }

    /// The events of what was read already; `None` if there are none.
    fn ready(&mut self, encoder: &mut Encoder, at_once: usize) -> Result<Option<Bytes>> {
        let mut batch = Batch { at_once, ..Batch::default() };
        for entry in self.initial.by_ref() {
            let event = encoder.entry("ADDED", &entry)?;
            batch.push(encoder.sent(event));
            if batch.is_full() {
                return Ok(Some(batch.finish()));
            }
        }
        if let Some(revision) = self.ends.take() {
            let event = encoder.bookmark(revision, true)?;
            batch.push(encoder.sent(event));
            if let Some((figure, received)) = encoder.initial.take() {
                figure.observe(received.elapsed().as_secs_f64());
            }
            if batch.is_full() {
                return Ok(Some(batch.finish()));
            }
        }
        for change in self.pending.by_ref() {
            if change.revision > self.after
                && let Some(event) = event_of(&change, &self.selection)
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

/// The event that a change is to a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Added,
    Modified,
    /// It is gone.
    Deleted,
    /// It is not selected any more.
    Left,
}

impl Event {
    pub(super) fn name(self) -> &'static str {
        match self {
            Event::Added => "ADDED",
            Event::Modified => "MODIFIED",
            Event::Deleted | Event::Left => "DELETED",
        }
    }
}

fn event_of(change: &Change, selection: &Selection) -> Option<Event> {
    let before = change.previous.as_ref().is_some_and(|previous| selection.matches(previous));
    if change.deleted {
        return before.then_some(Event::Deleted);
    }
    match (before, selection.matches(&change.entry)) {
        (false, true) => Some(Event::Added),
        (true, true) => Some(Event::Modified),
        (true, false) => Some(Event::Left),
        (false, false) => None,
    }
}

/// Events put together for one write; a single one is passed on as it is, shared with all other watchers.
#[derive(Default)]
struct Batch {
    at_once: usize,
    first: Option<Bytes>,
    more: BytesMut,
}

impl Batch {
    fn push(&mut self, frame: Bytes) {
        match self.first.take() {
            None if self.more.is_empty() => self.first = Some(frame),
            first => {
                if let Some(first) = first {
                    self.more.extend_from_slice(&first);
                }
                self.more.extend_from_slice(&frame);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.first.is_none() && self.more.is_empty()
    }

    fn is_full(&self) -> bool {
        self.first.as_ref().map_or(0, Bytes::len) + self.more.len() >= self.at_once
    }

    fn finish(&mut self) -> Bytes {
        self.first.take().unwrap_or_else(|| std::mem::take(&mut self.more).freeze())
    }
}
