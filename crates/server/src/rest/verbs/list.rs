//! Reading many objects: a concatenation of the bodies that the cache has.

use std::sync::Arc;

use pintle_cache::{Entry, Error, Snapshot};
use pintle_codec::frame::ListMeta;
use pintle_codec::negotiate::Encoding;
use pintle_features::{Feature, Features};
use pintle_meta::{Cause, CauseType, Details, Reason, Status};

use crate::Response;
use crate::rest::call::Call;
use crate::rest::endpoint::StoredEndpoint;
use crate::rest::options::{ListOptions, Match};
use crate::rest::representation::{Representation, Shape};
use crate::rest::revision::{self, WAIT};
use crate::rest::select::Selection;
use crate::rest::token::Token;
use crate::rest::{Result, bad_request, cache_error, stored, uncached, unexpected};

/// Maximum number of unreadable objects that an error lists.
const MOST_CORRUPT: usize = 100;
/// The objects of a page and what its metadata says.
pub(crate) struct Page {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) revision: String,
    pub(crate) token: String,
    pub(crate) remaining: Option<i64>,
    /// The shard selector; empty for all objects.
    pub(crate) shard: String,
}

impl Page {
    /// The cost of the work before the answer begins, as bytes of JSON. Lists of whole objects
    /// are made while they are sent.
    pub(crate) fn weight(&self, representation: Representation) -> usize {
        if representation.shape == Shape::Own
            && matches!(representation.encoding, Encoding::Json | Encoding::Protobuf)
        {
            return 0;
        }
        self.entries.iter().map(|entry| entry.stored().len()).sum()
    }

    pub(crate) fn meta(&self) -> ListMeta<'_> {
        ListMeta {
            resource_version: &self.revision,
            continue_token: &self.token,
            remaining: self.remaining,
            shard: &self.shard,
        }
    }
}

pub(crate) async fn list(serving: &StoredEndpoint, call: &Call<'_>) -> Result<Response> {
    let features = call.shared.features;
    let options = ListOptions::read(call.request, false, features.enabled(Feature::WatchList))?;
    let selection = Selection::read(call.request, serving, call.shared.parse_shards)?;
    revision::wait_until_reached(serving, call.request.slot.as_ref(), &options).await?;
    let page = page(serving, &options, &selection, features).await?;
    pintle_work::aside(page.weight(call.representation)).await;
    call.representation.page(serving, page)
}

pub(crate) async fn page(
    serving: &StoredEndpoint,
    options: &ListOptions,
    selection: &Selection,
    features: Features,
) -> Result<Page> {
    if !serving.store.has_watch_cache() {
        return uncached::page(serving, options, selection).await;
    }
    // A client that is content with any revision gets the cached one at once.
    let unlimited = options.limit == 0 || options.resource_version == "0";
    let (objects, start) = objects(serving, options, features).await?;
    let snapshot = match objects {
        Objects::Kept(snapshot) => snapshot,
        Objects::Stored { revision, token } => {
            let limit = if unlimited { 0 } else { options.limit };
            let found = stored::page(serving, selection, revision, &start, limit).await;
            let found = found.map_err(|error| past_revision_error(serving, &error, token.as_ref()))?;
            return finish(found.entries, revision, selection, found.token, found.remaining, serving);
        }
    };
    let only = selection.key(serving.namespaced).filter(|_| start.is_empty());
    if let Some(key) = only {
        let found = snapshot.objects.get(&key).filter(|entry| selection.matches(entry)).cloned();
        return finish(
            found.into_iter().collect(),
            snapshot.revision,
            selection,
            String::new(),
            None,
            serving,
        );
    }
    let after = format!("{}{start}", selection.prefix);
    // An index finds the few that are meant.
    if selection.fields.required().next().is_none() {
        pintle_work::aside(selection.weight(&snapshot)).await;
    }
    let mut indexed = selection.fields.required();
    let indexed = indexed.find_map(|(field, value)| snapshot.by_field(field, value, &after));
    let mut left: Box<dyn Iterator<Item = &Arc<Entry>> + Send> = match indexed {
        Some(found) => Box::new(found.filter(|entry| selection.in_scope(entry))),
        None => Box::new(snapshot.objects.iter_from(&after).take_while(|entry| selection.in_scope(entry))),
    };
    let limit = if unlimited { usize::MAX } else { options.limit };
    let found = left.by_ref().filter(|entry| selection.matches(entry));
    let entries: Vec<Arc<Entry>> = found.take(limit).cloned().collect();
    // Whether they match or not: the reference does not look at them.
    let more = left.next().is_some();
    let last = entries.last().filter(|_| more).map(|entry| &entry.key()[selection.prefix.len()..]);
    let revision = i64::try_from(snapshot.revision).unwrap_or(i64::MAX);
    let token = last.map(|last| Token { revision, start: format!("{last}\0") }.encode()).unwrap_or_default();
    // Only where counting is all there is to it.
    let remaining = last.filter(|_| selection.is_everything()).map(|_| {
        let count = snapshot.objects.count_from(&after) - snapshot.objects.count_from(&selection.end());
        i64::try_from(count.saturating_sub(limit)).unwrap_or(i64::MAX)
    });
    finish(entries, snapshot.revision, selection, token, remaining, serving)
}

