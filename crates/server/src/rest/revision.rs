//! Waiting for a revision that the cache has not seen yet.
//!
//! The reference waits for up to three seconds, whatever the verb and `resourceVersionMatch`, and then answers 504 with the
//! cause ResourceVersionTooLarge: the client may have the revision from another server, of a write that is still on its way
//! here. The wait is the client's doing, so the request gives its slot back meanwhile. Resources without a watch cache
//! wait for nothing and refuse at once (`uncached.rs`), and a watch without initial events begins at any revision.

use std::time::Duration;

use super::endpoint::StoredEndpoint;
use super::options::ListOptions;
use super::token::Token;
use super::{Result, cache_error};
use crate::overload::{Slot, without_slot};

/// Time that a read waits for a revision that the server has not seen yet.
pub(crate) const WAIT: Duration = Duration::from_secs(3);

/// Waits until the cache has the revision that a list names, if it names one. Whether it may do so is decided later.
pub(crate) async fn wait_until_reached(
    serving: &StoredEndpoint,
    slot: Option<&Slot>,
    options: &ListOptions,
) -> Result<()> {
    if !serving.store.has_watch_cache() {
        return Ok(());
    }
    let named = match options.continue_token.as_str() {
        "" => options.resource_version.parse().ok(),
        token => Token::parse(token).ok().and_then(|token| u64::try_from(token.revision).ok()),
    };
    let Some(revision) = named.filter(|revision| *revision > 0) else { return Ok(()) };
    let cache = serving.store.cache();
    let wait = async {
        cache.ready().await.map_err(|error| cache_error(&error))?;
        cache.wait_for(revision, WAIT).await.map_err(|error| cache_error(&error))
    };
    without_slot(slot, wait).await
}
