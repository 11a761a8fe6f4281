//! Defaults of storage classes and CSI drivers.

use pintle_meta::Value;

use crate::defaults::Fill::Text;
use crate::defaults::{Place, Rule};

pub(crate) const RULES: &[Rule] = &[
    Rule::table(
        &["storage/v1.StorageClass", "storage/v1beta1.StorageClass"],
        &[("reclaimPolicy", Text("Delete")), ("volumeBindingMode", Text("Immediate"))],
    ),
    Rule::code(&["storage/v1.CSIDriver"], |driver| {
        csi_driver(driver);
        if driver.gates().volume_limit_scaling {
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
