//! The write pipeline: the way of a new or changed object to its store, for clients and for the server itself.
//!
//! ```text
//! create   system fields wiped -> namespace -> owner references -> managed fields -> mutating admission
//!          -> managed fields, if admission broke them -> owner references -> target
//! update   on every attempt: Change (old -> new, with managed fields) -> namespace, name -> mutating admission
//!          -> managed fields, if admission broke them -> owner references -> target
//! target   Store: strategy -> validating admission -> write; or Subresource
//! ```
//!
//! Objects are of the storage version, with their defaults, from here on. Warnings gather in the [`Context`], in the order in
//! which they arose; those of an attempt that is repeated are dropped.

mod managers;
mod metadata;
mod owner_references;

use std::mem;

use async_trait::async_trait;
use pintle_meta::time::Time;
use pintle_meta::{Status, Value};

pub(crate) use self::metadata::enforce_namespace;
use self::metadata::{check_name, wipe_system_fields};
use self::owner_references::remove_duplicates;
use crate::Result;
use crate::admission::MutatingAdmission;
use crate::field_manager::{Applied, FieldManager};
use crate::served::Served;
use crate::store::{Created, Preconditions, Store, Transform, WriteOptions};
use crate::strategy::{Context, Sent};
use crate::subresource::Subresource;

/// One write: the resource it is for, in a served version, its field manager and its admission.
pub struct Write<'a> {
    /// Group and resource that refusals name.
    pub group: &'a str,
    pub resource: &'a str,
    pub served: &'a dyn Served,
    pub manager: &'a FieldManager,
    pub admission: &'a dyn MutatingAdmission,
    pub options: WriteOptions,
    /// Time of the write: that of its managed fields and of a creation.
    pub now: Time,
}

/// The end of the pipeline for an update.
#[derive(Clone, Copy)]
pub enum Target<'a> {
    Store(&'a Store),
    Subresource(&'a dyn Subresource),
}

/// Makes the new object of an update.
#[async_trait]
pub trait Change: Send {
    /// Returns the new object with its managed fields, which [`Write::record`] and [`Write::apply`] make. Called on every
    /// attempt, with the object as it is now; `None` where there is none and [`Change::if_missing`] allows to create one.
    async fn change(
        &mut self,
        write: &Write<'_>,
        old: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<Value>;

    /// As [`Transform::sent`].
    fn sent(&mut self) -> Option<Sent> {
        None
    }

    fn if_missing(&self) -> IfMissing;

    /// Whether the write is about field ownership, so that it fails rather than leave the managed fields of a large object out.
    fn needs_managers(&self) -> bool {
        false
    }

    /// Conditions on the old object.
    fn preconditions(&self) -> Preconditions {
        Preconditions::default()
    }

    /// The object that the change is made of, if the caller has it: the first attempt begins with it and not with the cache's,
    /// and the write is answered before the cache has it.
    fn known(&self) -> Option<&Value> {
        None
    }
}

/// The outcome of an update whose object does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfMissing {
    /// `NotFound`, whatever the strategy allows.
    Refuse,
    /// A creation where the strategy allows to create on update, else `NotFound`.
    AskStrategy,
    Create,
}

impl Write<'_> {
    /// Creates an object. Returns it as it was stored.
    pub async fn create(&self, context: &mut Context, store: &Store, mut object: Value) -> Result<Value> {
        wipe_system_fields(&mut object);
        context.time = Some(self.now);
        let object = self.prepare_new(context, object).await?;
        store.create(context, &object, self.admission, self.options).await
    }

    /// Hands an object to a subresource; `parent` is empty where it is of no other object. Returns nothing where there is
    /// nothing to show.
    pub async fn create_in(
        &self,
        context: &mut Context,
        subresource: &dyn Subresource,
        parent: &str,
        mut object: Value,
    ) -> Result<Option<Value>> {
        if parent.is_empty() || !subresource.keeps_system_fields() {
            wipe_system_fields(&mut object);
        }
        let object = self.prepare_new(context, object).await?;
        // Its own writes may drop the warnings of an attempt.
        let earlier = mem::take(&mut context.warnings);
        let created = subresource.create(context, parent, object, self.admission, self.options).await;
        context.warnings.splice(0..0, earlier);
        created
    }

    async fn prepare_new(&self, context: &mut Context, mut object: Value) -> Result<Value> {
        enforce_namespace(&mut object, &context.namespace)?;
        context.warnings.extend(remove_duplicates(&mut object, false));
        self.record(None, &mut object)?;
        let managed = managers::of(&object);
        let mut object = self.admission.on_create(object).await?;
        context.warnings.extend(managers::restore_if_invalid(managed.as_ref(), &mut object));
        context.warnings.extend(remove_duplicates(&mut object, true));
        Ok(object)
    }

    /// Changes an object, or creates it as [`Change::if_missing`] says.
    pub async fn update(
        &self,
        context: &mut Context,
        target: Target<'_>,
        name: &str,
        change: &mut dyn Change,
    ) -> Result<Created> {
        let earlier = mem::take(&mut context.warnings);
        context.time = Some(self.now);
        let may_create = change.if_missing() == IfMissing::Create;
        let namespace = context.namespace.clone();
        let mut update = Update { write: self, namespace, name, change, warnings: Vec::new() };
        let updated = match target {
            Target::Store(store) => {
                store.update(context, name, &mut update, self.admission, may_create, self.options).await
            }
            Target::Subresource(subresource) => {
                subresource.update(context, name, &mut update, self.admission, self.options).await
            }
        };
        context.warnings.splice(0..0, earlier.into_iter().chain(update.warnings));
        updated
    }

    /// Gives a new object its managed fields. `live` is nothing for one that is being created.
    pub fn record(&self, live: Option<&Value>, new: &mut Value) -> Result<()> {
        self.manager.record(self.served, live, new, &self.now)
    }

    /// Merges an applied configuration into an object.
    pub fn apply(&self, live: Option<&Value>, config: &Value, force: bool) -> Result<Applied> {
        self.manager.apply(self.served, live, config, force, &self.now)
    }

    fn not_found(&self, name: &str) -> Box<Status> {
        Box::new(Status::not_found(self.group, self.resource, name))
    }
}

