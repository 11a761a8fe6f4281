//! Reading many objects: a concatenation of the bodies that the cache has.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;
use pintle_cache::{Entry, Error, Form, Snapshot};
use pintle_codec::frame::{self, JSON_LIST_END, ListMeta};
use pintle_codec::json::Indenter;
use pintle_codec::negotiate::Encoding;
use pintle_codec::protobuf::envelope;
use pintle_features::{Feature, Features};
use pintle_meta::{Cause, CauseType, Details, Object, Reason, Status, Value};

use crate::rest::answer::{Negotiated, Shape, indented};
use crate::rest::call::Call;
use crate::rest::endpoint::{Endpoint, Serving};
use crate::rest::options::{ListOptions, Match};
use crate::rest::revision::{self, WAIT};
use crate::rest::select::Selection;
use crate::rest::token::Token;
use crate::rest::{Result, bad_request, cache_error, internal, shown, stored, uncached, unexpected};
use crate::{Body, Response};

/// An answer of no more than this is sent whole, with its length; a longer one may be compressed.
const WHOLE: usize = 128 * 1024;
/// So many objects that cannot be read are told of.
const MOST_CORRUPT: usize = 100;
/// How much of a longer one is put together before it is sent.
const CHUNK: usize = 96 * 1024;
/// Room for the object that makes it enough. Together less than what allocators ask the system for each time.
const LAST: usize = 24 * 1024;

/// The objects of a page and what its metadata says.
pub(crate) struct Page {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) revision: String,
    pub(crate) token: String,
    pub(crate) remaining: Option<i64>,
    /// Which shard it is of; empty for all.
    pub(crate) shard: String,
}

