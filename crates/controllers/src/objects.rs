//! The objects of one resource, for controllers.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_codec::negotiate::Encoding;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{
    AdmitAll, Context, DeleteOptions, FieldManager, MANAGER, Preconditions, Result, Served, Store, Transform,
    WriteOptions,
};

/// A resource in a served version.
#[derive(Clone)]
pub struct Objects {
    store: Arc<Store>,
    served: Arc<dyn Served>,
    manager: FieldManager,
}

impl Objects {
    pub fn new(store: Arc<Store>, served: Arc<dyn Served>) -> Objects {
        let manager = FieldManager::new(MANAGER, "", store.config().strategy.reset_fields());
        Objects { store, served, manager }
    }

    /// The same objects, written as another manager.
    #[must_use]
    pub fn managed_by(mut self, manager: &str) -> Objects {
        self.manager = FieldManager::new(manager, "", self.store.config().strategy.reset_fields());
        self
    }

    /// The same objects through a subresource, by whose rules `store` is, written as another manager.
    #[must_use]
    pub fn through(&self, store: Arc<Store>, subresource: &str, manager: &str) -> Objects {
        let manager = FieldManager::new(manager, subresource, store.config().strategy.reset_fields());
        Objects { store, served: self.served.clone(), manager }
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// An object of the stored version, with its defaults. `json` is of the served version.
    pub fn read(&self, json: &[u8]) -> Result<Value> {
        self.served.to_stored(self.served.read(Encoding::Json, json)?.object?)
    }

    /// What the cache has.
    pub fn cached(&self, namespace: &str, name: &str) -> Option<Value> {
        let entry = match namespace {
            "" => self.store.cache().get(name),
            namespace => self.store.cache().get(&format!("{namespace}/{name}")),
        };
        self.store.object(&*entry?).ok()
    }

    /// What the store has now; for those who do not need the cache for anything else.
    pub async fn find(&self, namespace: &str, name: &str) -> Result<Option<Value>> {
        match self.store.get(&context(namespace), name).await {
            Ok(object) => Ok(Some(object)),
            Err(status) if status.reason == Reason::NotFound => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// All of a namespace that the store has now; for those who do not need the cache for anything else.
    pub async fn stored(&self, namespace: &str) -> Result<Vec<Value>> {
        self.store.list_stored(namespace).await
    }

    /// Creates an object unless there is one of its name. Returns it if it was created.
    ///
    /// `json` is of the served version; defaults and managers come of themselves.
    pub async fn create_if_missing(&self, namespace: &str, json: &[u8]) -> Result<Option<Value>> {
        match self.create(namespace, self.read(json)?).await {
            Ok(created) => Ok(Some(created)),
            Err(status) if status.reason == Reason::AlreadyExists => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Creates an object of the stored version.
    pub async fn create(&self, namespace: &str, mut object: Value) -> Result<Value> {
        self.manager.record(&*self.served, None, &mut object, &self.store.now())?;
        let mut context = context(namespace);
        self.store.create(&mut context, &object, &AdmitAll, WriteOptions::default()).await
    }

    /// Changes an object that is there; one that is not is never created. `change` is called on every attempt and leaves
    /// everything as it is with `None`. Errors: not found.
    pub async fn update(
        &self,
        namespace: &str,
        name: &str,
        change: &mut (dyn FnMut(&Value) -> Result<Option<Value>> + Send),
    ) -> Result<Value> {
        self.write(namespace, name, &mut Changing { objects: self, name, change }).await
    }

    /// Applies a configuration, whoever else has managed its fields, to exactly the object that `read` was read from. One
    /// that is gone is never created, nor is one that came in its place changed. Errors: not found; conflict where it is not
    /// as it was read.
    pub async fn apply(&self, namespace: &str, read: &ObjectIdentity<'_>, config: &Value) -> Result<Value> {
        self.write(namespace, read.name, &mut Applying { objects: self, read, config }).await
    }

    /// The refusal of a write to an object that is not there.
    pub fn not_found(&self, name: &str) -> Box<Status> {
        let config = self.store.config();
        Box::new(Status::not_found(&config.group, &config.resource, name))
    }

    async fn write(&self, namespace: &str, name: &str, transform: &mut dyn Transform) -> Result<Value> {
        let (mut context, options) = (context(namespace), WriteOptions::default());
        let written = self.store.update(&mut context, name, transform, &AdmitAll, false, options).await?;
        Ok(written.object)
    }

    /// Deletes exactly this object, and nothing that came in its place.
    pub async fn delete(&self, namespace: &str, object: &Value) -> Result<()> {
        let preconditions = Preconditions { uid: Some(object.uid().to_owned()), ..Preconditions::default() };
        let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
        match self.store.delete(&context(namespace), object.name(), &AdmitAll, options).await {
            Err(status) if status.reason != Reason::NotFound => Err(status),
            _ => Ok(()),
        }
    }
}

/// Which object a write is for.
#[derive(Clone, Copy, Debug)]
pub struct ObjectIdentity<'a> {
    pub name: &'a str,
    pub uid: &'a str,
    /// Where what is written follows from the object as it was at this version.
    pub resource_version: Option<&'a str>,
}

impl<'a> ObjectIdentity<'a> {
    /// An object, whatever version it has by now.
    pub fn of(object: &'a Value) -> ObjectIdentity<'a> {
        ObjectIdentity { name: object.name(), uid: object.uid(), resource_version: None }
    }
}

fn context(namespace: &str) -> Context {
    Context { namespace: namespace.into(), ..Context::default() }
}

struct Changing<'a> {
    objects: &'a Objects,
    name: &'a str,
    change: &'a mut (dyn FnMut(&Value) -> Result<Option<Value>> + Send),
}

#[async_trait]
impl Transform for Changing<'_> {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        // Some strategies let an update create.
        let Some(old) = old else { return Err(self.objects.not_found(self.name)) };
        let Some(mut new) = (self.change)(old)? else { return Ok(old.clone()) };
        let Objects { store, served, manager } = self.objects;
        manager.record(&**served, Some(old), &mut new, &store.now())?;
        Ok(new)
    }
}

struct Applying<'a> {
    objects: &'a Objects,
    read: &'a ObjectIdentity<'a>,
    config: &'a Value,
}

#[async_trait]
impl Transform for Applying<'_> {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        let Some(old) = old else { return Err(self.objects.not_found(self.read.name)) };
        let Objects { store, served, manager } = self.objects;
        manager.apply(&**served, Some(old), self.config, true, &store.now())
    }

    fn preconditions(&self) -> Preconditions {
        Preconditions {
            uid: Some(self.read.uid.to_owned()),
            resource_version: self.read.resource_version.map(str::to_owned),
        }
    }

    fn needs_managers(&self) -> bool {
        true
    }
}
