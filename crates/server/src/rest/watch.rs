//! Following objects: what is there, if asked for, then every change, until the time is over.
//!
//! A watch is a cursor into the cache's changes and a stream that reads on when the client has taken what it got. A client
//! that takes nothing costs nothing; when what it needs is gone, its watch ends, and no other's.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream as Chunks;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response as HttpResponse, StatusCode};
use pintle_cache::{Change, Cursor, Entry, Error, Follow, Form, Frame, Next};
use pintle_codec::negotiate::Encoding;
use pintle_codec::partial::Version;
use pintle_codec::table::Include;
use pintle_codec::{cbor, frame, json, partial, protobuf};
use pintle_features::Feature;
use pintle_meta::selector::field;
use pintle_meta::{Status, Value};
use pintle_runtime::Random;
use prometheus::Histogram;
use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

use super::answer::{Negotiated, Shape};
use super::call::Call;
use super::endpoint::Serving;
use super::list::parse_version;
use super::options::ListOptions;
use super::revision::WAIT;
use super::route::scope;
use super::select::Selection;
use super::{Result, cache_error, internal, shown, uncached, unexpected, websocket};
use crate::lifecycle::{Signal, Terminating, WatchTermination};
use crate::metrics::{EventMetrics, LongRunning};
use crate::{Body, Response, streams};

/// How much is sent at once.
const BATCH: usize = 64 * 1024;
/// How often a client that wants to know is told how far its watch has come.
const BOOKMARK: Duration = Duration::from_secs(60);
/// ...and so long before the end, once more.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// Marks the bookmark after which a client has seen everything that was there.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

pub(crate) async fn watch(serving: &Serving, call: &mut Call<'_>) -> Result<Response> {
    let options = ListOptions::read(call.request, true, call.shared.features.enabled(Feature::WatchList))?;
    let selection = Selection::read(call.request, serving, call.shared.features)?;
    let content_type = content_type(call)?;
    let timeout = match options.timeout_seconds {
        // Less than nothing is over at once.
        Some(seconds) if seconds != 0 => Duration::from_secs(u64::try_from(seconds).unwrap_or(0)),
        _ => call.shared.random.jitter(call.shared.min_request_timeout, 1.0),
    };
    let (metrics, is_websocket) =
        (&call.shared.metrics, websocket::is_asked_for(&call.request.parts.headers));
    let mut writer = Writer {
        serving: serving.clone(),
        negotiated: call.negotiated,
        told_columns: false,
        // The reference does not count those that go over WebSockets.
        metrics: (!is_websocket).then(|| metrics.events(serving.place())),
        initial: None,
    };
    let scope = if call.request.info.name.is_empty() {
        scope(serving, &call.request.info, false)
    } else {
        "resource"
    };
    if options.send_initial_events == Some(true) && options.allow_bookmarks && !is_websocket {
        let scope = match call.request.info.field_selector.as_deref().map(names_namespace) {
            Some(true) if scope == "cluster" => "namespace",
            _ => scope,
        };
        writer.initial = Some((metrics.initial_events(serving.place(), scope), call.request.received));
    }
    let deadline = Instant::now() + timeout;
    let (state, expired) = match start(serving, &options, selection).await {
        Ok(state) => (Some(state), None),
        // What is too old is told within the watch, as clients expect it.
        Err(Failed::Cache(error @ Error::TooOld { .. })) => (None, Some(cache_error(&error))),
        Err(Failed::Within(status)) => (None, Some(status)),
        Err(Failed::Cache(error)) => return Err(cache_error(&error)),
        Err(Failed::Told(status)) => return Err(status),
    };
    let stream = Stream {
        writer,
        last: expired,
        state,
        bookmarks: options.allow_bookmarks,
        next_bookmark: next_bookmark(deadline, &serving.random),
        deadline,
        stop: call.shared.stop.clone(),
        ended: serving.ended.clone(),
        stopping: false,
        other: Other::new(deadline, call.shared.stop.clone(), serving.ended.clone()),
        at_once: BATCH,
        terminating: call.shared.termination.as_ref().map(WatchTermination::enter),
        _counted: metrics.long_running(serving.place(), "WATCH", scope),
    };
    if is_websocket {
        let encoding = call.negotiated.encoding;
        // A message is an event.
        return websocket::serve(call.request, encoding, Stream { at_once: 0, ..stream });
    }
    let mut response = HttpResponse::new(Body::stream(stream));
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    Ok(response)
}

