//! The objects of one resource, for controllers.

use std::sync::Arc;

use pintle_codec::negotiate::Encoding;
use pintle_meta::{Reason, Value};
use pintle_registry::{AdmitAll, Context, FieldManager, MANAGER, Result, Served, Store, WriteOptions};

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

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Creates an object unless there is one of its name. Returns it if it was created.
    ///
    /// `json` is of the served version; defaults and managers come of themselves.
    pub async fn create_if_missing(&self, namespace: &str, json: &[u8]) -> Result<Option<Value>> {
        let object = self.served.read(Encoding::Json, json)?.object?;
        let mut object = self.served.to_stored(object)?;
        self.manager.record(&*self.served, None, &mut object, &self.store.now())?;
        let mut context = Context { namespace: namespace.into(), ..Context::default() };
        let options = WriteOptions::default();
        match self.store.create(&mut context, &object, &AdmitAll, options).await {
            Ok(created) => Ok(Some(created)),
            Err(status) if status.reason == Reason::AlreadyExists => Ok(None),
            Err(status) => Err(status),
        }
    }
}
