//! The resources that controllers of all kinds of objects look after: built-in ones and custom ones.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use pintle_meta::Status;
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};
use pintle_registry::Result;
use pintle_storage::{Backend, RangeRequest};

/// A resource that is served, in one of its versions.
#[derive(Clone)]
pub struct CatalogResource {
    pub resource: GroupVersionResource,
    pub kind: String,
    pub is_namespaced: bool,
    pub verbs: CatalogVerbs,
    /// Where its objects are stored; `None` where another server has them.
    pub stored: Option<ObjectKeys>,
}

/// The verbs that decide how the objects of a resource can be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogVerbs {
    pub list: bool,
    pub delete: bool,
    pub delete_collection: bool,
}

impl CatalogVerbs {
    /// Makes them of the verbs that discovery has of a resource.
    pub fn of(verbs: &[impl AsRef<str>]) -> CatalogVerbs {
        let has = |verb: &str| verbs.iter().any(|known| known.as_ref() == verb);
        CatalogVerbs { list: has("list"), delete: has("delete"), delete_collection: has("deletecollection") }
    }
}

/// The keys of a resource in its store.
#[derive(Clone)]
pub struct ObjectKeys {
    pub backend: Arc<dyn Backend>,
    /// Ends with a slash.
    pub prefix: Bytes,
}

impl ObjectKeys {
    /// Returns whether there is no object in a namespace, or none at all if that is empty. Reads a single key.
    pub async fn is_empty(&self, namespace: &str) -> Result<bool> {
        let prefix = match namespace {
            "" => self.prefix.clone(),
            namespace => [&self.prefix, namespace.as_bytes(), b"/"].concat().into(),
        };
        let request = RangeRequest { prefix, limit: 1, ..RangeRequest::default() };
        let range = self.backend.range(request).await;
        Ok(range.map_err(Status::internal)?.kvs.is_empty())
    }
}

/// The resources of all servers behind this one.
#[derive(Clone, Default)]
pub struct CatalogSnapshot {
    pub resources: Vec<CatalogResource>,
    /// Group versions whose resources could not be found out, with the reason.
    pub failures: Vec<(String, String)>,
}

/// Lists resources.
#[async_trait]
pub trait Catalog: Send + Sync + 'static {
    /// Returns every resource that is served now, each in the version that discovery prefers.
    async fn snapshot(&self) -> CatalogSnapshot;

    /// Returns the resource of a kind in exactly this version, and whether it is namespaced.
    async fn resource_of(&self, kind: &GroupVersionKind) -> Option<(GroupVersionResource, bool)>;
}