/// Whether a field selector holds for one namespace only.
fn names_namespace(selector: &str) -> bool {
    let selector = field::Selector::parse(selector).ok();
    selector.is_some_and(|selector| selector.requires_exact_match("metadata.namespace").is_some())
}

/// Of the stream. YAML has none, since its documents cannot follow each other.
fn content_type(call: &Call<'_>) -> Result<&'static str> {
    let encoding = call.negotiated.encoding;
    match encoding {
        Encoding::Yaml => {
            let known: Vec<&str> =
                call.shared.encodings.iter().filter_map(|encoding| encoding.stream_media_type()).collect();
            Err(Box::new(Status::not_acceptable(&known)))
        }
        Encoding::Json => Ok("application/json"),
        _ => Ok(encoding.stream_media_type().unwrap_or("application/json")),
    }
}

/// Why a watch cannot begin.
enum Failed {
    Cache(Error),
    /// Told as an event.
    Within(Box<Status>),
    Told(Box<Status>),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Cache(error)
    }
}

async fn start(
    serving: &Serving,
    options: &ListOptions,
    selection: Selection,
) -> std::result::Result<State, Failed> {
    let cache = serving.store.cache();
    let version = match options.resource_version.as_str() {
        "" => None,
        text => Some(parse_version(text).map_err(|why| Failed::Told(unexpected(why)))?),
    };
    if !serving.store.has_watch_cache() {
        return start_uncached(serving, options, selection, version.unwrap_or(0)).await;
    }
    cache.ready().await?;
    let everything = options.send_initial_events.unwrap_or(version.is_none_or(|version| version == 0));
    if everything || version.is_none() || version == Some(0) {
        let waited = match version {
            // The most recent state, not one that the cache happens to have.
            None => cache.wait_for_current(WAIT).await.map(drop),
            Some(version) => cache.wait_for(version, WAIT).await,
        };
        waited.map_err(|error| match options.send_initial_events {
            Some(true) => Failed::Within(cache_error(&error)),
            _ => Failed::Cache(error),
        })?;
        let (snapshot, cursor) = cache.snapshot_and_watch(selection.interest(serving.namespaced))?;
        if everything {
            pintle_work::aside(selection.weight(&snapshot)).await;
        }
        let initial: Vec<Arc<Entry>> = match everything {
            true => {
                let found = snapshot.objects.iter_prefix(&selection.prefix);
                found.filter(|entry| selection.matches(entry)).cloned().collect()
            }
            false => Vec::new(),
        };
        let ends = (options.send_initial_events == Some(true) && options.allow_bookmarks)
            .then_some(snapshot.revision);
        return Ok(State {
            initial: initial.into_iter(),
            ends,
            source: Source::Cache(cursor),
            after: snapshot.revision,
            selection,
            pending: Vec::new().into_iter(),
        });
    }
    let after = version.unwrap_or_default();
    let cursor = cache.watch(after, selection.interest(serving.namespaced))?;
    Ok(State {
        initial: Vec::new().into_iter(),
        ends: None,
        source: Source::Cache(cursor),
        after,
        selection,
        pending: Vec::new().into_iter(),
    })
}

/// The watch of a resource that is not kept in memory: what the store has now, if that is asked for, and then what the
/// store tells.
async fn start_uncached(
    serving: &Serving,
    options: &ListOptions,
    selection: Selection,
    version: u64,
) -> std::result::Result<State, Failed> {
    let cache = serving.store.cache();
    let everything = options.send_initial_events.unwrap_or(version == 0);
    let mut after = version;
    let mut initial = Vec::new();
    if everything || version == 0 {
        let current = cache.current_revision().await?;
        if version > current {
            let retry = 1 + (serving.random.number() % 3) as u32;
            return Err(Failed::Within(Box::new(Status::resource_version_too_large(
                version, current, retry,
            ))));
        }
        if everything {
            initial = uncached::all(serving, &selection, current).await?;
        }
        after = current;
    }
    let ends = (options.send_initial_events == Some(true) && options.allow_bookmarks).then_some(after);
    let prefix = selection.key(serving.namespaced).unwrap_or_else(|| selection.prefix.clone());
    let follow = match cache.follow(&prefix, after).await {
        Err(error) => return Err(lost(&error).map_or(Failed::Cache(error), Failed::Within)),
        Ok(follow) => follow,
    };
    let source = Source::Store(follow);
    Ok(State {
        initial: initial.into_iter(),
        ends,
        source,
        after,
        selection,
        pending: Vec::new().into_iter(),
    })
}

