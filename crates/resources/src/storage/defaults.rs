//! Defaults of storage classes and CSI drivers.

use pintle_features::Feature;
use pintle_meta::Value;

use crate::framework::defaults::Fill::Text;
use crate::framework::defaults::{Place, Rule};

pub(crate) const RULES: &[Rule] = &[
    Rule::table(
        &["storage/v1.StorageClass", "storage/v1beta1.StorageClass"],
        &[("reclaimPolicy", Text("Delete")), ("volumeBindingMode", Text("Immediate"))],
    ),
    Rule::code(&["storage/v1.CSIDriver"], |driver| {
        csi_driver(driver);
        if driver.features().enabled(Feature::VolumeLimitScaling) {
            driver.within("spec", |spec| spec.default("preventPodSchedulingIfMissing", false));
        }
    }),
    Rule::code(&["storage/v1beta1.CSIDriver"], csi_driver),
];

fn csi_driver(driver: &mut Place<'_>) {
    driver.within("spec", |spec| {
        spec.default("attachRequired", true);
        spec.default("podInfoOnMount", false);
        spec.default("storageCapacity", false);
        spec.default("fsGroupPolicy", "ReadWriteOnceWithFSType");
        if spec.items("volumeLifecycleModes").is_empty() {
            spec.set("volumeLifecycleModes", vec![Value::literal("Persistent")]);
        }
        spec.default("requiresRepublish", false);
        spec.default("seLinuxMount", false);
    });
}

#[cfg(test)]
mod tests {
    use pintle_features::{Feature, Features};

    use crate::framework::defaults::Settings;
    use crate::framework::defaults::tests::{check, check_with};

    #[test]
    fn volumes_are_bound_at_once_and_deleted_after_use() {
        for version in ["v1", "v1beta1"] {
            let kind = format!("storage/{version}.StorageClass");
            check(
                &kind,
                r#"{"provisioner":"p"}"#,
                r#"{"metadata":{},"provisioner":"p","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"}"#,
            );
            let own = r#"{"metadata":{},"provisioner":"p","reclaimPolicy":"Retain","volumeBindingMode":"WaitForFirstConsumer"}"#;
            check(&kind, own, own);
        }
    }

    #[test]
    fn drivers_are_completed() {
        let expected = |more: &str| {
            format!(
                r#"{{"metadata":{{}},"spec":{{"attachRequired":true,"podInfoOnMount":false,"storageCapacity":false,
                    "fsGroupPolicy":"ReadWriteOnceWithFSType","volumeLifecycleModes":["Persistent"],
                    "requiresRepublish":false,"seLinuxMount":false{more}}}}}"#
            )
        };
        let features = Features::default().with(Feature::VolumeLimitScaling, true);
        let settings = Settings { features, ..Settings::default() };
        for version in ["v1", "v1beta1"] {
            check(&format!("storage/{version}.CSIDriver"), "{}", &expected(""));
        }
        check_with(
            &settings,
            "storage/v1.CSIDriver",
            "{}",
            &expected(r#","preventPodSchedulingIfMissing":false"#),
        );
        check_with(&settings, "storage/v1beta1.CSIDriver", "{}", &expected(""));
        let own = r#"{"metadata":{},"spec":{"attachRequired":false,"podInfoOnMount":true,"storageCapacity":true,
            "fsGroupPolicy":"None","volumeLifecycleModes":["Ephemeral"],"requiresRepublish":true,"seLinuxMount":true}}"#;
        check("storage/v1.CSIDriver", own, own);
    }

    #[test]
    fn inline_volumes_of_attachments_are_completed() {
        for version in ["v1", "v1beta1", "v1alpha1"] {
            let attachment = |volume: &str| {
                format!(
                    r#"{{"metadata":{{}},"spec":{{"attacher":"a","source":{{"inlineVolumeSpec":{volume}}},"nodeName":"n"}},
                        "status":{{"attached":false}}}}"#
                )
            };
            check(
                &format!("storage/{version}.VolumeAttachment"),
                &attachment(r#"{"capacity":{"storage":"1u"},"hostPath":{"path":"/"}}"#),
                // The volume's own policy and mode are not: there is no volume.
                &attachment(r#"{"capacity":{"storage":"1m"},"hostPath":{"path":"/","type":""}}"#),
            );
        }
    }
}
