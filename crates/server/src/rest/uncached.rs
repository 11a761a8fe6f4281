//! Lists of resources that are not kept in memory: every page comes from the store, which knows of its past until it is
//! compacted, and does not wait for a revision that it has not reached.

use std::sync::Arc;

use pintle_cache::{Entry, Error};
use pintle_meta::Status;
use pintle_storage::Revision;

use super::endpoint::Serving;
use super::list::{Page, expired, finish, parse_version};
use super::options::{ListOptions, Match};
use super::select::Selection;
use super::token::Token;
use super::{Result, bad_request, cache_error};

/// How many objects are read at once at most.
const MOST: usize = 10_000;
/// How many are read at once where everything is asked for.
const PAGE: usize = 1000;

/// Which revision is asked for, and where in it.
struct Wanted {
    /// None for the newest.
    revision: Option<u64>,
    /// What the newest must have reached.
    least: u64,
    start: String,
    token: Option<Token>,
}

impl Wanted {
    fn read(options: &ListOptions) -> Result<Wanted> {
        let version = || match options.resource_version.as_str() {
            "" => Ok(0),
            text => {
                parse_version(text).map_err(|why| bad_request(format!("invalid resource version: {why}")))
            }
        };
        if !options.continue_token.is_empty() {
            let token = Token::parse(&options.continue_token)?;
            if !matches!(options.resource_version.as_str(), "" | "0") {
                return Err(bad_request("specifying resource version is not allowed when using continue"));
            }
            let revision = u64::try_from(token.revision).ok();
            return Ok(Wanted { revision, least: 0, start: token.start.clone(), token: Some(token) });
        }
        let least = version()?;
        let exact = match options.version_match {
            Match::Exact => true,
            Match::NotOlderThan => false,
            Match::Unset => options.limit > 0 && least > 0,
        };
        Ok(Wanted { revision: exact.then_some(least), least, start: String::new(), token: None })
    }
}

pub(super) async fn page(serving: &Serving, options: &ListOptions, selection: &Selection) -> Result<Page> {
    let wanted = Wanted::read(options)?;
    let failed = |error: Error| match (&error, &wanted.token) {
        (Error::Storage(pintle_storage::Error::Compacted { .. }), Some(token)) => expired(token),
        (Error::Storage(pintle_storage::Error::FutureRevision { requested, current }), _) => {
            too_large(requested.0, current.0)
        }
        _ => cache_error(&error),
    };
    let cache = serving.store.cache();
    let current = cache.current_revision().await.map_err(failed)?;
    let revision = wanted.revision.unwrap_or(current);
    if let Some(ahead) = [wanted.least, revision].into_iter().find(|asked| *asked > current) {
        return Err(too_large(ahead, current));
    }
    if let Some(key) = selection.key(serving.namespaced) {
        let found = one(serving, &key, revision).await.map_err(failed)?;
        let found = found.filter(|entry| selection.matches(entry));
        return finish(found.into_iter().collect(), revision, selection, String::new(), None, serving);
    }
    let limit = options.limit;
    let mut at_once = if limit == 0 { PAGE } else { limit.min(MOST) };
    let mut from = format!("{}{}", selection.prefix, wanted.start);
    let (mut entries, mut first_count) = (Vec::new(), None);
    let mut last = None;
    let more = loop {
        let page =
            cache.page_from_store(revision, &selection.prefix, &from, at_once).await.map_err(failed)?;
        let (mut has_more, count) = (page.has_more(), page.entries.len() as u64 + page.remaining);
        first_count.get_or_insert(count);
        for entry in page.entries {
            if limit > 0 && entries.len() >= limit {
                has_more = true;
                break;
            }
            last = Some(entry.key().to_owned());
            if selection.matches(&entry) {
                entries.push(entry);
            }
        }
        if !has_more || (limit > 0 && entries.len() >= limit) {
            break has_more;
        }
        from = format!("{}\0", last.as_deref().unwrap_or_default());
        if limit > 0 {
            at_once = (at_once * 2).min(MOST);
        }
    };
    let last = last.filter(|_| more);
    let last = last.as_deref().and_then(|last| last.strip_prefix(&selection.prefix));
    let at = i64::try_from(revision).unwrap_or(i64::MAX);
    let token = last.map(|last| Token { revision: at, start: format!("{last}\0") }.encode());
    let counted = first_count.filter(|_| last.is_some() && selection.is_everything());
    let remaining = counted.map(|count| i64::try_from(count).unwrap_or(i64::MAX) - limit as i64);
    finish(entries, revision, selection, token.unwrap_or_default(), remaining, serving)
}

/// Everything that is selected, at a revision.
pub(super) async fn all(
    serving: &Serving,
    selection: &Selection,
    revision: u64,
) -> std::result::Result<Vec<Arc<Entry>>, Error> {
    let cache = serving.store.cache();
    if let Some(key) = selection.key(serving.namespaced) {
        let found = one(serving, &key, revision).await?;
        return Ok(found.filter(|entry| selection.matches(entry)).into_iter().collect());
    }
    let (mut entries, mut from) = (Vec::new(), selection.prefix.clone());
    loop {
        let page = cache.page_from_store(revision, &selection.prefix, &from, PAGE).await?;
        let has_more = page.has_more();
        if let Some(last) = page.entries.last() {
            from = format!("{}\0", last.key());
        }
        entries.extend(page.entries.into_iter().filter(|entry| selection.matches(entry)));
        if !has_more {
            return Ok(entries);
        }
    }
}

async fn one(serving: &Serving, key: &str, revision: u64) -> std::result::Result<Option<Arc<Entry>>, Error> {
    let config = serving.store.config();
    let full = [&config.prefix, key.as_bytes()].concat();
    let (found, _) = config.backend.get(&full, Some(Revision(revision))).await?;
    Ok(found.and_then(|kv| config.cache.entry_of(&kv)))
}

fn too_large(asked: u64, current: u64) -> Box<Status> {
    Box::new(Status::resource_version_too_large(asked, current, 0))
}
