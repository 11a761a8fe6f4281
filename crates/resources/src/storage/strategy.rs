//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_features::Feature;
use pintle_meta::field_path::Path;
use pintle_meta::{Value, Warnings};
use pintle_registry::Strategy;

use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find, labels, tree};

const TABLE: &[Entry] = &[
    Entry {
        name: "csidrivers",
        kind: "storage/v1.CSIDriver",
        rules: Rules {
            on_create: |settings, _, driver| drop_scaling(settings, driver, None),
            on_update: |settings, _, driver, old| {
                drop_scaling(settings, driver, Some(old));
                // Drivers are counted although the first is not.
                if !tree::is_same(driver, old, &["spec"]) {
                    tree::set(driver, &["metadata", "generation"], old.generation() + 1);
                }
            },
            warnings: token_requests,
            ..RETURNED
        },
    },
    Entry {
        name: "csinodes",
        kind: "storage/v1.CSINode",
        rules: Rules { recheck: MetadataRecheck::Full, ..RETURNED },
    },
    Entry {
        name: "csistoragecapacities",
        kind: "storage/v1.CSIStorageCapacity",
        rules: Rules {
            recheck: MetadataRecheck::Both,
            warnings: |_, capacity, _| {
                let selector = capacity.get("nodeTopology").unwrap_or(&Value::NULL);
                labels::in_selector(selector, &Path::new("nodeTopology"))
            },
            ..Rules::NAMESPACED
        },
    },
    Entry {
        name: "storageclasses",
        kind: "storage/v1.StorageClass",
        rules: Rules { warnings: |_, class, _| topologies(class), ..CLASSES },
    },
    Entry { name: "volumeattachments", kind: "storage/v1.VolumeAttachment", rules: ATTACHMENTS },
    Entry {
        name: "volumeattachments/status",
        kind: "storage/v1.VolumeAttachment",
        rules: Rules { recheck: MetadataRecheck::Full, ..ATTACHMENTS.of_status_alone() },
    },
    Entry { name: "volumeattributesclasses", kind: "storage/v1.VolumeAttributesClass", rules: CLASSES },
];

const RETURNED: Rules = Rules { returns_deleted_object: true, ..Rules::CLUSTER };
const CLASSES: Rules = Rules { recheck: MetadataRecheck::Both, unconditional_update: true, ..RETURNED };
const ATTACHMENTS: Rules = Rules { recheck: MetadataRecheck::Full, ..RETURNED.with_status() };

/// Where limits of volumes don't scale, what is for that stays only where it is already.
fn drop_scaling(settings: &Settings, driver: &mut Value, old: Option<&Value>) {
    const FIELD: tree::Path = &["spec", "preventPodSchedulingIfMissing"];
    if !settings.features.enabled(Feature::VolumeLimitScaling)
        && old.is_none_or(|old| old.at(FIELD).is_none())
    {
        tree::remove(driver, FIELD);
    }
}

/// A driver that is given tokens should say whether it finds them where they are not logged.
fn token_requests(_: &Settings, driver: &Value, old: Option<&Value>) -> Vec<String> {
    const REQUESTS: tree::Path = &["spec", "tokenRequests"];
    let changed = old.is_none_or(|old| !tree::is_same(driver, old, REQUESTS));
    let unset = driver.at(&["spec", "serviceAccountTokenInSecrets"]).is_none();
    if !changed || !unset || driver.items_at(REQUESTS).is_empty() {
        return Vec::new();
    }
    let why = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible \
               logging of tokens in volume attributes";
    vec![why.into()]
}

fn topologies(class: &Value) -> Vec<String> {
    let path = Path::new("allowedTopologies");
    let mut warnings = Warnings::new();
    for (i, topology) in class.items_at(&["allowedTopologies"]).iter().enumerate() {
        let topology_path = path.index(i);
        let expressions = topology_path.child("matchLabelExpressions");
        for (j, expression) in topology.items_at(&["matchLabelExpressions"]).iter().enumerate() {
            if let Some(why) = labels::deprecated(expression.text_at(&["key"])) {
                warnings.push(format!("{}: {why}", expressions.index(j).child("key")));
            }
        }
        if warnings.is_full() {
            break;
        }
    }
    warnings.into_texts()
}

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
