//! Following objects: those that exist, if asked for, then every change, until the time is over.
//!
//! A watch is a cursor into the cache's changes ([`start`]) and a stream ([`stream`]) that reads on when the client has taken
//! what it got; [`encode`] makes its frames. A client that takes nothing costs nothing; when history has passed it by, its
//! watch ends, and no other's.
//!
//! A watch that has started ends when
//!
//! - its time is over: `timeoutSeconds`, or once to twice `--min-request-timeout` ([`stream`]);
//! - the server shuts down, at once or within `--shutdown-watch-termination-grace-period` ([`WatchTermination`]);
//! - its revision is older than the history: an ERROR event 410, at the start ([`start`]);
//! - the history has moved past its cursor, because the client was too slow or the cache was loaded anew (`cache::Next::Expired`);
//! - an event cannot be encoded: an ERROR event ([`encode`]);
//! - without a watch cache, the store's watch fails: an ERROR event (`cache::Follow`);
//! - the definition of its custom resource changed ([`crate::rest::EndpointConfig::removed`]);
//! - its connection ends: the client closes it, does not answer pings, or ignores GOAWAY (`connection.rs`).

mod batch;
mod encode;
mod start;
mod stream;
#[cfg(test)]
mod tests;
mod wake;

use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response as HttpResponse, StatusCode};
use pintle_cache::Error;
use pintle_codec::negotiate::Encoding;
use pintle_features::Feature;
use pintle_meta::Status;
use pintle_meta::selector::field;

use self::encode::Encoder;
use self::start::{StartError, start};
pub(in crate::rest) use self::stream::Stream;
use self::stream::{State, next_bookmark};
use self::wake::WakeSources;
use crate::lifecycle::WatchTermination;
use crate::rest::call::Call;
use crate::rest::endpoint::StoredEndpoint;
use crate::rest::options::ListOptions;
use crate::rest::route::scope;
use crate::rest::select::Selection;
use crate::rest::{Result, cache_error, websocket};
use crate::{Body, Response};

/// Limit of `timeoutSeconds`, so that the end can be computed.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Bytes of events from which on a write is full.
const BATCH: usize = 64 * 1024;

pub(crate) async fn watch(serving: &StoredEndpoint, call: &mut Call<'_>) -> Result<Response> {
    let stream = open(serving, call).await?;
    let content_type = content_type(call)?;
    if websocket::is_asked_for(&call.request.parts.headers) {
        let encoding = call.representation.encoding;
        // A message is an event.
        return websocket::serve(call.request, encoding, Stream { batch_limit: 0, ..stream });
    }
    let mut response = HttpResponse::new(Body::stream(stream));
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    Ok(response)
}

/// Starts a watch. Errors: it is answered without a stream.
pub(in crate::rest) async fn open(serving: &StoredEndpoint, call: &Call<'_>) -> Result<Stream> {
    let options = ListOptions::read(call.request, true, call.shared.features.enabled(Feature::WatchList))?;
    let selection = Selection::read(call.request, serving, call.shared.parse_shards)?;
    // Refuses an encoding without streams before the watch starts.
    content_type(call)?;
    let scope = if call.request.info.name.is_empty() {
        scope(serving, &call.request.info, false)
    } else {
        "resource"
    };
    let (shared, encoder) = (call.shared, encoder(serving, call, &options, scope));
    let deadline = shared.clock.instant() + timeout(call, &options);
    let (state, start_error) = match start(serving, &options, selection).await {
        Ok(state) => (Some(state), None),
        // A revision that is too old is an event of the watch, as clients expect it.
        Err(StartError::Cache(error @ Error::TooOld { .. })) => (None, Some(cache_error(&error))),
        Err(StartError::AsEvent(status)) => (None, Some(status)),
        Err(StartError::Cache(error)) => return Err(cache_error(&error)),
        Err(StartError::AsResponse(status)) => return Err(status),
    };
    let (clock, removed) = (shared.clock.clone(), serving.removed.clone());
    let is_initialized = state.as_ref().is_none_or(State::has_sent_initial);
    let slot = call.request.slot.clone();
    Ok(Stream {
        encoder,
        start_error,
        state,
        bookmarks: options.allow_bookmarks,
        next_bookmark: next_bookmark(clock.instant(), deadline, &serving.random),
        deadline,
        shutdown: shared.shutdown.clone(),
        is_shutting_down: false,
        wake_sources: WakeSources::new(clock.clone(), shared.shutdown.clone(), removed.clone()),
        endpoint_removed: removed,
        clock,
        batch_limit: BATCH,
        termination: shared.termination.as_ref().map(WatchTermination::enter),
        _long_running: shared.metrics.long_running(serving.labels(), "WATCH", scope),
        slot: slot.filter(|_| !is_initialized),
        _registration: call.request.watch.clone(),
    })
}

/// Returns the time that a watch lasts: `timeoutSeconds`, or once to twice the least.
fn timeout(call: &Call<'_>, options: &ListOptions) -> Duration {
    match options.timeout_seconds {
        // Less than nothing is over at once.
        Some(seconds) if seconds != 0 => {
            Duration::from_secs(u64::try_from(seconds).unwrap_or(0)).min(LONGEST)
        }
        _ => call.shared.random.jitter(call.shared.min_request_timeout, 1.0),
    }
}

/// Makes the encoder of a watch, with its metrics. The reference does not count watches over WebSockets.
fn encoder(serving: &StoredEndpoint, call: &Call<'_>, options: &ListOptions, scope: &'static str) -> Encoder {
    let metrics =
        Some(&call.shared.metrics).filter(|_| !websocket::is_asked_for(&call.request.parts.headers));
    let sends_initial = options.send_initial_events == Some(true) && options.allow_bookmarks;
    let initial = metrics.filter(|_| sends_initial).map(|metrics| {
        let scope = match call.request.info.field_selector.as_deref().map(names_namespace) {
            Some(true) if scope == "cluster" => "namespace",
            _ => scope,
        };
        (metrics.initial_events(serving.labels(), scope), call.request.received)
    });
    Encoder {
        serving: serving.clone(),
        representation: call.representation,
        has_sent_columns: false,
        metrics: metrics.map(|metrics| metrics.events(serving.labels())),
        initial,
    }
}

/// Returns whether a field selector holds for one namespace only.
fn names_namespace(selector: &str) -> bool {
    let selector = field::Selector::parse(selector).ok();
    selector.is_some_and(|selector| selector.requires_exact_match("metadata.namespace").is_some())
}

/// Returns the content type of the stream. YAML has none, since its documents cannot follow each other.
fn content_type(call: &Call<'_>) -> Result<&'static str> {
    let encoding = call.representation.encoding;
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
