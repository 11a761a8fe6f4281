//! The resources that controllers of all kinds of objects look after.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use bytes::Bytes;
use pintle_aggregator::RemoteCatalog;
use pintle_controllers::{Catalog, CatalogResource, CatalogSnapshot, CatalogVerbs, ObjectKeys};
use pintle_discovery::{GroupVersion, Resource};
use pintle_extensions::Definitions;
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};

use crate::stores::Stores;

/// The resources that this server serves, and those of other servers.
pub(crate) struct ServerCatalog {
    builtin: Vec<BuiltinResource>,
    definitions: Weak<Definitions>,
    remote: RemoteCatalog,
}

/// A built-in resource of one version.
struct BuiltinResource {
    resource: CatalogResource,
    /// Whether this is the version of its objects that discovery prefers.
    is_preferred: bool,
}

impl ServerCatalog {
    pub(crate) fn new(
        stores: &Stores,
        served: &[GroupVersion],
        definitions: &Arc<Definitions>,
        remote: RemoteCatalog,
    ) -> ServerCatalog {
        let mut builtin: Vec<BuiltinResource> = Vec::new();
        for version in served {
            for resource in &version.resources {
                let Some(resource) = builtin_resource(stores, version, resource) else { continue };
                let prefix = |known: &CatalogResource| known.stored.as_ref().map(|keys| keys.prefix.clone());
                let is_preferred = !builtin.iter().any(|known| prefix(&known.resource) == prefix(&resource));
                builtin.push(BuiltinResource { resource, is_preferred });
            }
        }
        ServerCatalog { builtin, definitions: Arc::downgrade(definitions), remote }
    }
}

/// Returns a resource as the catalog shows it; `None` for one that stores no objects.
fn builtin_resource(stores: &Stores, version: &GroupVersion, resource: &Resource) -> Option<CatalogResource> {
    let path = stores.resources.find(&version.group, &version.version, &resource.name)?.storage?.path;
    let store = stores.store(path)?;
    Some(CatalogResource {
        resource: GroupVersionResource::new(&*version.group, &*version.version, &*resource.name),
        kind: resource.kind.name.to_string(),
        is_namespaced: resource.namespaced,
        verbs: CatalogVerbs::of(&resource.verbs),
        stored: Some(ObjectKeys {
            backend: store.config().backend.clone(),
            prefix: Bytes::clone(&store.config().prefix),
        }),
    })
}

#[async_trait]
impl Catalog for ServerCatalog {
    async fn snapshot(&self) -> CatalogSnapshot {
        let preferred = self.builtin.iter().filter(|known| known.is_preferred);
        let mut resources: Vec<_> = preferred.map(|known| known.resource.clone()).collect();
        if let Some(definitions) = self.definitions.upgrade() {
            resources.extend(definitions.served().await);
        }
        let (remote, failures) = self.remote.resources().await;
        resources.extend(remote);
        CatalogSnapshot { resources, failures }
    }

    async fn resource_of(&self, kind: &GroupVersionKind) -> Option<(GroupVersionResource, bool)> {
        let version = kind.group_version();
        let is_kind = |known: &CatalogResource| {
            known.kind == kind.kind
                && known.resource.group == kind.group
                && known.resource.version == kind.version
        };
        if let Some(found) = self.builtin.iter().map(|known| &known.resource).find(|known| is_kind(known)) {
            return Some((found.resource.clone(), found.is_namespaced));
        }
        if let Some((name, is_namespaced)) =
            self.remote.resource_of_kind(&version.group, &version.version, &kind.kind)
        {
            return Some((version.with_resource(name), is_namespaced));
        }
        let definitions = self.definitions.upgrade()?;
        let (name, is_namespaced) =
            definitions.resource_of_kind(&version, |known| known == kind.kind).await?;
        Some((version.with_resource(name), is_namespaced))
    }
}
