//! Conversion of admitted objects between the storage version and served versions.

use std::sync::Arc;

use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};
use pintle_meta::{Status, Value};
use pintle_patch::typed::TypeRef;
use pintle_registry::Served;

use crate::Result;

/// A resource under which the objects of a request are served, and their kind there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivalent {
    pub resource: GroupVersionResource,
    pub kind: GroupVersionKind,
}

/// Converts the objects of one resource. Implemented by the control plane; webhooks and policies match and see objects in the
/// version of their rules (`matchPolicy: Equivalent`).
///
/// Conversion may take long, or wait for a conversion webhook: it is called in [`pintle_work::run`].
pub trait ObjectConversion: Send + Sync + 'static {
    /// Returns an object of the storage version in the version of `kind`. Errors if the resource is not served in it.
    fn to_version(&self, object: Value, kind: &GroupVersionKind) -> Result<Value>;

    /// Returns an object of the version of `kind` in the storage version, with its defaults. Errors as
    /// [`ObjectConversion::to_version`] does.
    fn to_storage(&self, object: Value, kind: &GroupVersionKind) -> Result<Value>;

    /// Reads the JSON of an object of the version of `kind`, without defaults; unknown fields are dropped. The error is of the
    /// decoder, as a client sees it after `Internal error occurred: `.
    fn parse(&self, text: &[u8], kind: &GroupVersionKind) -> std::result::Result<Value, String>;

    /// As [`ObjectConversion::parse`], but unknown and duplicate fields of built-in kinds are an error.
    fn parse_strictly(&self, text: &[u8], kind: &GroupVersionKind) -> std::result::Result<Value, String> {
        self.parse(text, kind)
    }

    /// Returns the type by which apply configurations of a kind are merged; `None` if the resource is not served in it.
    fn managed_type(&self, kind: &GroupVersionKind) -> Option<TypeRef<'_>>;

    /// Returns the resources that [`ObjectConversion::to_version`] knows, that of the request among them, in the order in which
    /// rules are compared with them.
    fn equivalents(&self) -> &[Equivalent];
}

/// The served versions of a resource.
pub struct ServedVersions {
    versions: Vec<Arc<dyn Served>>,
    equivalents: Vec<Equivalent>,
}

impl ServedVersions {
    pub fn new(
        versions: impl IntoIterator<Item = (GroupVersionResource, Arc<dyn Served>)>,
    ) -> ServedVersions {
        let (equivalents, versions) = versions
            .into_iter()
            .map(|(resource, served)| (Equivalent { resource, kind: served.kind().clone() }, served))
            .unzip();
        ServedVersions { versions, equivalents }
    }

    fn find(&self, kind: &GroupVersionKind) -> Result<&dyn Served> {
        let found = self.versions.iter().find(|served| served.kind() == kind);
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
        self.find(kind)?.to_stored(object).map_err(|error| Box::new(Status::internal(error)))
    }

    fn parse(&self, text: &[u8], kind: &GroupVersionKind) -> std::result::Result<Value, String> {
        let served = self.find(kind).map_err(|status| status.message)?;
        Ok(served.parse(text)?.object)
    }

    fn parse_strictly(&self, text: &[u8], kind: &GroupVersionKind) -> std::result::Result<Value, String> {
        let served = self.find(kind).map_err(|status| status.message)?;
        let received = served.parse(text)?;
        if received.strict.is_empty() {
            Ok(received.object)
        } else {
            Err(format!("strict decoding error: {}", received.strict.join(", ")))
        }
    }

    fn managed_type(&self, kind: &GroupVersionKind) -> Option<TypeRef<'_>> {
        Some(self.find(kind).ok()?.managed_type())
    }

    fn equivalents(&self) -> &[Equivalent] {
        &self.equivalents
    }
}
