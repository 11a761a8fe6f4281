//! The resources of policies' parameters: built-in kinds by their stores, custom ones by their definitions.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use pintle_admission::{ParamKinds, ParamResource};
use pintle_discovery::GroupVersion;
use pintle_extensions::Definitions;
use pintle_meta::gvk::GroupVersionKind;
use pintle_registry::{Served, Store};

use crate::api_groups;
use crate::stores::Stores;

/// Finds the resource that serves a kind. Everything is weak: services and definitions have clients whose writes are admitted by the
/// plugins that have this.
pub(crate) struct PolicyParams {
    builtin: HashMap<GroupVersionKind, (Weak<Store>, Arc<dyn Served>)>,
    definitions: Weak<Definitions>,
}

impl PolicyParams {
    /// Returns those of the group versions that are served.
    pub(crate) fn new(
        stores: &Stores,
        served: &[GroupVersion],
        definitions: &Arc<Definitions>,
    ) -> PolicyParams {
        let mut builtin = HashMap::new();
        for version in stores.resources.versions() {
            let resources = version.resources.iter().filter(|resource| {
                resource.subresource.is_none() && api_groups::contains(served, version, resource)
            });
            for resource in resources {
                if let Some(client) = stores.client(version.group, version.version, resource.name)
                    && let Some(served) = stores.served(version.group, version.version, resource.name)
                {
                    let kind = served.kind().clone();
                    builtin.insert(kind, (Arc::downgrade(client.store()), served));
                }
            }
        }
        PolicyParams { builtin, definitions: Arc::downgrade(definitions) }
    }
}

#[async_trait]
impl ParamKinds for PolicyParams {
    async fn find(&self, kind: &GroupVersionKind) -> Option<ParamResource> {
        if let Some((store, served)) = self.builtin.get(kind) {
            return Some(ParamResource { store: store.upgrade()?, served: served.clone() });
        }
        let (store, served) = self.definitions.upgrade()?.find_kind(kind).await?;
        Some(ParamResource { store, served })
    }
}
