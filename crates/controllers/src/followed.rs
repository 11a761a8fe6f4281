//! Objects of a resource as the cache of its store has them, for controllers that follow that cache.

use std::sync::Arc;

use pintle_cache::Entry;
use pintle_meta::Value;
use pintle_meta::gvk::GroupVersionResource;
use pintle_registry::{Result, Store, cache_error};

use crate::api::Location;

/// A resource that a controller follows. Clones are the same.
#[derive(Clone)]
pub struct Followed {
    store: Arc<Store>,
    resource: GroupVersionResource,
}

impl Followed {
    /// `version` is the one that the objects are stored in.
    pub fn new(store: Arc<Store>, version: &str) -> Followed {
        let config = store.config();
        let resource = GroupVersionResource::new(&config.group, version, &config.resource);
        Followed { store, resource }
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Returns the object of a key: `namespace/name`, or `name`.
    pub(crate) async fn find(&self, key: &str) -> Result<Option<Value>> {
        self.ready().await?;
        self.store.cache().get(key).map(|entry| self.decode(&entry)).transpose()
    }

    /// Returns the objects whose keys begin so, and whose entries fit. `namespace/` stands for those of a namespace.
    pub(crate) async fn list(&self, prefix: &str, fits: impl Fn(&Entry) -> bool) -> Result<Vec<Value>> {
        self.ready().await?;
        let snapshot = self.store.cache().snapshot().map_err(|error| cache_error(&error))?;
        let entries = snapshot.objects.iter_prefix(prefix).filter(|entry| fits(entry));
        entries.map(|entry| self.decode(entry)).collect()
    }

    /// Decodes an entry, so that it can be changed and sent back.
    pub(crate) fn decode(&self, entry: &Entry) -> Result<Value> {
        self.store.object(entry)
    }

    /// Returns the place of an object.
    pub(crate) fn location(&self, object: &Value) -> Location {
        Location::object(self.resource.clone(), object.namespace(), object.name())
    }

    /// Returns the place of all objects, of a namespace if there are namespaces.
    pub(crate) fn collection(&self, namespace: &str) -> Location {
        Location::collection(self.resource.clone(), namespace)
    }

    async fn ready(&self) -> Result<()> {
        self.store.cache().ready().await.map_err(|error| cache_error(&error))
    }
}
