//! The server as a client of its own resources: how one resource reads and writes another.
//!
//! Such a write passes what a client's would: the rules of the resource, admission, and the record of who manages what.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_cache::{Entry, Resource};
use pintle_codec::negotiate::Encoding;
use pintle_meta::{Status, Value};

use crate::delete::DeleteOptions;
use crate::field_manager::FieldManager;
use crate::served::Served;
use crate::store::{Admission, Preconditions, Store, Transform, WriteOptions};
use crate::strategy::Context;
use crate::{MANAGER, Result};

/// Admission of one write, with those who may change the object.
#[async_trait]
pub trait Mutation: Admission {
    /// Called with a new object. Returns it as plugins left it.
    async fn on_create(&self, object: Value) -> Result<Value> {
        Ok(object)
    }

    /// Called on every attempt, with what there is. Returns the new object as plugins left it.
    async fn on_update(&self, new: Value, old: &Value) -> Result<Value>;
}

/// Makes the admission of a write to an object of a namespace and name, in the server's own name.
pub type Gates = Arc<dyn Fn(&str, &str) -> Box<dyn Mutation> + Send + Sync>;

/// A resource or subresource in a served version.
pub struct Loopback {
    store: Store,
    served: Arc<dyn Served>,
    manager: FieldManager,
    gates: Gates,
}

impl Loopback {
    /// `subresource` is empty for the resource itself; the store is by its rules.
    pub fn new(store: Store, served: Arc<dyn Served>, subresource: &str, gates: Gates) -> Loopback {
        let manager = FieldManager::new(MANAGER, subresource, store.config().strategy.reset_fields());
        Loopback { store, served, manager, gates }
    }

    /// All objects of a namespace, as linearizable as the store is.
    pub async fn list(&self, namespace: &str) -> Result<Vec<Value>> {
        self.store.list(namespace).await
    }

    /// What the cache has of these objects.
    pub fn cache(&self) -> &Arc<Resource> {
        self.store.cache()
    }

    /// An object of the cache.
    pub fn object(&self, entry: &Entry) -> Result<Value> {
        self.store.object(entry)
    }

    /// The object now.
    pub async fn get(&self, namespace: &str, name: &str) -> Result<Value> {
        self.store.get(&in_namespace(namespace), name).await
    }

    /// Creates an object. `json` is of the served version; defaults and managers come of themselves.
    pub async fn create(&self, namespace: &str, json: &[u8]) -> Result<Value> {
        let Loopback { store, served, manager, gates } = self;
        let mut object = served.to_stored(served.read(Encoding::Json, json)?.object?)?;
        manager.record(&**served, None, &mut object, &store.now())?;
        let gate = gates(namespace, object.name());
        let object = gate.on_create(object).await?;
        store.create(&mut in_namespace(namespace), &object, &*gate, WriteOptions::default()).await
    }

    /// Deletes an object, of this identity if one is given.
    pub async fn delete(&self, namespace: &str, name: &str, uid: Option<&str>) -> Result<()> {
        let preconditions = Preconditions { uid: uid.map(str::to_owned), ..Preconditions::default() };
        let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
        let gate = (self.gates)(namespace, name);
        self.store.delete(&in_namespace(namespace), name, &*gate, options).await.map(|_| ())
    }

    /// Changes an object that is there; the transform may refuse. Errors: not found, also where the strategy lets an update
    /// create.
    pub async fn update(&self, namespace: &str, name: &str, transform: &mut dyn Transform) -> Result<Value> {
        let mut context = in_namespace(namespace);
        let gate = (self.gates)(namespace, name);
        let mut change = Change { to: self, name, gate: &*gate, transform };
        let options = WriteOptions::default();
        let updated = self.store.update(&mut context, name, &mut change, &*gate, false, options).await?;
        Ok(updated.object)
    }
}

fn in_namespace(namespace: &str) -> Context {
    Context { namespace: namespace.into(), ..Context::default() }
}

struct Change<'a> {
    to: &'a Loopback,
    name: &'a str,
    gate: &'a dyn Mutation,
    transform: &'a mut dyn Transform,
}

#[async_trait]
impl Transform for Change<'_> {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        let Loopback { store, served, manager, .. } = self.to;
        let Some(old) = old else {
            let config = store.config();
            return Err(Box::new(Status::not_found(&config.group, &config.resource, self.name)));
        };
        let mut new = self.transform.transform(Some(old)).await?;
        manager.record(&**served, Some(old), &mut new, &store.now())?;
        self.gate.on_update(new, old).await
    }

    fn preconditions(&self) -> Preconditions {
        self.transform.preconditions()
    }
}
