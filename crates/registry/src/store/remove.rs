//! Taking an object out of the store.

use pintle_meta::field_path::{self, Error, Path};
use pintle_meta::{Status, Value};
use pintle_storage::{Revision, Txn};

use super::{Preconditions, Store, StoreConfig, WriteOptions};
use crate::strategy::Context;
use crate::{Result, key, metadata};

impl Store {
    /// Deletes an object that cannot be read, without asking anybody what it was.
    ///
    /// Errors: `Invalid` where it can be read, or is not there.
    pub async fn delete_unreadable(&self, context: &Context, name: &str) -> Result<()> {
        let own = self.key(context, name)?;
        let full = key::full(&self.config.prefix, &own);
        loop {
            let found = self.config.backend.get(&full, None).await;
            let (found, _) = found.map_err(|error| self.failed(&error, "delete", name))?;
            let Some(kv) = found.filter(|kv| self.config.stored.decode(&kv.value).is_err()) else {
                let path = Path::new("ignoreStoreReadErrorWithClusterBreakingPotential");
                let why =
                    "is exclusively used to delete corrupt object(s), try again by removing this option";
                let error = Error::invalid(&path, field_path::Value::json(&true), why);
                // A resource stands where a kind should.
                let StoreConfig { group, resource, .. } = &self.config;
                return Err(Box::new(Status::invalid(group, resource, name, &[error])));
            };
            tracing::info!(name, resource = self.config.resource, "going to perform unsafe object deletion");
            let result = self.config.backend.txn(Txn::delete(full.clone(), kv.mod_revision)).await;
            if result.map_err(|error| self.failed(&error, "delete", name))?.succeeded {
                return Ok(());
            }
        }
    }

    /// Deletes what is there, whatever it is by then, if the preconditions hold. Returns it at the deletion's revision; `None`
    /// if it was gone.
    pub(crate) async fn remove(
        &self,
        own: &str,
        name: &str,
        preconditions: &Preconditions,
        options: WriteOptions,
    ) -> Result<Option<Value>> {
        loop {
            let Some(state) = self.read(own, "delete", name).await? else { return Ok(None) };
            let object = metadata::at_revision(state.object, state.revision);
            self.check(own, name, preconditions, Some(&object))?;
            if options.dry_run {
                return Ok(Some(object));
            }
            let txn = Txn::delete(key::full(&self.config.prefix, own), Revision(state.revision));
            let result = self.config.backend.txn(txn).await;
            let result = result.map_err(|error| self.failed(&error, "delete", name))?;
            if result.succeeded {
                self.give_back(&object).await;
                return Ok(Some(metadata::at_revision(object, result.revision.0)));
            }
        }
    }
}
