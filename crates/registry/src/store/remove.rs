//! Taking an object out of the store.

use pintle_meta::field_path::{self, Error, Path};
use pintle_meta::{Status, Value};
use pintle_storage::{Revision, Txn};

use super::{Preconditions, State, Store, StoreConfig, WriteOptions};
use crate::strategy::Context;
use crate::{Result, key, metadata};

impl Store {
    /// Deletes an object that cannot be decoded, without strategy or admission.
    ///
    /// Errors: `Invalid` where it can be read, or is not there.
    pub async fn delete_unreadable(&self, context: &Context, name: &str) -> Result<()> {
        let own = self.key(context, name)?;
        let full = key::full(&self.config.prefix, &own);
        loop {
            let revision = match self.config.backend.get(&full, None).await {
                Ok((found, _)) => {
                    found.filter(|kv| self.config.stored.decode(&kv.value).is_err()).map(|kv| kv.mod_revision)
                }
                Err(pintle_storage::Error::Undecryptable(values)) => {
                    values.first().map(|value| value.revision)
                }
                Err(error) => return Err(self.failed(&error, "delete", name)),
            };
            let Some(revision) = revision else {
                let path = Path::new("ignoreStoreReadErrorWithClusterBreakingPotential");
                let why =
                    "is exclusively used to delete corrupt object(s), try again by removing this option";
                let error = Error::invalid(&path, field_path::Value::json(&true), why);
                // A resource stands where a kind should.
                let StoreConfig { group, resource, .. } = &self.config;
                return Err(Box::new(Status::invalid(group, resource, name, &[error])));
            };
            tracing::info!(name, resource = self.config.resource, "going to perform unsafe object deletion");
            let result = self.config.backend.txn(Txn::delete(full.clone(), revision)).await;
            match result {
                Ok(result) if result.succeeded => return Ok(()),
                // Another writer came first, and what it wrote is looked at.
                Ok(_) | Err(pintle_storage::Error::Undecryptable(_)) => {}
                Err(error) => return Err(self.failed(&error, "delete", name)),
            }
        }
    }

    /// Deletes what is there, whatever it is by then, if the preconditions hold. Returns it at the deletion's revision; `None`
    /// if it was gone.
    ///
    /// `known` is the object as the caller read or wrote it a moment ago, so that the store is not read again: a transaction that
    /// finds another revision brings the object of that one.
    pub(crate) async fn remove(
        &self,
        own: &str,
        name: &str,
        known: Option<Value>,
        preconditions: &Preconditions,
        options: WriteOptions,
    ) -> Result<Option<Value>> {
        let known = known.and_then(|object| Some((metadata::revision_of(&object).ok()?, object)));
        let mut current = match known.filter(|(revision, _)| *revision > 0) {
            Some(known) => Some(known),
            None => self.read(own, "delete", name).await?.map(at_its_revision),
        };
        while let Some((revision, object)) = current {
            self.check(own, name, preconditions, options, Some(&object))?;
            if options.dry_run {
                return Ok(Some(object));
            }
            let txn = Txn::delete(key::full(&self.config.prefix, own), Revision(revision));
            let result = self.config.backend.txn(txn).await;
            let result = result.map_err(|error| self.failed(&error, "delete", name))?;
            if result.succeeded {
                self.give_back(&object).await;
                let removed = metadata::at_revision(object, result.revision.0);
                self.wait_for_cache(&removed).await;
                return Ok(Some(removed));
            }
            current = match result.read.into_iter().next().flatten() {
                Some(kv) => Some(at_its_revision(self.state(&kv)?)),
                None => None,
            };
        }
        Ok(None)
    }
}

fn at_its_revision(state: State) -> (u64, Value) {
    (state.revision, metadata::at_revision(state.object, state.revision))
}
