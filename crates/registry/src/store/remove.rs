//! Taking an object out of the store.

use pintle_meta::Value;
use pintle_storage::{Revision, Txn};

use super::{Preconditions, Store, WriteOptions};
use crate::{Result, key, metadata};

impl Store {
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
