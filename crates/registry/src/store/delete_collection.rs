//! Deleting what a selection matches.
//!
//! What is to go is chosen once, of a snapshot that has everything written before the request; so the reference's paging
//! of its own reads has no counterpart here, and the answer is what was chosen, as it was then.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use pintle_cache::Entry;
use pintle_codec::scan::Paths;
use pintle_meta::{Reason, Status};

use super::Store;
use crate::Result;
use crate::admission::Admission;
use crate::delete::DeleteOptions;
use crate::strategy::Context;

/// How long the cache may take to catch up with the store.
const CATCH_UP: Duration = Duration::from_secs(3);

/// Objects of one resource at a revision.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub entries: Vec<Arc<Entry>>,
    pub revision: u64,
}

/// Which object of a listed name is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// The one that has the name by then, as clients' deletions of collections do it.
    Named,
    /// The one that was listed, and none that came in its place.
    Same,
}

/// The uid of an object, if it can be read.
fn uid(entry: &Entry) -> Option<String> {
    Paths::uid(entry.read().ok()?.value()).ok().map(Into::into)
}

impl Store {
    /// What matches in the context's namespace, or in all if it names none. Has everything that was written before the call.
    pub async fn select(
        &self,
        context: &Context,
        mut matches: impl FnMut(&Entry) -> bool,
    ) -> Result<Selection> {
        let cache = self.cache();
        let snapshot = cache.snapshot_now(CATCH_UP).await.map_err(|error| self.not_cached(&error))?;
        let prefix = match context.namespace.as_str() {
            namespace if self.config().namespaced && !namespace.is_empty() => format!("{namespace}/"),
            _ => String::new(),
        };
        let entries = snapshot.objects.iter_prefix(&prefix).filter(|entry| matches(entry)).cloned().collect();
        Ok(Selection { entries, revision: snapshot.revision })
    }

    /// Deletes each object that matches, as [`Store::delete`] does, and returns what matched, as it was before.
    ///
    /// Errors: as [`Store::delete_each`].
    pub async fn delete_collection(
        &self,
        context: &Context,
        matches: impl FnMut(&Entry) -> bool,
        admission: &dyn Admission,
        options: &DeleteOptions,
        workers: usize,
    ) -> Result<Selection> {
        let selected = self.select(context, matches).await?;
        self.delete_each(context, &selected.entries, Listed::Named, admission, options, workers).await?;
        Ok(selected)
    }

    /// Deletes objects that were listed, so many at once. Those that are gone already are no error. Whoever drops this ends
    /// it after the deletions that are under way.
    ///
    /// Errors: the first that a deletion met. Each takes one worker with it; the others go on with what is left.
    pub async fn delete_each(
        &self,
        context: &Context,
        entries: &[Arc<Entry>],
        listed: Listed,
        admission: &dyn Admission,
        options: &DeleteOptions,
        workers: usize,
    ) -> Result<()> {
        let left = Mutex::new(entries.iter());
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        let failure = Mutex::new(None);
        let worker = async || {
            let mut context = context.clone();
            while let Some(entry) = next() {
                let name = match entry.key().split_once('/') {
                    Some((namespace, name)) if self.config().namespaced => {
                        if context.namespace != namespace {
                            namespace.clone_into(&mut context.namespace);
                        }
                        name
                    }
                    _ => entry.key(),
                };
                // Each has its own options: a strategy sets in them what it finds right for one object.
                let mut options = options.clone();
                if listed == Listed::Same {
                    options.preconditions.uid = uid(entry);
                }
                match self.delete_one(&context, name, admission, options).await {
                    Err(status) if status.reason == Reason::Conflict && listed == Listed::Same => {}
                    Err(status) if status.reason != Reason::NotFound => {
                        failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(status);
                        return;
                    }
                    _ => {}
                }
            }
        };
        join_all((0..workers.clamp(1, entries.len().max(1))).map(|_| Box::pin(worker()))).await;
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    fn not_cached(&self, error: &pintle_cache::Error) -> Box<Status> {
        match error {
            pintle_cache::Error::Storage(error) => self.failed(error, "list", ""),
            pintle_cache::Error::TooLarge { requested, current } => {
                Box::new(Status::resource_version_too_large(*requested, *current, 1))
            }
            error => Box::new(Status::internal(error)),
        }
    }
}
