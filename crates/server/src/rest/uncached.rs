//! Lists of resources that are not kept in memory: every page comes from the store, which knows of its past until it is
//! compacted, and does not wait for a revision that it has not reached.

use std::sync::Arc;

use pintle_cache::{Entry, Error};
use pintle_meta::Status;

use super::endpoint::StoredEndpoint;
use super::options::{ListOptions, Match};
use super::select::Selection;
use super::token::Token;
use super::verbs::list::{Page, expired, finish, parse_version, read_error};
use super::{Result, bad_request, stored};

/// The revision of the requested page, and its start.
struct RequestedPage {
    /// None for the newest.
    revision: Option<u64>,
    /// The revision that the store must have reached.
    least: u64,
    start: String,
    token: Option<Token>,
}

impl RequestedPage {
    fn read(options: &ListOptions) -> Result<RequestedPage> {
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
            return Ok(RequestedPage { revision, least: 0, start: token.start.clone(), token: Some(token) });
        }
        let least = version()?;
        let exact = match options.version_match {
            Match::Exact => true,
            Match::NotOlderThan => false,
            Match::Unset => options.limit > 0 && least > 0,
        };
        Ok(RequestedPage { revision: exact.then_some(least), least, start: String::new(), token: None })
    }
}

pub(super) async fn page(
    serving: &StoredEndpoint,
    options: &ListOptions,
    selection: &Selection,
) -> Result<Page> {
    let wanted = RequestedPage::read(options)?;
    let failed = |error: Error| match (&error, &wanted.token) {
        (Error::Storage(pintle_storage::Error::Compacted { .. }), Some(token)) => expired(token),
        (Error::Storage(pintle_storage::Error::FutureRevision { requested, current }), _) => {
            too_large(requested.0, current.0)
        }
        _ => read_error(serving, &error),
    };
    let cache = serving.store.cache();
    let current = cache.current_revision().await.map_err(failed)?;
    let revision = wanted.revision.unwrap_or(current);
    if let Some(ahead) = [wanted.least, revision].into_iter().find(|asked| *asked > current) {
        return Err(too_large(ahead, current));
    }
    let found = stored::page(serving, selection, revision, &wanted.start, options.limit).await;
    let found = found.map_err(failed)?;
    finish(found.entries, revision, selection, found.token, found.remaining, serving)
}

/// Everything that is selected, at a revision.
pub(super) async fn all_entries(
    serving: &StoredEndpoint,
    selection: &Selection,
    revision: u64,
) -> std::result::Result<Vec<Arc<Entry>>, Error> {
    Ok(stored::page(serving, selection, revision, "", 0).await?.entries)
}

fn too_large(asked: u64, current: u64) -> Box<Status> {
    Box::new(Status::resource_version_too_large(asked, current, 0))
}
