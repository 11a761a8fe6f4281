//! Updating, and creating by update.

use std::mem;

use async_trait::async_trait;
use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_patch::managed;

use super::swap::{Attempt, Decision, Swapped};
use super::{Created, Preconditions, Store, Transform, WriteOptions};
use crate::admission::Admission;
use crate::reserve::Reservation;
use crate::strategy::Context;
use crate::{Result, metadata};

const STALE: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

impl Store {
    /// Changes an object, or creates it if it is not there and the resource or the caller allows that.
    ///
    /// Removing the last finalizer of an object that is being deleted deletes it.
    pub async fn update(
        &self,
        context: &mut Context,
        name: &str,
        transform: &mut dyn Transform,
        admission: &dyn Admission,
        may_create: bool,
        options: WriteOptions,
    ) -> Result<Created> {
        let own = self.key(context, name)?;
        let preconditions = transform.preconditions();
        let may_create = may_create || self.config.strategy.allows_create_on_update();
        let mut attempt = Update {
            store: self,
            context,
            name,
            transform,
            admission,
            may_create,
            created: false,
            emptied: None,
            options,
            taken: Reservation::default(),
        };
        let swapped = self.swap(&own, name, &preconditions, options, &mut attempt).await;
        let taken = mem::take(&mut attempt.taken);
        match &swapped {
            // Nothing was written of what it was taken for.
            Ok(Swapped::Stopped(_)) => taken.revert().await,
            swapped => taken.conclude(swapped).await,
        }
        match swapped? {
            Swapped::Written(object) => {
                let created = attempt.created;
                if attempt.transform.known().is_none() {
                    self.wait_for_cache(&object).await;
                }
                Ok(Created { object: self.decorated(object), created })
            }
            Swapped::Stopped(known) => {
                // The last finalizer is gone. Clients expect what they sent back.
                let object = attempt.emptied.unwrap_or_default();
                self.remove(
                    &own,
                    name,
                    known,
                    &Preconditions { uid: preconditions.uid, ..Default::default() },
                    options,
                )
                .await?;
                Ok(Created { object, created: false })
            }
        }
    }
}

struct Update<'a> {
    store: &'a Store,
    context: &'a mut Context,
    name: &'a str,
    transform: &'a mut dyn Transform,
    admission: &'a dyn Admission,
    may_create: bool,
    created: bool,
    /// The new object, when it lost its last finalizer while it was being deleted.
    emptied: Option<Value>,
    options: WriteOptions,
    /// For the object of this attempt.
    taken: Reservation,
}

#[async_trait]
impl Attempt for Update<'_> {
    async fn attempt(&mut self, old: Option<&Value>) -> Result<Decision> {
        // The last attempt's object was not written.
        mem::take(&mut self.taken).revert().await;
        let (step, taken) = self.step(old).await?;
        self.taken = taken;
        Ok(step)
    }

    fn may_drop_managers(&self) -> bool {
        !self.transform.needs_managers()
    }

    fn known(&self) -> Option<&Value> {
        self.transform.known()
    }
}

impl Update<'_> {
    async fn step(&mut self, old: Option<&Value>) -> Result<(Decision, Reservation)> {
        let (store, options) = (self.store, self.options);
        self.context.warnings.clear();
        let Some(old) = old else {
            if !self.may_create {
                return Err(store.not_found(self.name));
            }
            let mut new = self.transform(None).await?;
            store.check_guard(self.context, self.name, &new, None).await?;
            metadata::fill(&mut new, store.time_of(self.context), &store.random, &*store.config.strategy)?;
            self.created = true;
            let mut taken = store.reserve_new(self.context, &mut new, options).await?;
            let checked = store.checked_new(self.context, &mut new, self.admission).await;
            if checked.is_err() {
                taken.revert().await;
                return checked.map(|()| (Decision::Stop, Reservation::default()));
            }
            taken.writing();
            return Ok((Decision::Write(new), taken));
        };
        self.created = false;
        let mut new = self.transform(Some(old)).await?;
        store.check_guard(self.context, self.name, &new, Some(old)).await?;
        self.check_version(&mut new, old)?;
        let Some(reserve) = store.taking() else {
            return Ok((self.checked(new, old).await?, Reservation::default()));
        };
        let shown = store.decorated(old.clone());
        let mut taken = reserve.on_update(self.context, &mut new, &shown, options).await?;
        match self.checked(new, &shown).await {
            Ok(step) => {
                taken.writing();
                Ok((step, taken))
            }
            Err(refused) => {
                taken.revert().await;
                Err(refused)
            }
        }
    }

    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        let new = self.transform.transform(old).await?;
        if let Some(sent) = self.transform.sent() {
            self.context.sent = Some(sent);
        }
        Ok(new)
    }

    async fn checked(&mut self, mut new: Value, old: &Value) -> Result<Decision> {
        let store = self.store;
        store.before_update(self.context, &mut new, old).await?;
        // Only here it is known whether anything else changes.
        managed::keep_timestamps(old, &mut new);
        self.admission.update(&new, old).await?;
        if loses_last_finalizer(&new, old) && store.config.strategy.should_delete_during_update(&new, old) {
            self.emptied = Some(new);
            return Ok(Decision::Stop);
        }
        Ok(Decision::Write(new))
    }

    /// The new object is of the old one's revision, or says none where that means any.
    fn check_version(&self, new: &mut Value, old: &Value) -> Result<()> {
        let version = metadata::revision_of(new)?;
        if version == 0 {
            if self.store.config.strategy.allows_unconditional_update() {
                metadata::keep(new, old, "resourceVersion");
                return Ok(());
            }
            let error = Error::invalid(
                &Path::new("metadata").child("resourceVersion"),
                0i64,
                "must be specified for an update",
            );
            let (group, resource) = (self.store.resource_group(), &self.store.config.resource);
            let status = pintle_meta::Status::invalid(group, resource, self.name, &[error]);
            return Err(Box::new(status));
        }
        if version != metadata::revision_of(old)? {
            return Err(self.store.conflict(self.name, STALE));
        }
        Ok(())
    }
}

fn loses_last_finalizer(new: &Value, old: &Value) -> bool {
    let grace = old.at(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64);
    new.finalizers().next().is_none() && old.deletion_timestamp().is_some() && grace.unwrap_or_default() == 0
}