/// What the store has forgotten is told within the watch.
fn lost(error: &Error) -> Option<Box<Status>> {
    match error {
        Error::Storage(pintle_storage::Error::Compacted { .. }) => {
            Some(Box::new(Status::expired("The resourceVersion for the provided watch is too old.")))
        }
        _ => None,
    }
}

/// Now and then, and once more shortly before the end; then no more.
fn next_bookmark(deadline: Instant, random: &Random) -> Instant {
    let now = Instant::now();
    let last = deadline.checked_sub(LAST_BOOKMARK).filter(|last| *last > now);
    last.map_or(deadline, |last| last.min(now + BOOKMARK.mul_f64(0.75 + 0.25 * random.fraction())))
}

/// Where a watch stands.
struct State {
    /// What was there at the beginning, still to be sent.
    initial: std::vec::IntoIter<Arc<Entry>>,
    /// The revision of the bookmark that follows it.
    ends: Option<u64>,
    source: Source,
    /// Changes up to this revision were seen before.
    after: u64,
    selection: Selection,
    pending: std::vec::IntoIter<Arc<Change>>,
}

/// Who tells of changes.
enum Source {
    Cache(Cursor),
    Store(Follow),
}

impl Source {
    /// The revision up to which everything was told, if anybody knows.
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

pub(super) struct Stream {
    writer: Writer,
    state: Option<State>,
    /// An error that is the last event.
    last: Option<Box<Status>>,
    bookmarks: bool,
    next_bookmark: Instant,
    deadline: Instant,
    stop: Signal,
    /// The endpoint's end.
    ended: Option<Signal>,
    /// The server ends, and it was told until when it may go on.
    stopping: bool,
    other: Other,
    /// How much is put together from several events.
    at_once: usize,
    /// Where watches end one after the other.
    terminating: Option<Terminating>,
    _counted: LongRunning,
}

impl Stream {
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// When it comes, the watch is over.
    pub(super) fn stop(&self) -> Signal {
        self.stop.clone()
    }

    /// The next events; `None` when the watch is over.
    pub(super) async fn next(&mut self) -> Option<Result<Bytes>> {
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
            match state.poll_ready(&mut self.writer, self.at_once, cx) {
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
                self.next_bookmark = next_bookmark(self.deadline, &self.writer.serving.random);
                if let Some(revision) = state.source.progress().filter(|revision| *revision >= state.after) {
                    let bookmark = self.writer.bookmark(revision, false);
                    return Poll::Ready(Some(bookmark.map(|event| self.writer.sent(event))));
                }
            }
        }
    }

    /// The last event: an error.
    fn end_with(&mut self, status: &Status) -> Result<Bytes> {
        self.state = None;
        self.writer.error(status).map(|event| self.writer.sent(event))
    }
}

impl Chunks for Stream {
    type Item = std::result::Result<Bytes, crate::body::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let events = self.poll_events(cx);
        events.map(|events| events.map(|events| events.map_err(|status| status.message.into())))
    }
}

/// What ends a wait for changes: the time for a bookmark or the end, and the end of the server.
///
/// Nearly every wait ends with a change. So these are asked to wake a task when it waits for the first time, and not again
/// for every change.
struct Other {
    timer: Pin<Box<Sleep>>,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Whom they wake.
    waker: Option<Waker>,
}