/// One object that cannot be read fails the whole list.
pub(in crate::rest) fn finish(
    entries: Vec<Arc<Entry>>,
    revision: u64,
    selection: &Selection,
    token: String,
    remaining: Option<i64>,
    serving: &StoredEndpoint,
) -> Result<Page> {
    if serving.store.allows_unsafe_deletion() {
        refuse_corrupt(serving, &entries)?;
    }
    for entry in &entries {
        if let Err(reason) = entry.read() {
            return Err(unexpected(reason));
        }
    }
    let shard = selection.shards.as_ref().map(ToString::to_string).unwrap_or_default();
    Ok(Page { entries, revision: revision.to_string(), token, remaining, shard })
}

/// Lists the objects that cannot be read, for clients that may delete them.
fn refuse_corrupt(serving: &StoredEndpoint, entries: &[Arc<Entry>]) -> Result<()> {
    let corrupt = entries.iter().filter_map(|entry| {
        let reason = entry.read().err()?;
        Some(serving.store.corrupt(entry.key(), entry.revision(), reason))
    });
    let mut corrupt = corrupt.peekable();
    match corrupt.peek() {
        Some(_) => Err(corrupt_objects(serving, corrupt)),
        None => Ok(()),
    }
}

/// Returns the status of a list that could not be read. Values that cannot be decrypted are listed for clients that may delete
/// them.
pub(in crate::rest) fn read_error(serving: &StoredEndpoint, error: &Error) -> Box<Status> {
    match error {
        Error::Storage(pintle_storage::Error::Undecryptable(values))
            if serving.store.allows_unsafe_deletion() =>
        {
            corrupt_objects(serving, values.iter().map(|value| serving.store.undecryptable(value)))
        }
        error => cache_error(error),
    }
}

/// Returns the status that lists objects which cannot be read, by their keys and messages.
fn corrupt_objects(serving: &StoredEndpoint, corrupt: impl Iterator<Item = (String, String)>) -> Box<Status> {
    let kind = Some(CauseType::UnexpectedServerResponse);
    let mut causes: Vec<Cause> =
        corrupt.take(MOST_CORRUPT + 1).map(|(field, message)| Cause { kind, message, field }).collect();
    if let Some(more) = causes.get_mut(MOST_CORRUPT) {
        *more = Cause {
            kind: Some(CauseType::FieldValueTooMany),
            message: "too many errors, the list is truncated".into(),
            field: String::new(),
        };
    }
    let (group, resource) = (&serving.group, &serving.resource);
    let qualified = if group.is_empty() { resource.clone() } else { format!("{resource}.{group}") };
    let message = format!("failed to read one or more {qualified} from the storage");
    let details = Details {
        name: "list".into(),
        group: group.clone(),
        kind: resource.clone(),
        causes,
        ..Details::default()
    };
    let (code, reason) = (500, Reason::StoreReadError);
    let details = Some(details);
    Box::new(Status {
        code,
        reason,
        other_reason: String::new(),
        message,
        details,
        metadata: Default::default(),
    })
}

