//! The resources of kinds: those of served built-in group versions, and of definitions.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use pintle_admission::{RestMapper, RestMapping, maps_to};
use pintle_discovery::GroupVersion;
use pintle_extensions::Definitions;
use pintle_meta::gvk::GroupVersionKind;

/// Finds resources among those that discovery shows.
pub(crate) struct ServedKinds {
    builtin: Vec<GroupVersion>,
    /// Not kept alive by admission, which custom resources pass too.
    definitions: Weak<Definitions>,
}

impl ServedKinds {
    pub(crate) fn new(builtin: &[GroupVersion], definitions: &Arc<Definitions>) -> ServedKinds {
        ServedKinds { builtin: builtin.to_vec(), definitions: Arc::downgrade(definitions) }
    }
}

#[async_trait]
impl RestMapper for ServedKinds {
    async fn mapping(&self, kind: &GroupVersionKind) -> Option<RestMapping> {
        let mut versions = self.builtin.iter();
        let version = versions.find(|known| known.group == kind.group && known.version == kind.version);
        let builtin = version.and_then(|version| {
            let mut resources = version.resources.iter();
            let found = resources.find(|resource| maps_to(&kind.kind, &resource.kind.name))?;
            Some((found.name.to_string(), found.namespaced))
        });
        let (name, namespaced) = match builtin {
            Some(found) => found,
            None => {
                let is_kind = |known: &str| maps_to(&kind.kind, known);
                self.definitions.upgrade()?.resource_of_kind(&kind.group_version(), is_kind).await?
            }
        };
        Some(RestMapping { resource: kind.group_version().with_resource(name), namespaced })
    }
}