impl Other {
    fn new(deadline: Instant, stop: Signal, ended: Option<Signal>) -> Other {
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
        // A task that has run for long is told to wait by whatever it asks, which then remembers nobody.
        let timer = pin!(unconstrained(self.timer.as_mut())).poll(cx);
        if timer.is_ready() {
            return Poll::Ready(());
        }
        if pin!(unconstrained(self.stopped.as_mut())).poll(cx).is_ready() {
            // It is told once.
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
        writer: &mut Writer,
        at_once: usize,
        cx: &mut Context<'_>,
    ) -> Result<Poll<Option<Bytes>>> {
        loop {
            if let Some(events) = self.ready(writer, at_once)? {
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
    fn ready(&mut self, writer: &mut Writer, at_once: usize) -> Result<Option<Bytes>> {
        let mut batch = Batch { at_once, ..Batch::default() };
        for entry in self.initial.by_ref() {
            let event = writer.entry("ADDED", &entry)?;
            batch.push(writer.sent(event));
            if batch.is_full() {
                return Ok(Some(batch.finish()));
            }
        }
        if let Some(revision) = self.ends.take() {
            let event = writer.bookmark(revision, true)?;
            batch.push(writer.sent(event));
            if let Some((figure, received)) = writer.initial.take() {
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
                let event = writer.change(&change, event)?;
                batch.push(writer.sent(event));
                if batch.is_full() {
                    return Ok(Some(batch.finish()));
                }
            }
        }
        Ok((!batch.is_empty()).then(|| batch.finish()))
    }
}

/// What a change is to a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Added,
    Modified,
    /// It is gone.
    Deleted,
    /// It is not selected any more.
    Left,
}

impl Event {
    fn name(self) -> &'static str {
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

/// Writes events in the encoding and shape that were agreed on.
struct Writer {
    serving: Serving,
    negotiated: Negotiated,
    /// Only the first table says what its columns are.
    told_columns: bool,
    metrics: Option<EventMetrics>,
    /// Told once all that was there at the beginning is sent: how long that took since the request came.
    initial: Option<(Histogram, Instant)>,
}

impl Writer {
    /// Counts an event that is about to be sent.
    fn sent(&self, event: Bytes) -> Bytes {
        if let Some(metrics) = &self.metrics {
            // The length before a message is not part of it.
            let frame = if self.negotiated.encoding == Encoding::Protobuf { 4 } else { 0 };
            metrics.sent(event.len().saturating_sub(frame));
        }
        event
    }

    /// Forms of which frames are shared.
    fn form(&self) -> Option<Form> {
        self.serving.served.form(self.negotiated.encoding).filter(|_| self.negotiated.shape == Shape::Own)
    }

    fn change(&mut self, change: &Arc<Change>, event: Event) -> Result<Bytes> {
        let entry = match event {
            Event::Left => change.left().ok_or_else(|| internal("there was nothing before"))?,
            _ => &change.entry,
        };
        match self.form() {
            Some(form) => {
                let number = u32::from(form.0) * 4 + event as u32;
                let make = || {
                    // Not kept beside the frame, which is.
                    let body =
                        entry.body_once(&**self.serving.store.cache().kind(), form).map_err(internal)?;
                    Ok(self.framed(event.name(), &body))
                };
                change.frame(&self.serving.pool, Frame(number), make)
            }
            None => self.entry(event.name(), entry),
        }
    }

    fn entry(&mut self, event: &str, entry: &Arc<Entry>) -> Result<Bytes> {
        match self.form() {
            Some(form) => {
                let kind = self.serving.store.cache().kind();
                let body = entry.body(&**kind, &self.serving.pool, form).map_err(internal)?;
                Ok(self.framed(event, &body))
            }
            None => {
                let object = self.serving.store.object(entry)?;
                self.tree(event, object)
            }
        }
    }

    fn framed(&self, event: &str, body: &[u8]) -> Bytes {
        let mut out = Vec::with_capacity(body.len() + 128);
        match self.negotiated.encoding {
            Encoding::Protobuf => frame::protobuf_watch(event, self.serving.type_meta(), body, &mut out),
            _ => {
                let of = (!self.serving.served.is_custom()).then(|| self.serving.type_meta());
                frame::json_watch(event, of, body, &mut out);
            }
        }
        out.into()
    }

    fn bookmark(&mut self, revision: u64, ends: bool) -> Result<Bytes> {
        let mut object = self.serving.served.zero();
        if let Some(metadata) = object.metadata_mut() {
            metadata.insert("resourceVersion", revision.to_string());
            if ends {
                let mut annotations = pintle_meta::Object::new();
                annotations.insert(INITIAL_EVENTS_END, "true");
                metadata.insert("annotations", annotations);
            }
        }
        self.served("BOOKMARK", object)
    }

    /// An object of the stored version.
    fn tree(&mut self, event: &str, object: Value) -> Result<Bytes> {
        let object = match self.negotiated.shape {
            Shape::Table(version, include) => {
                let first = !std::mem::replace(&mut self.told_columns, true);
                let table = self.table(object, version, include, first)?;
                return self.untyped(event, &table);
            }
            _ => self.serving.served.to_served(object)?,
        };
        self.served(event, object)
    }

    /// An object of the served version.
    fn served(&mut self, event: &str, object: Value) -> Result<Bytes> {
        match self.negotiated.shape {
            Shape::Own => match self.negotiated.encoding {
                Encoding::Protobuf => {
                    let (mut message, mut out) = (Vec::new(), Vec::new());
                    self.serving.served.write_protobuf(&object, &mut message).map_err(internal)?;
                    frame::protobuf_watch(event, self.serving.type_meta(), &message, &mut out);
                    Ok(out.into())
                }
                _ => self.untyped(event, &object),
            },
            Shape::Partial(version) | Shape::PartialList(version) => {
                let view = partial::object(version, &object);
                if self.negotiated.encoding != Encoding::Protobuf {
                    return self.untyped(event, &view);
                }
                let of = pintle_schema::find("meta/v1.PartialObjectMetadata");
                let of = of.ok_or_else(|| internal("no such type"))?;
                let (mut message, mut out) = (Vec::new(), Vec::new());
                protobuf::encode(of, &view, &mut message).map_err(internal)?;
                let api_version = version.api_version();
                let type_meta = frame::TypeMeta { kind: "PartialObjectMetadata", api_version };
                frame::protobuf_watch(event, type_meta, &message, &mut out);
                Ok(out.into())
            }
            Shape::Table(version, include) => {
                let first = !std::mem::replace(&mut self.told_columns, true);
                let table = self.table(object, version, include, first)?;
                self.untyped(event, &table)
            }
        }
    }

    fn table(&self, object: Value, version: Version, include: Include, first: bool) -> Result<Value> {
        let now = self.serving.clock.now().into();
        shown::event_table(&self.serving, object, version, include, first, now)
    }

    fn untyped(&self, event: &str, object: &Value) -> Result<Bytes> {
        let mut out = Vec::new();
        match self.negotiated.encoding {
            Encoding::Cbor => {
                let mut pair = pintle_meta::Object::new();
                pair.insert("type", event);
                pair.insert("object", object.clone());
                cbor::encode(&pair.into(), &mut out);
            }
            _ => {
                let mut body = Vec::new();
                json::encode(object, &mut body);
                frame::json_watch(event, None, &body, &mut out);
            }
        }
        Ok(out.into())
    }

    fn error(&self, status: &Status) -> Result<Bytes> {
        let body = status.to_json();
        let of = pintle_schema::find("meta/v1.Status").ok_or_else(|| internal("no such type"))?;
        match self.negotiated.encoding {
            Encoding::Json | Encoding::Yaml => {
                let mut out = Vec::new();
                frame::json_watch("ERROR", None, body.trim_ascii_end(), &mut out);
                Ok(out.into())
            }
            Encoding::Protobuf => {
                let tree = json::decode(of, &body).map_err(internal)?.value;
                let (mut message, mut out) = (Vec::new(), Vec::new());
                protobuf::encode(of, &tree, &mut message).map_err(internal)?;
                let type_meta = frame::TypeMeta { kind: "Status", api_version: "v1" };
                frame::protobuf_watch("ERROR", type_meta, &message, &mut out);
                Ok(out.into())
            }
            Encoding::Cbor => self.untyped("ERROR", &json::decode(of, &body).map_err(internal)?.value),
        }
    }
}
