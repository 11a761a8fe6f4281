//! `OwnerReferencesPermissionEnforcement`: permissions for changes of owner references.
//!
//! A user who changes the owners of an object could have it deleted, so must be allowed to delete it. A reference with
//! `blockOwnerDeletion` keeps its owner from being deleted in the foreground, so needs the permission to update
//! the finalizers of the owner.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::Authorizer;
use pintle_auth::authorizer::{Attributes as AccessAttributes, Verdict};
use pintle_meta::Value;
use pintle_meta::gvk::GroupVersion;
use pintle_meta::quote;

use super::pods::is_write;
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::plugin::Plugin;
use crate::rest_mapper::RestMapper;

pub(crate) struct OwnerReferencesPermissionEnforcement {
    authorizer: Arc<dyn Authorizer>,
    mapper: Arc<dyn RestMapper>,
}

impl OwnerReferencesPermissionEnforcement {
    pub(crate) fn new(cluster: &Cluster) -> OwnerReferencesPermissionEnforcement {
        OwnerReferencesPermissionEnforcement {
            authorizer: cluster.authorizer.clone(),
            mapper: cluster.rest_mapper.clone(),
        }
    }

    /// Checks that the user may delete the object.
    async fn check_deletion(&self, attributes: &Attributes<'_>) -> Result<()> {
        let Target { resource, subresource, .. } = attributes.target();
        let deletion = AccessAttributes {
            namespace: attributes.namespace(),
            version: &resource.version,
            subresource,
            name: attributes.name(),
            ..AccessAttributes::of_resource(
                &attributes.request.user,
                "delete",
                &resource.group,
                &resource.resource,
            )
        };
        let verdict = self.authorizer.authorize(&deletion).await;
        if verdict.is_allowed() {
            return Ok(());
        }
        let why = format!("cannot set an ownerRef on a resource you can't delete: {}", shown(&verdict));
        Err(attributes.forbidden(&why))
    }

    /// Reports whether the user may update the finalizers of anything, which needs no search for the owners' resources.
    async fn may_finalize_anything(&self, attributes: &Attributes<'_>) -> bool {
        let anything = AccessAttributes {
            version: "*",
            subresource: "finalizers",
            name: "*",
            ..AccessAttributes::of_resource(&attributes.request.user, "update", "*", "*")
        };
        self.authorizer.authorize(&anything).await.is_allowed()
    }

    /// Checks that the user may update the finalizers of an owner.
    async fn check_finalizers(&self, attributes: &Attributes<'_>, owner: &Value) -> Result<()> {
        let (api_version, kind) = (owner.text_at(&["apiVersion"]), owner.text_at(&["kind"]));
        let unknown = |why: String| {
            attributes.forbidden(&format!(
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {api_version} Kind \
                 {kind}: {why}"
            ))
        };
        let version = GroupVersion::parse(api_version).map_err(unknown)?;
        let mapping = self.mapper.mapping(&version.with_kind(kind)).await;
        let mapping = mapping.ok_or_else(|| {
            unknown(format!("no matches for kind {} in version {}", quote(kind), quote(api_version)))
        })?;
        let finalizers = AccessAttributes {
            // An owner in a namespace is in that of the object.
            namespace: if mapping.namespaced { attributes.namespace() } else { "" },
            version: &mapping.resource.version,
            subresource: "finalizers",
            name: owner.text_at(&["name"]),
            ..AccessAttributes::of_resource(
                &attributes.request.user,
                "update",
                &mapping.resource.group,
                &mapping.resource.resource,
            )
        };
        let verdict = self.authorizer.authorize(&finalizers).await;
        if verdict.is_allowed() {
            return Ok(());
        }
        Err(attributes.forbidden(&format!(
            "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: {}",
            shown(&verdict)
        )))
    }
}

#[async_trait]
impl Plugin for OwnerReferencesPermissionEnforcement {
    fn name(&self) -> &'static str {
        "OwnerReferencesPermissionEnforcement"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        // The status of pods never changes owners, and old kubelets send them wrong.
        let is_pod_status = target.subresource == "status"
            && target.resource.group.is_empty()
            && target.resource.resource == "pods";
        is_write(operation) && !is_pod_status
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let new = attributes.object().map_or(&[][..], Value::owner_references);
        let old = attributes.old_object().map_or(&[][..], Value::owner_references);
        if new == old {
            return Ok(());
        }
        // A user who creates an object could as well not create it.
        if attributes.operation != Operation::Create {
            self.check_deletion(attributes).await?;
        }
        let was_blocking =
            |owner: &Value| old.iter().rfind(|old| uid(old) == uid(owner)).is_some_and(is_blocking);
        let blocking: Vec<&Value> =
            new.iter().filter(|owner| is_blocking(owner) && !was_blocking(owner)).collect();
        if blocking.is_empty() || self.may_finalize_anything(attributes).await {
            return Ok(());
        }
        for owner in blocking {
            self.check_finalizers(attributes, owner).await?;
        }
        Ok(())
    }
}

fn uid(owner: &Value) -> &str {
    owner.text_at(&["uid"])
}

fn is_blocking(owner: &Value) -> bool {
    owner.get("blockOwnerDeletion").and_then(Value::as_bool).unwrap_or_default()
}

/// Returns the reason and the error of a verdict, as Go prints them.
fn shown(verdict: &Verdict) -> String {
    format!("{}, {}", verdict.reason, verdict.error.as_deref().unwrap_or("<nil>"))
}

#[cfg(test)]
#[path = "owner_references_permission_enforcement_tests.rs"]
mod tests;