/// The source of the objects of a list.
enum Objects {
    /// Memory has all of them.
    Kept(Snapshot),
    /// Only the store has them at this revision, of which no more than a page is read. With the token that continues a list.
    Stored { revision: u64, token: Option<Token> },
}

/// The objects that the options ask for, and where to begin among them.
async fn objects(
    serving: &StoredEndpoint,
    options: &ListOptions,
    features: Features,
) -> Result<(Objects, String)> {
    let cache = serving.store.cache();
    let failed = |error: Error| read_error(serving, &error);
    if !options.continue_token.is_empty() {
        let token = Token::parse(&options.continue_token)?;
        if !options.resource_version.is_empty() && options.resource_version != "0" {
            return Err(bad_request("specifying resource version is not allowed when using continue"));
        }
        let Ok(revision) = u64::try_from(token.revision) else {
            let snapshot = cache.snapshot_now(WAIT).await.map_err(failed)?;
            return Ok((Objects::Kept(snapshot), token.start));
        };
        let start = token.start.clone();
        let found = past_revision(serving, revision, features).await;
        return match found.map_err(|error| past_revision_error(serving, &error, Some(&token)))? {
            Some(snapshot) => Ok((Objects::Kept(snapshot), start)),
            None => Ok((Objects::Stored { revision, token: Some(token) }, start)),
        };
    }
    let version = match options.resource_version.as_str() {
        "" => {
            let snapshot = cache.snapshot_now(WAIT).await.map_err(failed)?;
            return Ok((Objects::Kept(snapshot), String::new()));
        }
        text => parse_version(text).map_err(|why| bad_request(format!("invalid resource version: {why}")))?,
    };
    // A page of an exact revision is asked for by naming one together with a limit, too.
    let exact = options.version_match == Match::Exact
        || (options.version_match == Match::Unset && options.limit > 0 && version > 0);
    let snapshot = if exact {
        past_revision(serving, version, features).await
    } else {
        cache.snapshot_since(version, WAIT).await.map(Some)
    };
    let objects = snapshot.map_err(failed)?.map(Objects::Kept);
    Ok((objects.unwrap_or(Objects::Stored { revision: version, token: None }), String::new()))
}

/// The objects at an older revision, if the changes since are kept; else they are to be read from the store.
async fn past_revision(
    serving: &StoredEndpoint,
    revision: u64,
    features: Features,
) -> std::result::Result<Option<Snapshot>, Error> {
    let cache = serving.store.cache();
    cache.snapshot_since(revision, WAIT).await?;
    if !features.enabled(Feature::ListFromCacheSnapshot) {
        return Ok(None);
    }
    match cache.snapshot_at(revision).await {
        Err(Error::TooOld { .. }) => Ok(None),
        other => other.map(Some),
    }
}

/// The answer where a past revision could not be read, for a list that continues another one or begins.
fn past_revision_error(serving: &StoredEndpoint, error: &Error, token: Option<&Token>) -> Box<Status> {
    match (error, token) {
        (Error::Storage(pintle_storage::Error::Compacted { .. }), Some(token)) => expired(token),
        _ => read_error(serving, error),
    }
}

pub(in crate::rest) fn expired(token: &Token) -> Box<Status> {
    let mut status = Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without \
         the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
         Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
         deleted between the time the first chunk was returned and now may show up in the list.",
    );
    status.metadata.continue_token = Token { revision: -1, start: token.start.clone() }.encode();
    Box::new(status)
}

/// A revision as clients name it.
pub(crate) fn parse_version(text: &str) -> std::result::Result<u64, String> {
    text.parse().map_err(|_| {
        let text = pintle_meta::quote(text);
        format!("resourceVersion: Invalid value: {text}: strconv.ParseUint: parsing {text}: invalid syntax")
    })
}
