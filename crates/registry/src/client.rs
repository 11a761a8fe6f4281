//! The server as a client of one of its own resources: how controllers, and resources that write others, read and write objects.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_cache::{Entry, Resource};
use pintle_codec::negotiate::Encoding;
use pintle_meta::{Reason, Status, Value};

use crate::admission::{AdmissionFactory, AdmitAll, MutatingAdmission};
use crate::delete::DeleteOptions;
use crate::field_manager::FieldManager;
use crate::served::Served;
use crate::store::{Preconditions, Store, WriteOptions};
use crate::strategy::Context;
use crate::write::{Change, IfMissing, Target, Write};
use crate::{MANAGER, Result};

/// A client of a resource or subresource in a served version. Its writes pass the pipeline of every other write; admission
/// only where [`Client::admitted_by`] gives it one.
#[derive(Clone)]
pub struct Client {
    store: Arc<Store>,
    served: Arc<dyn Served>,
    manager: FieldManager,
    admission: Option<AdmissionFactory>,
}

impl Client {
    /// Writes as the server's own field manager, without admission.
    pub fn new(store: Arc<Store>, served: Arc<dyn Served>) -> Client {
        Client::of_subresource(store, served, "")
    }

    /// The same through a subresource, by whose rules `store` is; empty for the resource itself.
    pub fn of_subresource(store: Arc<Store>, served: Arc<dyn Served>, subresource: &str) -> Client {
        let manager = FieldManager::new(MANAGER, subresource, store.config().strategy.reset_fields());
        Client { store, served, manager, admission: None }
    }

    /// The same objects, whose writes and deletions pass admission.
    #[must_use]
    pub fn admitted_by(mut self, admission: AdmissionFactory) -> Client {
        self.admission = Some(admission);
        self
    }

    /// The same objects, written as another manager.
    #[must_use]
    pub fn managed_by(mut self, manager: &str) -> Client {
        self.manager = FieldManager::new(manager, "", self.store.config().strategy.reset_fields());
        self
    }