impl Page {
    /// The cost of the work before the answer begins, as bytes of JSON. Lists of whole objects
    /// are made while they are sent.
    pub(crate) fn weight(&self, negotiated: Negotiated) -> usize {
        if negotiated.shape == Shape::Own
            && matches!(negotiated.encoding, Encoding::Json | Encoding::Protobuf)
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

pub(crate) async fn list(serving: &Serving, call: &Call<'_>) -> Result<Response> {
    let features = call.shared.features;
    let options = ListOptions::read(call.request, false, features.enabled(Feature::WatchList))?;
    let selection = Selection::read(call.request, serving, features)?;
    revision::reached(serving, call.request.slot.as_ref(), &options).await?;
    let page = page(serving, &options, &selection, features).await?;
    pintle_work::aside(page.weight(call.negotiated)).await;
    answer(serving, call.negotiated, page)
}

/// Objects as a list, in the shape that was asked for.
pub(crate) fn answer(serving: &Serving, negotiated: Negotiated, page: Page) -> Result<Response> {
    if negotiated.shape != Shape::Own {
        return shown::list(serving, negotiated, page);
    }
    match serving.served.form(negotiated.encoding) {
        Some(form) if negotiated.encoding == Encoding::Protobuf => protobuf(serving, negotiated, form, page),
        Some(form) => json(serving, negotiated, form, page),
        None => {
            let objects = page.entries.iter().map(|entry| serving.store.object(entry));
            let list = tree(serving, &page.meta(), objects)?;
            Ok(negotiated.respond(StatusCode::OK, negotiated.tree(&list)?))
        }
    }
}

pub(crate) async fn page(
    serving: &Serving,
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
            let found = found.map_err(|error| past_error(&error, token.as_ref()))?;
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
    let indexed = indexed.find_map(|(place, value)| snapshot.by_field(place, value, &after));
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
    serving: &Serving,
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

/// Who may delete what cannot be read is told of all of it, or much.
fn refuse_corrupt(serving: &Serving, entries: &[Arc<Entry>]) -> Result<()> {
    let corrupt = entries.iter().filter_map(|entry| Some((entry, entry.read().err()?)));
    let mut causes: Vec<Cause> = corrupt
        .take(MOST_CORRUPT + 1)
        .map(|(entry, reason)| {
            let (field, message) = serving.store.corrupt(entry.key(), entry.revision(), reason);
            Cause { kind: Some(CauseType::UnexpectedServerResponse), message, field }
        })
        .collect();
    if causes.is_empty() {
        return Ok(());
    }
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
    Err(Box::new(Status { code, reason, message, details, continue_token: String::new() }))
}

/// Where the objects of a list are read from.
enum Objects {
    /// Memory has all of them.
    Kept(Snapshot),
    /// Only the store has them at this revision, of which no more than a page is read. With the token that continues a list.
    Stored { revision: u64, token: Option<Token> },
}

/// The objects that the options ask for, and where to begin among them.
async fn objects(serving: &Serving, options: &ListOptions, features: Features) -> Result<(Objects, String)> {
    let cache = serving.store.cache();
    let failed = |error: Error| cache_error(&error);
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
        let found = past(serving, revision, features).await;
        return match found.map_err(|error| past_error(&error, Some(&token)))? {
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
    let snapshot = match exact {
        true => past(serving, version, features).await,
        false => cache.snapshot_since(version, WAIT).await.map(Some),
    };
    let objects = snapshot.map_err(failed)?.map(Objects::Kept);
    Ok((objects.unwrap_or(Objects::Stored { revision: version, token: None }), String::new()))
}

/// The objects at an older revision, if the changes since are kept; else they are to be read from the store.
async fn past(
    serving: &Serving,
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
fn past_error(error: &Error, token: Option<&Token>) -> Box<Status> {
    match (error, token) {
        (Error::Storage(pintle_storage::Error::Compacted { .. }), Some(token)) => expired(token),
        _ => cache_error(error),
    }
}

pub(in crate::rest) fn expired(token: &Token) -> Box<Status> {
    let mut status = Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without \
         the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
         Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
         deleted between the time the first chunk was returned and now may show up in the list.",
    );
    status.continue_token = Token { revision: -1, start: token.start.clone() }.encode();
    Box::new(status)
}

/// The list in parts that are made when they are sent, so that a slow reader holds no more than one.
fn json(serving: &Serving, negotiated: Negotiated, form: Form, page: Page) -> Result<Response> {
    let (mut head, mut end) = (Vec::new(), Vec::new());
    match serving.served.is_custom() {
        true => {
            frame::json_unstructured_list_begin(serving.list_type_meta(), &mut head);
            frame::json_unstructured_list_end(serving.list_type_meta(), &page.meta(), &mut end);
        }
        false => {
            frame::json_list_begin(serving.list_type_meta(), &page.meta(), &mut head);
            end.extend_from_slice(JSON_LIST_END);
        }
    }
    let bodies = bodies(serving, form, page.entries);
    let mut first = true;
    let parts = Parts::new(head, bodies, &end, move |body, out| {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        out.extend_from_slice(&body);
        Ok(())
    });
    parts.respond(negotiated)
}

/// The length comes first. Where it can be told without the bodies, they are made while they are sent, and not kept: they
/// are nearly what is stored.
fn protobuf(serving: &Serving, negotiated: Negotiated, form: Form, page: Page) -> Result<Response> {
    let kind = serving.store.cache().kind().clone();
    let lengths = page.entries.iter().map(|entry| kind.body_length(entry, form));
    let lengths: Option<Vec<usize>> = lengths.collect();
    let (mut head, mut end) = (Vec::new(), Vec::new());
    envelope::close(&mut end);
    let begin = |lengths: &mut dyn Iterator<Item = usize>, head: &mut Vec<u8>| {
        let items = lengths.map(frame::protobuf_item_length).sum();
        frame::protobuf_list_begin(serving.list_type_meta(), &page.meta(), items, head);
    };
    if let Some(lengths) = lengths {
        begin(&mut lengths.iter().copied(), &mut head);
        let items = page.entries.into_iter().zip(lengths).map(Ok);
        let write = move |(entry, length): (Arc<Entry>, usize), out: &mut Vec<u8>| {
            frame::protobuf_item_begin(length, out);
            let start = out.len();
            kind.write_body(&entry, form, out)?;
            // All that follows would be read wrong.
            if out.len() - start == length {
                Ok(())
            } else {
                Err(format!("{} has an odd length", entry.key()))
            }
        };
        return Parts::new(head, items, &end, write).respond(negotiated);
    }
    let bodies: std::result::Result<Vec<Bytes>, String> =
        bodies(serving, form, page.entries.clone()).collect();
    let bodies = bodies.map_err(internal)?;
    begin(&mut bodies.iter().map(Bytes::len), &mut head);
    let write = |body: Bytes, out: &mut Vec<u8>| {
        frame::protobuf_item_begin(body.len(), out);
        out.extend_from_slice(&body);
        Ok(())
    };
    Parts::new(head, bodies.into_iter().map(Ok), &end, write).respond(negotiated)
}

fn bodies(
    serving: &Serving,
    form: Form,
    entries: Vec<Arc<Entry>>,
) -> impl Iterator<Item = std::result::Result<Bytes, String>> + Send + use<> {
    let serving = serving.clone();
    entries.into_iter().map(move |entry| {
        let kind = serving.store.cache().kind();
        entry.body(&**kind, &serving.pool, form)
    })
}

/// A long document, put together while it is sent.
pub(crate) struct Parts<I, W> {
    items: I,
    /// How many items are written before others get their turn.
    at_once: usize,
    write: W,
    buffer: Vec<u8>,
    end: Option<Vec<u8>>,
}

impl<T, I, W> Parts<I, W>
where
    I: Iterator<Item = std::result::Result<T, String>> + Send + 'static,
    W: FnMut(T, &mut Vec<u8>) -> std::result::Result<(), String> + Send + 'static,
{
    pub(crate) fn new(head: Vec<u8>, items: I, end: &[u8], write: W) -> Parts<I, W> {
        Parts { items, at_once: usize::MAX, write, buffer: head, end: Some(end.to_vec()) }
    }

    /// For items that take more time than their length says.
    #[must_use]
    pub(crate) fn at_once(self, items: usize) -> Parts<I, W> {
        Parts { at_once: items, ..self }
    }

    pub(crate) fn respond(mut self, negotiated: Negotiated) -> Result<Response> {
        let mut indenter = negotiated.pretty.then(Indenter::default);
        let Some(first) = self.part(WHOLE, usize::MAX) else {
            return Ok(negotiated.respond(StatusCode::OK, Body::empty()));
        };
        let first = first.map_err(internal)?;
        // What fits in one part is sent with its length.
        if self.end.is_none() {
            let whole = if negotiated.pretty { indented(&first).into() } else { first };
            return Ok(negotiated.respond(StatusCode::OK, whole));
        }
        let mut parts =
            std::iter::once(Ok(first)).chain(std::iter::from_fn(move || self.part(CHUNK, self.at_once)));
        let parts = std::iter::from_fn(move || {
            let part = parts.next()?;
            // The client sees a broken answer, not a list that lacks something.
            Some(part.map_err(crate::body::Error::from).map(|part| match &mut indenter {
                None => part,
                Some(indenter) => {
                    let mut out = Vec::with_capacity(part.len() * 2);
                    indenter.write(&part, &mut out);
                    out.into()
                }
            }))
        });
        Ok(negotiated.respond(StatusCode::OK, Body::stream(stream::iter(parts))))
    }

    fn part(&mut self, most: usize, items: usize) -> Option<std::result::Result<Bytes, String>> {
        self.end.as_ref()?;
        self.buffer.reserve(CHUNK + LAST);
        let mut left = items;
        while self.buffer.len() < most && left > 0 {
            left -= 1;
            let failed = match self.items.next() {
                Some(Ok(item)) => (self.write)(item, &mut self.buffer).err(),
                Some(Err(reason)) => Some(reason),
                None => {
                    self.buffer.extend(self.end.take().unwrap_or_default());
                    break;
                }
            };
            if let Some(reason) = failed {
                self.end = None;
                return Some(Err(reason));
            }
        }
        Some(Ok(std::mem::take(&mut self.buffer).into()))
    }
}

/// An object as an item of a list: what it is, the list says.
pub(crate) fn item(endpoint: &Endpoint, object: Value) -> Result<Value> {
    let mut item = endpoint.served.to_served(object)?;
    if endpoint.served.is_custom() {
        return Ok(item);
    }
    if let Some(item) = item.as_object_mut() {
        item.remove("kind");
        item.remove("apiVersion");
    }
    Ok(item)
}

/// The list as a tree, for encodings that the cache has no bodies of.
pub(crate) fn tree(
    endpoint: &Endpoint,
    meta: &ListMeta<'_>,
    objects: impl Iterator<Item = Result<Value>>,
) -> Result<Value> {
    let items: Vec<Value> = objects.map(|object| item(endpoint, object?)).collect::<Result<_>>()?;
    let mut metadata = Object::new();
    if endpoint.served.is_custom() {
        metadata.insert("continue", "");
    }
    if !meta.resource_version.is_empty() {
        metadata.insert("resourceVersion", meta.resource_version);
    }
    if !meta.continue_token.is_empty() {
        metadata.insert("continue", meta.continue_token);
    }
    if let Some(remaining) = meta.remaining {
        metadata.insert("remainingItemCount", remaining);
    }
    if !meta.shard.is_empty() && !endpoint.served.is_custom() {
        let mut shard = Object::new();
        shard.insert("selector", meta.shard);
        metadata.insert("shardInfo", shard);
    }
    let of = endpoint.list_type_meta();
    let mut list = Object::new();
    list.insert("kind", of.kind);
    list.insert("apiVersion", of.api_version);
    list.insert("metadata", metadata);
    list.insert("items", items);
    Ok(list.into())
}

/// A revision as clients name it.
pub(crate) fn parse_version(text: &str) -> std::result::Result<u64, String> {
    text.parse().map_err(|_| {
        let text = pintle_meta::quote(text);
        format!("resourceVersion: Invalid value: {text}: strconv.ParseUint: parsing {text}: invalid syntax")
    })
}
