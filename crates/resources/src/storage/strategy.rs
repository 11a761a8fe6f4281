//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use super::csi_driver::DRIVERS;
use super::csi_node::CSI_NODES;
use super::csi_storage_capacity::CAPACITIES;
use super::storage_class::STORAGE_CLASSES;
use super::volume_attachment::{ATTACHMENT_STATUS, ATTACHMENTS};
use super::volume_attributes_class::VOLUME_ATTRIBUTES_CLASSES;
use crate::framework::strategy::{Entry, Rules, Settings, find};

const TABLE: &[Entry] = &[
    Entry { name: "csidrivers", kind: "storage/v1.CSIDriver", rules: DRIVERS },
    Entry { name: "csinodes", kind: "storage/v1.CSINode", rules: CSI_NODES },
    Entry { name: "csistoragecapacities", kind: "storage/v1.CSIStorageCapacity", rules: CAPACITIES },
    Entry { name: "storageclasses", kind: "storage/v1.StorageClass", rules: STORAGE_CLASSES },
    Entry { name: "volumeattachments", kind: "storage/v1.VolumeAttachment", rules: ATTACHMENTS },
    Entry { name: "volumeattachments/status", kind: "storage/v1.VolumeAttachment", rules: ATTACHMENT_STATUS },
    Entry {
        name: "volumeattributesclasses",
        kind: "storage/v1.VolumeAttributesClass",
        rules: VOLUME_ATTRIBUTES_CLASSES,
    },
];

pub(super) const RETURNED: Rules = Rules { returns_deleted_object: true, ..Rules::CLUSTER };
pub(super) const CLASSES: Rules = Rules { unconditional_update: true, ..RETURNED };

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{of, text, warnings};

    const GROUP: &str = "storage.k8s.io";

    #[test]
    fn a_driver_is_counted_from_nothing() {
        let drivers = of(GROUP, "csidrivers");
        let plain = r#"{"metadata":{"name":"a"},"spec":{"attachRequired":true}}"#;
        let gated = r#"{"metadata":{"name":"a"},"spec":{"attachRequired":true,"preventPodSchedulingIfMissing":true}}"#;
        assert_eq!(text(&drivers.created(gated)), plain);
        assert_eq!(text(&drivers.updated(gated, plain)), plain);
        let changed = r#"{"metadata":{"name":"a"},"spec":{"attachRequired":false}}"#;
        assert_eq!(drivers.updated(changed, plain).generation(), 1);
        assert!(drivers.strategy.returns_deleted_object() && !drivers.strategy.allows_unconditional_update());
    }

    #[test]
    fn tokens_that_may_be_logged_are_warned_of_when_they_are_asked_for() {
        let drivers = of(GROUP, "csidrivers");
        let asks = r#"{"metadata":{"name":"a"},"spec":{"tokenRequests":[{"audience":"a"}]}}"#;
        assert_eq!(warnings(&drivers, asks, None).len(), 1);
        assert_eq!(warnings(&drivers, asks, Some(r#"{"metadata":{"name":"a"}}"#)).len(), 1);
        assert!(warnings(&drivers, asks, Some(asks)).is_empty());
        let knows = asks.replace("]}}", r#"],"serviceAccountTokenInSecrets":false}}"#);
        assert!(warnings(&drivers, &knows, None).is_empty());
    }

    #[test]
    fn labels_of_nodes_with_newer_names_are_warned_of() {
        let class = r#"{"metadata":{"name":"a"},"provisioner":"p","allowedTopologies":[{"matchLabelExpressions":[
            {"key":"x","values":[]},{"key":"failure-domain.beta.kubernetes.io/zone","values":["z"]}]}]}"#;
        assert_eq!(
            warnings(&of(GROUP, "storageclasses"), class, None),
            [
                r#"allowedTopologies[0].matchLabelExpressions[1].key: deprecated since v1.17; use "topology.kubernetes.io/zone" instead"#
            ]
        );
        let capacity = r#"{"metadata":{"name":"a"},"storageClassName":"s","nodeTopology":{
            "matchLabels":{"beta.kubernetes.io/arch":"x"},"matchExpressions":[{"key":"beta.kubernetes.io/os","operator":"Exists"}]}}"#;
        assert_eq!(
            warnings(&of(GROUP, "csistoragecapacities"), capacity, Some(capacity)),
            [
                r#"nodeTopology.matchExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead"#,
                r#"nodeTopology.matchLabels.beta.kubernetes.io/arch: deprecated since v1.14; use "kubernetes.io/arch" instead"#,
            ]
        );
    }
}
