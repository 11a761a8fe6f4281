//! Reading one object.

use std::sync::Arc;

use pintle_cache::Entry;
use pintle_meta::Status;

use crate::overload::without_slot;
use crate::rest::endpoint::StoredEndpoint;
use crate::rest::representation::Representation;
use crate::rest::revision::WAIT;
use crate::rest::verbs::list::parse_version;
use crate::rest::{Result, bad_request, cache_error, unexpected};
use crate::{Request, Response};

pub(crate) async fn get(
    serving: &StoredEndpoint,
    request: &Request,
    representation: Representation,
) -> Result<Response> {
    let (context, name) = (serving.context(request), &request.info.name);
    let version = request.query("resourceVersion").next().unwrap_or_default();
    let store = &serving.store;
    if version.is_empty() {
        return answer(serving, representation, &store.entry(&context, name).await?).await;
    }
    if !store.has_watch_cache() {
        let version = parse_version(&version);
        let version = version.map_err(|why| bad_request(format!("invalid resource version: {why}")))?;
        return answer(serving, representation, &store.entry_not_older(&context, name, version).await?).await;
    }
    let version = parse_version(&version).map_err(unexpected)?;
    let cache = store.cache();
    let key = if serving.namespaced { format!("{}/{name}", context.namespace) } else { name.clone() };
    let found = async { cache.entry_since(&key, version, WAIT).await.map_err(|error| cache_error(&error)) };
    match without_slot(request.slot.as_ref(), found).await? {
        Some(entry) => answer(serving, representation, &entry).await,
        None => Err(Box::new(Status::not_found(&serving.group, &serving.resource, name))),
    }
}

async fn answer(
    serving: &StoredEndpoint,
    representation: Representation,
    entry: &Arc<Entry>,
) -> Result<Response> {
    pintle_work::aside(representation.weight(entry.stored().len())).await;
    representation.entry(serving, entry)
}
