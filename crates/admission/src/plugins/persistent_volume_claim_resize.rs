//! `PersistentVolumeClaimResize`: lets bound claims grow where their storage class allows it.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::Value;
use pintle_meta::quantity::Quantity;

use super::default_storage_class::class_of;
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::objects::{ObjectLister, Resource};
use crate::plugin::Plugin;

pub(crate) struct PersistentVolumeClaimResize {
    objects: Arc<dyn ObjectLister>,
}

impl PersistentVolumeClaimResize {
    pub(crate) fn new(cluster: &Cluster) -> PersistentVolumeClaimResize {
        PersistentVolumeClaimResize { objects: cluster.objects.clone() }
    }

    /// Returns whether the class of a claim, which an update must not change, lets volumes grow. A class that is missing or
    /// cannot be read does not.
    async fn allows_growth(&self, new: &Value, old: &Value) -> bool {
        let class = class_of(new).unwrap_or_default();
        if class.is_empty() || class_of(old) != Some(class) {
            return false;
        }
        let class = self.objects.object(Resource::StorageClass, "", class).await.ok().flatten();
        let allowed = class.as_ref().and_then(|class| class.get("allowVolumeExpansion"));
        allowed.and_then(Value::as_bool).unwrap_or(false)
    }
}

#[async_trait]
impl Plugin for PersistentVolumeClaimResize {
    fn name(&self) -> &'static str {
        "PersistentVolumeClaimResize"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Update
            && target.subresource.is_empty()
            && target.resource.group.is_empty()
            && target.resource.resource == "persistentvolumeclaims"
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let (Some(new), Some(old)) = (attributes.object(), attributes.old_object()) else { return Ok(()) };
        if size(new) <= size(old) {
            return Ok(());
        }
        if old.text_at(&["status", "phase"]) != "Bound" {
            return Err(attributes.forbidden("Only bound persistent volume claims can be expanded"));
        }
        if !self.allows_growth(new, old).await {
            return Err(attributes.forbidden(
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support \
                 resize",
            ));
        }
        Ok(())
    }
}

/// Returns the storage that a claim requests; zero if it requests none.
fn size(claim: &Value) -> Quantity {
    let text = claim.text_at(&["spec", "resources", "requests", "storage"]);
    Quantity::parse(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestCluster, target, update};

    const UNBOUND: &str = "Only bound persistent volume claims can be expanded";
    const FIXED: &str = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must \
                         support resize";

    fn claim(class: &str, size: &str, phase: &str) -> String {
        let (metadata, spec) = match class.strip_prefix('@') {
            Some(class) => (
                format!(r#","annotations":{{"volume.beta.kubernetes.io/storage-class":"{class}"}}"#),
                String::new(),
            ),
            None if class == "-" => (String::new(), String::new()),
            None => (String::new(), format!(r#","storageClassName":"{class}""#)),
        };
        let requests =
            if size.is_empty() { String::new() } else { format!(r#""requests":{{"storage":"{size}"}}"#) };
        format!(
            r#"{{"metadata":{{"name":"c"{metadata}}},"spec":{{"resources":{{{requests}}}{spec}}},"status":{{"phase":"{phase}"}}}}"#
        )
    }

    #[tokio::test]
    async fn bound_claims_grow_where_their_class_allows_it() {
        let cluster = TestCluster::new().await;
        for (name, rest) in [
            ("elastic", r#","allowVolumeExpansion":true"#),
            ("also", r#","allowVolumeExpansion":true"#),
            ("fixed", r#","allowVolumeExpansion":false"#),
            ("silent", ""),
        ] {
            cluster
                .put(Resource::StorageClass, &format!(r#"{{"metadata":{{"name":"{name}"}}{rest}}}"#))
                .await;
        }
        let plugin = PersistentVolumeClaimResize::new(&cluster.cluster);
        for (old, new, expected) in [
            (("elastic", "1Gi", "Bound"), ("elastic", "2Gi"), None),
            (("@elastic", "1Gi", "Bound"), ("@elastic", "2Gi"), None),
            (("@elastic", "1Gi", "Bound"), ("elastic", "2Gi"), None),
            (("elastic", "", "Bound"), ("elastic", "2Gi"), None),
            // Sizes are compared as amounts, and the phase that is stored decides.
            (("elastic", "1Gi", "Bound"), ("elastic", "1100M"), None),
            (("fixed", "1Gi", "Pending"), ("fixed", "1024Mi"), None),
            (("fixed", "1Gi", "Pending"), ("fixed", "1000M"), None),
            (("fixed", "1Gi", "Pending"), ("fixed", ""), None),
            (("elastic", "1Gi", "Pending"), ("elastic", "2Gi"), Some(UNBOUND)),
            (("elastic", "1Gi", "Lost"), ("elastic", "2Gi"), Some(UNBOUND)),
            (("elastic", "1Gi", ""), ("none", "2Gi"), Some(UNBOUND)),
            (("fixed", "1Gi", "Bound"), ("fixed", "2Gi"), Some(FIXED)),
            (("silent", "1Gi", "Bound"), ("silent", "2Gi"), Some(FIXED)),
            (("none", "1Gi", "Bound"), ("none", "2Gi"), Some(FIXED)),
            (("elastic", "1Gi", "Bound"), ("also", "2Gi"), Some(FIXED)),
            (("", "1Gi", "Bound"), ("", "2Gi"), Some(FIXED)),
            (("-", "1Gi", "Bound"), ("-", "2Gi"), Some(FIXED)),
            (("-", "1Gi", "Bound"), ("elastic", "2Gi"), Some(FIXED)),
            (("@", "1Gi", "Bound"), ("@", "2Gi"), Some(FIXED)),
        ] {
            let request = update("persistentvolumeclaims")
                .named("c")
                .old_json(&claim(old.0, old.1, old.2))
                .json(&claim(new.0, new.1, "Bound"));
            assert_eq!(request.run(&plugin).await.why().as_deref(), expected, "{old:?} {new:?}");
        }
    }

    #[tokio::test]
    async fn only_updates_of_claims_are_handled() {
        let plugin = PersistentVolumeClaimResize::new(&TestCluster::new().await.cluster);
        assert!(plugin.validates(Operation::Update, &target("persistentvolumeclaims")));
        assert!(!plugin.validates(Operation::Create, &target("persistentvolumeclaims")));
        for resource in ["persistentvolumeclaims/status", "persistentvolumes"] {
            assert!(!plugin.validates(Operation::Update, &target(resource)), "{resource}");
        }
    }
}
