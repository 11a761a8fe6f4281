//! Conversion of admitted objects between the storage version and served versions.

use std::sync::Arc;

use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::{Status, Value};
use pintle_registry::Served;

use crate::Result;

/// Converts the objects of one resource. Implemented by the control plane; webhooks and policies match and see objects in the
/// version of their rules (`matchPolicy: Equivalent`).
pub trait ObjectConversion: Send + Sync + 'static {
    /// Returns an object of the storage version in the version of `kind`. Errors if the resource is not served in it.
    fn to_version(&self, object: Value, kind: &GroupVersionKind) -> Result<Value>;

    /// Returns an object of the version of `kind` in the storage version, with its defaults. Errors as
    /// [`ObjectConversion::to_version`] does.
    fn to_storage(&self, object: Value, kind: &GroupVersionKind) -> Result<Value>;

    /// Returns the kinds that [`ObjectConversion::to_version`] knows, one for each served version.
    fn kinds(&self) -> Vec<GroupVersionKind>;
}

/// The served versions of a resource.
pub struct ServedVersions(Vec<Arc<dyn Served>>);

impl ServedVersions {
    pub fn new(versions: impl IntoIterator<Item = Arc<dyn Served>>) -> ServedVersions {
        ServedVersions(versions.into_iter().collect())
    }

    fn find(&self, kind: &GroupVersionKind) -> Result<&dyn Served> {
        let found = self.0.iter().find(|served| served.kind() == kind);
        let (group_version, name) = (kind.api_version(), &kind.kind);
        let missing =
            || Box::new(Status::internal(format_args!("{group_version} {name} is not served here")));
        found.map(|served| &**served).ok_or_else(missing)
    }
}

impl ObjectConversion for ServedVersions {
    fn to_version(&self, object: Value, kind: &GroupVersionKind) -> Result<Value> {
        self.find(kind)?.to_served(object)
    }

    fn to_storage(&self, object: Value, kind: &GroupVersionKind) -> Result<Value> {
        self.find(kind)?.to_stored(object)
    }

    fn kinds(&self) -> Vec<GroupVersionKind> {
        self.0.iter().map(|served| served.kind().clone()).collect()
    }
}