/// The attempts of one update.
struct Update<'a> {
    write: &'a Write<'a>,
    namespace: String,
    name: &'a str,
    change: &'a mut dyn Change,
    /// Of the last attempt.
    warnings: Vec<String>,
}

#[async_trait]
impl Transform for Update<'_> {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        let Update { write, namespace, name, change, warnings } = self;
        warnings.clear();
        if old.is_none() && change.if_missing() == IfMissing::Refuse {
            return Err(write.not_found(name));
        }
        let mut new = change.change(write, old, warnings).await?;
        enforce_namespace(&mut new, namespace)?;
        check_name(&new, name)?;
        let managed = managers::of(&new);
        let mut new = match old {
            Some(old) => write.admission.on_update(new, old).await?,
            None => write.admission.on_create(new).await?,
        };
        warnings.extend(managers::restore_if_invalid(managed.as_ref(), &mut new));
        warnings.extend(remove_duplicates(&mut new, true));
        Ok(new)
    }

    fn sent(&mut self) -> Option<Sent> {
        self.change.sent()
    }

    fn needs_managers(&self) -> bool {
        self.change.needs_managers()
    }

    fn preconditions(&self) -> Preconditions {
        self.change.preconditions()
    }

    fn known(&self) -> Option<&Value> {
        self.change.known()
    }
}

/// The change of a PUT: a whole object in place of the one that exists. It is of the object's UID, if it names one.
pub struct Replace {
    object: Value,
}

impl Replace {
    /// Checks the object against the namespace and name of the request before anything is read.
    ///
    /// Errors: `BadRequest`.
    pub fn new(mut object: Value, context: &mut Context, name: &str) -> Result<Replace> {
        enforce_namespace(&mut object, &context.namespace)?;
        check_name(&object, name)?;
        context.warnings.extend(remove_duplicates(&mut object, false));
        Ok(Replace { object })
    }
}

#[async_trait]
impl Change for Replace {
    async fn change(&mut self, write: &Write<'_>, old: Option<&Value>, _: &mut Vec<String>) -> Result<Value> {
        let replace = || {
            let mut new = self.object.clone();
            write.record(old, &mut new)?;
            Ok(new)
        };
        pintle_work::run(replace).await
    }

    fn if_missing(&self) -> IfMissing {
        IfMissing::AskStrategy
    }

    fn preconditions(&self) -> Preconditions {
        let uid = self.object.uid();
        Preconditions { uid: (!uid.is_empty()).then(|| uid.to_owned()), resource_version: None }
    }
}
