//! Reading one object.

use std::time::Duration;

use pintle_meta::Status;

use super::answer::Negotiated;
use super::endpoint::Serving;
use super::list::parse_version;
use super::{Result, bad_request, cache_error, unexpected};
use crate::{Request, Response};

/// How long a read waits for a revision that the server has not seen yet.
pub(crate) const WAIT: Duration = Duration::from_secs(3);

pub(crate) async fn get(serving: &Serving, request: &Request, negotiated: Negotiated) -> Result<Response> {
    let (context, name) = (serving.context(request), &request.info.name);
    let version = request.query("resourceVersion").next().unwrap_or_default();
    let store = &serving.store;
    if version.is_empty() {
        return negotiated.entry(serving, &store.entry(&context, name).await?);
    }
    if !store.has_watch_cache() {
        let version = parse_version(&version);
        let version = version.map_err(|why| bad_request(format!("invalid resource version: {why}")))?;
        return negotiated.entry(serving, &store.entry_not_older(&context, name, version).await?);
    }
    let version = parse_version(&version).map_err(unexpected)?;
    let cache = store.cache();
    let key = if serving.namespaced { format!("{}/{name}", context.namespace) } else { name.clone() };
    match cache.entry_since(&key, version, WAIT).await.map_err(|error| cache_error(&error))? {
        Some(entry) => negotiated.entry(serving, &entry),
        None => Err(Box::new(Status::not_found(&serving.group, &serving.resource, name))),
    }
}
