//! Creating.

use bytes::Bytes;
use pintle_meta::{Reason, Status, Value};
use pintle_storage::Txn;

use super::{Store, WriteOptions};
use crate::admission::Admission;
use crate::strategy::Context;
use crate::{Result, key, metadata};

/// How often a generated name that is taken is replaced by another.
const NAME_ATTEMPTS: usize = 8;

impl Store {
    /// Writes an object that is not there yet, and returns it as it was stored.
    ///
    /// Errors: `Invalid`, `AlreadyExists`, what admission says, what the store says.
    pub async fn create(
        &self,
        context: &mut Context,
        object: &Value,
        admission: &dyn Admission,
        options: WriteOptions,
    ) -> Result<Value> {
        self.check_guard(context, "", object, None).await?;
        let generated = object.name().is_empty() && !object.generate_name().is_empty();
        let mut attempts = if generated { NAME_ATTEMPTS } else { 1 };
        let warnings_before = context.warnings.len();
        loop {
            attempts -= 1;
            context.warnings.truncate(warnings_before);
            match self.try_create(context, object.clone(), admission, options).await {
                Err(status) if attempts > 0 && status.reason == Reason::AlreadyExists => {}
                done => {
                    let object = done?;
                    self.wait_for_cache(&object).await;
                    return Ok(self.decorated(object));
                }
            }
        }
    }

    async fn try_create(
        &self,
        context: &mut Context,
        mut object: Value,
        admission: &dyn Admission,
        options: WriteOptions,
    ) -> Result<Value> {
        metadata::fill(&mut object, self.time_of(context), &self.random, &*self.config.strategy)?;
        let mut taken = self.reserve_new(context, &mut object, options).await?;
        let done = match self.checked_new(context, &mut object, admission).await {
            Ok(()) => {
                taken.writing();
                self.write_new(context, object, options).await
            }
            Err(refused) => Err(refused),
        };
        taken.conclude(&done).await;
        done
    }

    pub(super) async fn checked_new(
        &self,
        context: &mut Context,
        object: &mut Value,
        admission: &dyn Admission,
    ) -> Result<()> {
        self.before_create(context, object).await?;
        admission.create(object).await
    }

    /// The last step of a creation, also of one by update.
    pub(super) async fn write_new(
        &self,
        context: &Context,
        object: Value,
        options: WriteOptions,
    ) -> Result<Value> {
        let name = object.name().to_owned();
        let own = self.key(context, &name)?;
        let is_of_revision = metadata::revision_of(&object).is_ok_and(|revision| revision != 0);
        let (mut object, mut stored) = self.encode(object)?;
        if options.dry_run {
            // An object that cannot be read does not count as one: the write itself is what a client wants to know about.
            return match self.read(&own, "create", &name).await {
                Ok(Some(existing)) => Err(self.exists(&object, &existing.object)),
                Ok(None) | Err(_) => self.rehearsed(object, &stored, "create", &name).await,
            };
        }
        if is_of_revision {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(Box::new(Status::plain(why)));
        }
        let lease = self.lease(&object, "create", &name).await?;
        let write = async |stored: &Bytes| {
            let txn = Txn::create(key::full(&self.config.prefix, &own), stored.clone(), lease);
            self.config.backend.txn(txn).await
        };
        let mut result = write(&stored).await;
        // Managed fields may be what makes it too large.
        if matches!(result, Err(pintle_storage::Error::TooLarge { .. }))
            && let Some(smaller) = metadata::without_managers(&object)
        {
            (object, stored) = self.encode(smaller)?;
            result = write(&stored).await;
        }
        let result = result.map_err(|error| self.failed(&error, "create", &name))?;
        if result.succeeded {
            return self.as_stored(object, &stored, &result);
        }
        match result.read.into_iter().next().flatten() {
            // Whether it can be read or not.
            Some(kv) => {
                let existing = self.state(&kv).map(|state| state.object).unwrap_or_default();
                Err(self.exists(&object, &existing))
            }
            None => Err(self.exists(&object, &Value::NULL)),
        }
    }

    fn exists(&self, object: &Value, existing: &Value) -> Box<Status> {
        let (group, resource, name) = (self.resource_group(), &self.config.resource, object.name());
        let mut status = if object.generate_name().is_empty() {
            Status::already_exists(group, resource, name)
        } else {
            Status::generate_name_conflict(group, resource, name, 1)
        };
        if existing.deletion_timestamp().is_some() {
            status.message = format!("object is being deleted: {}", status.message);
        }
        Box::new(status)
    }

    pub(super) async fn lease(
        &self,
        object: &Value,
        operation: &str,
        name: &str,
    ) -> Result<Option<pintle_storage::LeaseId>> {
        // Less than a second is for good, as it is where lifetimes are whole seconds.
        let time = self.config.strategy.time_to_live(object, self.now());
        match time.filter(|time| time.as_secs() > 0) {
            None => Ok(None),
            Some(time) => {
                let lease = self.config.backend.lease(time).await;
                lease.map(Some).map_err(|error| self.failed(&error, operation, name))
            }
        }
    }
}
