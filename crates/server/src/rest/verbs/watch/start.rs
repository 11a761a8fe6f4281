//! The start of a watch: which revision it begins after, and what it sends first.

use std::sync::Arc;

use pintle_cache::{Entry, Error};
use pintle_meta::Status;

use super::stream::{Source, State, compacted_status};
use crate::rest::endpoint::StoredEndpoint;
use crate::rest::options::ListOptions;
use crate::rest::revision::WAIT;
use crate::rest::select::Selection;
use crate::rest::verbs::list::parse_version;
use crate::rest::{cache_error, uncached, unexpected};

/// Why a watch cannot begin.
pub(super) enum StartError {
    Cache(Error),
    /// Sent as an ERROR event of the watch.
    AsEvent(Box<Status>),
    /// Sent instead of a watch.
    AsResponse(Box<Status>),
}

impl From<Error> for StartError {
    fn from(error: Error) -> StartError {
        StartError::Cache(error)
    }
}

/// Starts a watch at the revision that the client asks for, with the objects that exist if it wants them.
pub(super) async fn start(
    serving: &StoredEndpoint,
    options: &ListOptions,
    selection: Selection,
) -> Result<State, StartError> {
    let cache = serving.store.cache();
    let version = match options.resource_version.as_str() {
        "" => None,
        text => Some(parse_version(text).map_err(|why| StartError::AsResponse(unexpected(why)))?),
    };
    if !serving.store.has_watch_cache() {
        return start_uncached(serving, options, selection, version.unwrap_or(0)).await;
    }
    cache.ready().await?;
    let sends_initial_events =
        options.send_initial_events.unwrap_or(version.is_none_or(|version| version == 0));
    if sends_initial_events || version.is_none() || version == Some(0) {
        let waited = match version {
            // The most recent state, not one that the cache happens to have.
            None => cache.wait_for_current(WAIT).await.map(drop),
            Some(version) => cache.wait_for(version, WAIT).await,
        };
        waited.map_err(|error| match options.send_initial_events {
            Some(true) => StartError::AsEvent(cache_error(&error)),
            _ => StartError::Cache(error),
        })?;
        let (snapshot, cursor) = cache.snapshot_and_watch(selection.interest(serving.namespaced))?;
        if sends_initial_events {
            pintle_work::aside(selection.weight(&snapshot)).await;
        }
        let initial: Vec<Arc<Entry>> = if sends_initial_events {
            let found = snapshot.objects.iter_prefix(&selection.prefix);
            found.filter(|entry| selection.matches(entry)).cloned().collect()
        } else {
            Vec::new()
        };
        let initial_events_end = (options.send_initial_events == Some(true) && options.allow_bookmarks)
            .then_some(snapshot.revision);
        return Ok(State {
            initial: initial.into_iter(),
            initial_events_end,
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
        initial_events_end: None,
        source: Source::Cache(cursor),
        after,
        selection,
        pending: Vec::new().into_iter(),
    })
}

/// Starts the watch of a resource without a watch cache: the objects in the store now, if initial events are asked
/// for, and then the store's changes.
async fn start_uncached(
    serving: &StoredEndpoint,
    options: &ListOptions,
    selection: Selection,
    version: u64,
) -> Result<State, StartError> {
    let cache = serving.store.cache();
    let sends_initial_events = options.send_initial_events.unwrap_or(version == 0);
    let mut after = version;
    let mut initial = Vec::new();
    if sends_initial_events || version == 0 {
        let current = cache.current_revision().await?;
        if version > current {
            let retry = 1 + (serving.random.number() % 3) as u32;
            return Err(StartError::AsEvent(Box::new(Status::resource_version_too_large(
                version, current, retry,
            ))));
        }
        if sends_initial_events {
            initial = uncached::all_entries(serving, &selection, current).await?;
        }
        after = current;
    }
    let initial_events_end =
        (options.send_initial_events == Some(true) && options.allow_bookmarks).then_some(after);
    let prefix = selection.key(serving.namespaced).unwrap_or_else(|| selection.prefix.clone());
    let follow = match cache.follow(&prefix, after).await {
        Err(error) => {
            return Err(compacted_status(&error).map_or(StartError::Cache(error), StartError::AsEvent));
        }
        Ok(follow) => follow,
    };
    let source = Source::Store(follow);
    Ok(State {
        initial: initial.into_iter(),
        initial_events_end,
        source,
        after,
        selection,
        pending: Vec::new().into_iter(),
    })
}
