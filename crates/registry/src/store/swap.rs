//! Compare and swap: tries until no other write came first, beginning with the object that the cache has.

use async_trait::async_trait;
use pintle_meta::{Status, Value};
use pintle_storage::{Revision, Txn};

use super::{Preconditions, State, Store, WriteOptions};
use crate::{Result, key, metadata};

/// The decision of one attempt.
pub(crate) enum Decision {
    /// This is to be stored.
    Write(Value),
    /// Nothing is to be stored; the caller goes on with what is there.
    Stop,
}

/// Decides on every attempt, with the object as it is now (with its resourceVersion).
#[async_trait]
pub(crate) trait Attempt: Send {
    async fn attempt(&mut self, old: Option<&Value>) -> Result<Decision>;

    /// Whether what is too large is tried again without its managers.
    fn may_drop_managers(&self) -> bool {
        false
    }

    /// The object to begin with, at its resourceVersion, in place of the cache's.
    fn known(&self) -> Option<&Value> {
        None
    }
}

/// The outcome of a swap.
pub(crate) enum Swapped {
    /// The object as it is now.
    Written(Value),
    /// An attempt stopped at what is there: the object, with its resourceVersion.
    Stopped(Option<Value>),
}

impl State {
    /// Returns the state of an object that a caller has. The bytes are not known, so a write is not left out if they are the same.
    fn known(object: &Value) -> Option<State> {
        let revision = metadata::revision_of(object).ok().filter(|revision| *revision != 0)?;
        Some(State { object: object.clone(), stored: bytes::Bytes::new(), revision, is_stale: false })
    }
}

impl Store {
    /// Changes what is at a key. An error that was made of the cache's state counts only if the store has the same.
    pub(crate) async fn swap(
        &self,
        own: &str,
        name: &str,
        preconditions: &Preconditions,
        options: WriteOptions,
        attempt: &mut dyn Attempt,
    ) -> Result<Swapped> {
        // The patch may be small and what it changes large.
        let size = self.config.cache.get(own).map_or(0, |entry| entry.stored().len());
        pintle_work::aside(size).await;
        let cached = attempt.known().and_then(State::known).or_else(|| self.cached(own));
        let mut is_current = cached.is_none();
        let mut state = match cached {
            Some(state) => Some(state),
            None => {
                self.cache_for_next();
                self.read(own, "update", name).await?
            }
        };
        let mut drops_managers = false;
        loop {
            let old = state.as_ref().map(|state| metadata::at_revision(state.object.clone(), state.revision));
            let step = match self.check(own, name, preconditions, options, old.as_ref()) {
                Ok(()) => attempt.attempt(old.as_ref()).await,
                Err(failed) => Err(failed),
            };
            let new = match step {
                Ok(Decision::Write(new)) => new,
                Ok(Decision::Stop) if is_current => return Ok(Swapped::Stopped(old)),
                Err(failed) if is_current => return Err(failed),
                outcome => {
                    let before = state.as_ref().map(|state| state.revision);
                    state = self.read(own, "update", name).await?;
                    is_current = true;
                    match outcome {
                        Err(failed) if state.as_ref().map(|state| state.revision) == before => {
                            return Err(failed);
                        }
                        _ => continue,
                    }
                }
            };
            let smaller = if drops_managers { metadata::without_managers(&new) } else { None };
            let (new, stored) = self.encode(smaller.unwrap_or(new))?;
            let same = state.as_ref().filter(|state| state.stored == stored && !state.is_stale);
            if let Some(same) = same {
                if is_current {
                    let same = self
                        .config
                        .stored
                        .decode_again(new, &stored)
                        .map(|object| Swapped::Written(metadata::at_revision(object, same.revision)));
                    return same.map_err(|reason| Box::new(Status::plain(reason)));
                }
                state = self.read(own, "update", name).await?;
                is_current = true;
                continue;
            }
            let expected = state.as_ref().map_or(0, |state| state.revision);
            if options.dry_run {
                let new = self.rehearsed(new, &stored, "update", name).await?;
                return Ok(Swapped::Written(match expected {
                    0 => new,
                    revision => metadata::at_revision(new, revision),
                }));
            }
            let lease = self.lease(&new, "update", name).await?;
            let txn =
                Txn::update(key::full(&self.config.prefix, own), stored.clone(), Revision(expected), lease);
            let result = self.config.backend.txn(txn).await;
            let is_too_large = matches!(result, Err(pintle_storage::Error::TooLarge { .. }));
            if is_too_large && !drops_managers && attempt.may_drop_managers() {
                drops_managers = true;
                continue;
            }
            let result = result.map_err(|error| self.failed(&error, "update", name))?;
            if result.succeeded {
                return self.as_stored(new, &stored, &result).map(Swapped::Written);
            }
            state = match result.read.into_iter().next().flatten() {
                Some(kv) => Some(self.state(&kv)?),
                None => None,
            };
            is_current = true;
        }
    }

    /// Has the cache loaded where the next write would otherwise read a store that is not in this process.
    fn cache_for_next(&self) {
        if self.options.watch_cache && self.config.backend.known_revision().is_none() {
            self.config.cache.load_soon();
        }
    }

    pub(super) fn check(
        &self,
        own: &str,
        name: &str,
        preconditions: &Preconditions,
        options: WriteOptions,
        old: Option<&Value>,
    ) -> Result<()> {
        let failed = |what: &str, wanted: &str, is: &str| -> Box<Status> {
            // A write that is only tried does not reach the layer that adds the prefix.
            let from = if options.dry_run { self.options.shared_prefix } else { 0 };
            let prefix = self.config.prefix.get(from..).unwrap_or_default();
            let key = String::from_utf8_lossy(prefix).into_owned() + own;
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
                 failed: {what} in precondition: {wanted}, {what} in object meta: {is}"
            );
            self.conflict(name, why)
        };
        // A missing object has neither.
        let (uid, version) = old.map_or(("", ""), |old| (old.uid(), old.resource_version()));
        match (&preconditions.uid, &preconditions.resource_version) {
            (Some(wanted), _) if wanted != uid => Err(failed("UID", wanted, uid)),
            (_, Some(wanted)) if wanted != version => Err(failed("ResourceVersion", wanted, version)),
            _ => Ok(()),
        }
    }
}
