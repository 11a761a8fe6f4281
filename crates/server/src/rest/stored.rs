//! Pages of a list that are read from the store, at a revision that memory does not have.
//!
//! No more objects are read than the page takes: the store is asked for a part of the keys in scope at a time, and objects
//! that the selectors leave out are dropped before the next part is read. Parts are bounded in bytes as well, and few are
//! read at a time for all requests together, so that selectors that match little take the memory of a few parts.

use std::sync::Arc;

use pintle_cache::{Entry, Error};
use pintle_storage::Revision;
use tokio::sync::Semaphore;

use super::endpoint::StoredEndpoint;
use super::select::Selection;
use super::token::Token;

/// Number of objects that are read at once at most.
const MOST_AT_ONCE: usize = 1000;

/// Number of objects that are read first where a selector may leave all of them out: their size is not known yet.
const FIRST: usize = 32;

/// Size of a part, judged by the objects of the part before it.
const PART_BYTES: usize = 2 << 20;

/// Parts that are read at a time on behalf of selectors.
static PARTS: Semaphore = Semaphore::const_new(4);

/// The objects of a page, and what a client needs to ask for the next one.
#[derive(Default)]
pub(super) struct StoredPage {
    pub(super) entries: Vec<Arc<Entry>>,
    /// Empty for the last page.
    pub(super) token: String,
    /// Number of objects after the page, where it is known without looking at them.
    pub(super) remaining: Option<i64>,
}

/// Reads the objects at a revision that are selected, from `start` within the scope on, at most `limit` (0: all).
///
/// Errors: `Storage` with `Compacted` or `FutureRevision`.
pub(super) async fn page(
    serving: &StoredEndpoint,
    selection: &Selection,
    revision: u64,
    start: &str,
    limit: usize,
) -> Result<StoredPage, Error> {
    if let Some(key) = selection.key(serving.namespaced).filter(|_| start.is_empty()) {
        let found = entry_at(serving, &key, revision).await?.filter(|entry| selection.matches(entry));
        return Ok(StoredPage { entries: found.into_iter().collect(), ..StoredPage::default() });
    }
    let cache = serving.store.cache();
    let is_full = |entries: &[Arc<Entry>]| limit > 0 && entries.len() >= limit;
    let mut at_once = if limit == 0 { MOST_AT_ONCE } else { limit.min(MOST_AT_ONCE) };
    let selects = !selection.is_everything();
    if selects {
        at_once = at_once.min(FIRST);
    }
    let mut from = format!("{}{start}", selection.prefix);
    let (mut entries, mut first_count, mut last) = (Vec::new(), None, None);
    let has_more = loop {
        // Held until what is not selected is dropped.
        let _turn = if selects { PARTS.acquire().await.ok() } else { None };
        let part = cache.page_from_store(revision, &selection.prefix, &from, at_once).await?;
        let (mut has_more, count) = (part.has_more(), part.entries.len() as u64 + part.remaining);
        first_count.get_or_insert(count);
        // Keys that are not UTF-8 belong to no object; a full part of nothing else ends the list.
        has_more &= at_once < MOST_AT_ONCE || !part.entries.is_empty();
        let bytes: usize = part.entries.iter().map(|entry| entry.stored().len()).sum();
        let fitting = (PART_BYTES * part.entries.len() / bytes.max(1)).max(1);
        for entry in part.entries {
            if is_full(&entries) {
                has_more = true;
                break;
            }
            last = Some(entry.key().to_owned());
            if selection.matches(&entry) {
                entries.push(entry);
            }
        }
        if !has_more || is_full(&entries) {
            break has_more;
        }
        from = format!("{}\0", last.as_deref().unwrap_or_default());
        // A selector that finds little is not worth many small reads.
        at_once = (at_once * 2).min(MOST_AT_ONCE).min(if selects { fitting } else { MOST_AT_ONCE });
    };
    let last = last.filter(|_| has_more);
    let last = last.as_deref().and_then(|last| last.strip_prefix(&selection.prefix));
    let at = i64::try_from(revision).unwrap_or(i64::MAX);
    let token = last.map(|last| Token { revision: at, start: format!("{last}\0") }.encode());
    let counted = first_count.filter(|_| last.is_some() && selection.is_everything());
    let remaining = counted.map(|count| i64::try_from(count).unwrap_or(i64::MAX) - limit as i64);
    Ok(StoredPage { entries, token: token.unwrap_or_default(), remaining })
}

async fn entry_at(serving: &StoredEndpoint, key: &str, revision: u64) -> Result<Option<Arc<Entry>>, Error> {
    let config = serving.store.config();
    let full = [&config.prefix, key.as_bytes()].concat();
    let (found, _) = config.backend.get(&full, Some(Revision(revision))).await?;
    Ok(found.and_then(|kv| config.cache.entry_of(&kv)))
}
