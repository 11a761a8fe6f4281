//! Objects that plugins look up by name.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{Context, Store};

use crate::Result;

/// A resource whose objects plugins look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    CsiDriver,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    RuntimeClass,
    ServiceAccount,
}

impl Resource {
    pub const ALL: [Resource; 7] = [
        Resource::CsiDriver,
        Resource::Node,
        Resource::PersistentVolume,
        Resource::PersistentVolumeClaim,
        Resource::Pod,
        Resource::RuntimeClass,
        Resource::ServiceAccount,
    ];

    /// Returns the path of its keys in the store.
    pub fn path(self) -> &'static str {
        match self {
            Resource::CsiDriver => "csidrivers",
            Resource::Node => "minions",
            Resource::PersistentVolume => "persistentvolumes",
            Resource::PersistentVolumeClaim => "persistentvolumeclaims",
            Resource::Pod => "pods",
            Resource::RuntimeClass => "runtimeclasses",
            Resource::ServiceAccount => "serviceaccounts",
        }
    }

    /// Returns the group and the singular name that messages have.
    fn singular(self) -> (&'static str, &'static str) {
        match self {
            Resource::CsiDriver => ("storage.k8s.io", "csidriver"),
            Resource::Node => ("", "node"),
            Resource::PersistentVolume => ("", "persistentvolume"),
            Resource::PersistentVolumeClaim => ("", "persistentvolumeclaim"),
            Resource::Pod => ("", "pod"),
            Resource::RuntimeClass => ("node.k8s.io", "runtimeclass"),
            Resource::ServiceAccount => ("", "serviceaccount"),
        }
    }

    /// `pod "a" not found`.
    pub(crate) fn not_found(self, name: &str) -> Box<Status> {
        let (group, resource) = self.singular();
        Box::new(Status::not_found(group, resource, name))
    }
}

#[async_trait]
pub trait ObjectLister: Send + Sync + 'static {
    /// Returns an object of the stored version as the cache has it. An object that the cache lacks is read from the
    /// store, so `None` means that there is no such object.
    async fn object(&self, resource: Resource, namespace: &str, name: &str) -> Result<Option<Value>>;
}

/// The objects of stores.
pub struct StoredObjects {
    stores: HashMap<Resource, Arc<Store>>,
}

impl StoredObjects {
    /// `store` finds a store by the path of its keys. A resource without one has no objects.
    pub fn new(store: impl Fn(&str) -> Option<Arc<Store>>) -> StoredObjects {
        let found =
            Resource::ALL.into_iter().filter_map(|resource| Some((resource, store(resource.path())?)));
        StoredObjects { stores: found.collect() }
    }
}

#[async_trait]
impl ObjectLister for StoredObjects {
    async fn object(&self, resource: Resource, namespace: &str, name: &str) -> Result<Option<Value>> {
        let Some(store) = self.stores.get(&resource) else { return Ok(None) };
        let context = Context { namespace: namespace.into(), ..Context::default() };
        match store.cached_entry(&context, name).await.and_then(|entry| store.object(&entry)) {
            Ok(object) => Ok(Some(object)),
            Err(status) if status.reason == Reason::NotFound => Ok(None),
            Err(status) => Err(status),
        }
    }
}