    /// The same objects through a subresource, by whose rules `store` is, written as another manager.
    #[must_use]
    pub fn through(&self, store: Arc<Store>, subresource: &str, manager: &str) -> Client {
        let manager = FieldManager::new(manager, subresource, store.config().strategy.reset_fields());
        Client { store, served: self.served.clone(), manager, admission: self.admission.clone() }
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub fn cache(&self) -> &Arc<Resource> {
        self.store.cache()
    }

    /// Decodes an object of the cache.
    pub fn object(&self, entry: &Entry) -> Result<Value> {
        self.store.object(entry)
    }

    /// Reads an object from JSON of the served version. Returns it in the stored version, with its defaults.
    pub fn read(&self, json: &[u8]) -> Result<Value> {
        let object = self.served.read(Encoding::Json, json)?.object?;
        self.served.to_stored(object).map_err(|error| Box::new(Status::internal(error)))
    }

    /// Returns the object that the cache has.
    pub fn cached(&self, namespace: &str, name: &str) -> Option<Value> {
        let entry = match namespace {
            "" => self.store.cache().get(name),
            namespace => self.store.cache().get(&format!("{namespace}/{name}")),
        };
        self.store.object(&*entry?).ok()
    }

    /// Returns the object as the store has it now.
    ///
    /// Errors: `NotFound`.
    pub async fn get(&self, namespace: &str, name: &str) -> Result<Value> {
        self.store.get(&context(namespace), name).await
    }

    /// Returns the object as the store has it now, if there is one. For callers that need the cache for nothing else.
    pub async fn find(&self, namespace: &str, name: &str) -> Result<Option<Value>> {
        match self.get(namespace, name).await {
            Ok(object) => Ok(Some(object)),
            Err(status) if status.reason == Reason::NotFound => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Returns all objects of a namespace, as linearizable as the store is.
    pub async fn list(&self, namespace: &str) -> Result<Vec<Value>> {
        self.store.list(namespace).await
    }

    /// Reads all objects of a namespace from the store. For callers that need the cache for nothing else.
    pub async fn stored(&self, namespace: &str) -> Result<Vec<Value>> {
        self.store.list_stored(namespace).await
    }

    /// Creates an object from JSON of the served version, unless there is one of its name. Returns it if it was created.
    pub async fn create_if_missing(&self, namespace: &str, json: &[u8]) -> Result<Option<Value>> {
        match self.create(namespace, self.read(json)?).await {
            Ok(created) => Ok(Some(created)),
            Err(status) if status.reason == Reason::AlreadyExists => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Creates an object of the stored version, as [`Client::read`] returns it.
    pub async fn create(&self, namespace: &str, object: Value) -> Result<Value> {
        let admission = self.admission(namespace, object.name());
        self.write(&*admission).create(&mut context(namespace), &self.store, object).await
    }

    /// Changes an existing object; one that is gone is never created. `change` is called on every attempt and leaves
    /// everything as it is with `None`.
    ///
    /// Errors: `NotFound`.
    pub async fn update(
        &self,
        namespace: &str,
        name: &str,
        change: &mut (dyn FnMut(&Value) -> Result<Option<Value>> + Send),
    ) -> Result<Value> {
        let preconditions = Preconditions::default();
        self.changed(namespace, name, &mut Edit { change, preconditions, known: None }).await
    }

    /// Changes an object if it still is as the caller knows it, by a compare and swap on its version alone: neither the cache nor
    /// the store is read before, and the cache need not have the write when this returns.
    ///
    /// Errors: `NotFound`; `Conflict` where there is a newer version.
    pub async fn update_known(
        &self,
        namespace: &str,
        known: &Value,
        change: &mut (dyn FnMut(&Value) -> Result<Option<Value>> + Send),
    ) -> Result<Value> {
        let version = known.resource_version();
        let mut change = |current: &Value| {
            let mut new = change(current)?;
            // The store compares it with that of the current object.
            if let Some(metadata) = new.as_mut().and_then(Value::metadata_mut) {
                metadata.insert("resourceVersion", version);
            }
            Ok(new)
        };
        let preconditions = Preconditions::default();
        let mut edit = Edit { change: &mut change, preconditions, known: Some(known) };
        self.changed(namespace, known.name(), &mut edit).await
    }

    /// The same for exactly one object, and none that came in its place.
    ///
    /// Errors: `NotFound`; `Conflict` where it is not as it was read.
    pub async fn update_exactly(
        &self,
        namespace: &str,
        read: &ObjectIdentity<'_>,
        change: &mut (dyn FnMut(&Value) -> Result<Option<Value>> + Send),
    ) -> Result<Value> {
        self.changed(
            namespace,
            read.name,
            &mut Edit { change, preconditions: read.preconditions(), known: None },
        )
        .await
    }

    /// Applies a configuration, taking over the fields of other managers, to exactly the object that `read` was read from. One
    /// that is gone is never created, nor is one that came in its place changed.
    ///
    /// Errors: `NotFound`; `Conflict` where it is not as it was read.
    pub async fn apply(&self, namespace: &str, read: &ObjectIdentity<'_>, config: &Value) -> Result<Value> {
        self.changed(namespace, read.name, &mut Apply { config, preconditions: read.preconditions() }).await
    }

    /// Deletes exactly this object, and none that came in its place. One that is gone already is no error.
    pub async fn delete(&self, namespace: &str, object: &Value) -> Result<()> {
        let preconditions = ObjectIdentity::of(object).preconditions();
        let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
        let admission = self.admission(namespace, object.name());
        match self.store.delete(&context(namespace), object.name(), &*admission, options).await {
            Err(status) if status.reason != Reason::NotFound => Err(status),
            _ => Ok(()),
        }
    }

    /// Returns the refusal of a write to an object that does not exist.
    pub fn not_found(&self, name: &str) -> Box<Status> {
        let config = self.store.config();
        Box::new(Status::not_found(&config.group, &config.resource, name))
    }

    async fn changed(&self, namespace: &str, name: &str, change: &mut dyn Change) -> Result<Value> {
        let admission = self.admission(namespace, name);
        let (mut context, target) = (context(namespace), Target::Store(&self.store));
        let updated = self.write(&*admission).update(&mut context, target, name, change).await?;
        Ok(updated.object)
    }

    fn admission(&self, namespace: &str, name: &str) -> Box<dyn MutatingAdmission> {
        match &self.admission {
            Some(admission) => admission(namespace, name),
            None => Box::new(AdmitAll),
        }
    }

    fn write<'a>(&'a self, admission: &'a dyn MutatingAdmission) -> Write<'a> {
        let config = self.store.config();
        Write {
            group: &config.group,
            resource: &config.resource,
            served: &*self.served,
            manager: &self.manager,
            admission,
            options: WriteOptions::default(),
            now: self.store.now(),
        }
    }
}

fn context(namespace: &str) -> Context {
    Context { namespace: namespace.into(), ..Context::default() }
}

/// The object that a write is for.
#[derive(Clone, Copy, Debug)]
pub struct ObjectIdentity<'a> {
    pub name: &'a str,
    pub uid: &'a str,
    /// Set where the write follows from the object as it was at this version.
    pub resource_version: Option<&'a str>,
}

impl<'a> ObjectIdentity<'a> {
    /// Identifies an object at any version.
    pub fn of(object: &'a Value) -> ObjectIdentity<'a> {
        ObjectIdentity { name: object.name(), uid: object.uid(), resource_version: None }
    }

    fn preconditions(&self) -> Preconditions {
        Preconditions {
            uid: Some(self.uid.to_owned()),
            resource_version: self.resource_version.map(str::to_owned),
        }
    }
}

/// A change by a function.
struct Edit<'a> {
    change: &'a mut (dyn FnMut(&Value) -> Result<Option<Value>> + Send),
    preconditions: Preconditions,
    known: Option<&'a Value>,
}

#[async_trait]
impl Change for Edit<'_> {
    async fn change(&mut self, write: &Write<'_>, old: Option<&Value>, _: &mut Vec<String>) -> Result<Value> {
        let old = old.cloned().unwrap_or_default();
        let Some(mut new) = (self.change)(&old)? else { return Ok(old) };
        write.record(Some(&old), &mut new)?;
        Ok(new)
    }

    fn if_missing(&self) -> IfMissing {
        IfMissing::Refuse
    }

    fn preconditions(&self) -> Preconditions {
        self.preconditions.clone()
    }

    fn known(&self) -> Option<&Value> {
        self.known
    }
}

/// A change by an applied configuration.
struct Apply<'a> {
    config: &'a Value,
    preconditions: Preconditions,
}

#[async_trait]
impl Change for Apply<'_> {
    async fn change(&mut self, write: &Write<'_>, old: Option<&Value>, _: &mut Vec<String>) -> Result<Value> {
        Ok(write.apply(old, self.config, true)?.object)
    }

    fn if_missing(&self) -> IfMissing {
        IfMissing::Refuse
    }

    fn needs_managers(&self) -> bool {
        true
    }

    fn preconditions(&self) -> Preconditions {
        self.preconditions.clone()
    }
}
