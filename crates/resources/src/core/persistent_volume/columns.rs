//! The columns of `PersistentVolume` and `PersistentVolumeClaim`.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, NAME, cell, text, wide};

pub(in crate::core) static PERSISTENT_VOLUME: Columns = Columns::new(
    "core/v1.PersistentVolume",
    &[
        NAME,
        text("Capacity", doc::PERSISTENT_VOLUME_SPEC_CAPACITY),
        text("Access Modes", doc::PERSISTENT_VOLUME_SPEC_ACCESS_MODES),
        text("Reclaim Policy", doc::PERSISTENT_VOLUME_SPEC_PERSISTENT_VOLUME_RECLAIM_POLICY),
        text("Status", doc::PERSISTENT_VOLUME_STATUS_PHASE),
        text("Claim", doc::PERSISTENT_VOLUME_SPEC_CLAIM_REF),
        text("StorageClass", "StorageClass of the pv"),
        text("VolumeAttributesClass", "VolumeAttributesClass of the pv"),
        text("Reason", doc::PERSISTENT_VOLUME_STATUS_REASON),
        AGE,
        wide(text("VolumeMode", doc::PERSISTENT_VOLUME_SPEC_VOLUME_MODE)),
    ],
    |object, context, cells| {
        let claim = if cell::has(object, &["spec", "claimRef"]) {
            let of = |field| object.text_at(&["spec", "claimRef", field]);
            format!("{}/{}", of("namespace"), of("name"))
        } else {
            String::new()
        };
        cells.extend([
            cell::name(object),
            cell::quantity(object, &["spec", "capacity", "storage"]).into(),
            access_modes(object, &["spec", "accessModes"]).into(),
            cell::text(object, &["spec", "persistentVolumeReclaimPolicy"]),
            phase(object),
            claim.into(),
            class(object),
            cell::text_or(object, &["spec", "volumeAttributesClassName"], cell::UNSET),
            cell::text(object, &["status", "reason"]),
            context.age(object),
            cell::text_or(object, &["spec", "volumeMode"], cell::UNSET),
        ]);
    },
);

pub(in crate::core) static PERSISTENT_VOLUME_CLAIM: Columns = Columns::new(
    "core/v1.PersistentVolumeClaim",
    &[
        NAME,
        text("Status", doc::PERSISTENT_VOLUME_CLAIM_STATUS_PHASE),
        text("Volume", doc::PERSISTENT_VOLUME_CLAIM_SPEC_VOLUME_NAME),
        text("Capacity", doc::PERSISTENT_VOLUME_CLAIM_STATUS_CAPACITY),
        text("Access Modes", doc::PERSISTENT_VOLUME_CLAIM_STATUS_ACCESS_MODES),
        text("StorageClass", "StorageClass of the pvc"),
        text("VolumeAttributesClass", "VolumeAttributesClass of the pvc"),
        AGE,
        wide(text("VolumeMode", doc::PERSISTENT_VOLUME_CLAIM_SPEC_VOLUME_MODE)),
    ],
    |object, context, cells| {
        let (mut capacity, mut modes) = (String::new(), String::new());
        if !object.text_at(&["spec", "volumeName"]).is_empty() {
            capacity = cell::quantity(object, &["status", "capacity", "storage"]).into();
            modes = access_modes(object, &["status", "accessModes"]);
        }
        cells.extend([
            cell::name(object),
            phase(object),
            cell::text(object, &["spec", "volumeName"]),
            capacity.into(),
            modes.into(),
            class(object),
            cell::text_or(object, &["spec", "volumeAttributesClassName"], cell::UNSET),
            context.age(object),
            cell::text_or(object, &["spec", "volumeMode"], cell::UNSET),
        ]);
    },
);

fn phase(object: &Value) -> Value {
    match object.deletion_timestamp() {
        Some(_) => Value::literal("Terminating"),
        None => cell::text(object, &["status", "phase"]),
    }
}

/// The annotation is older than the field and still goes before it.
fn class(object: &Value) -> Value {
    match object.annotation("volume.beta.kubernetes.io/storage-class") {
        Some(class) => class.into(),
        None => cell::text(object, &["spec", "storageClassName"]),
    }
}

fn access_modes(object: &Value, path: &[&str]) -> String {
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let there = |mode: &str| cell::texts(object, path).any(|found| found == mode);
    let modes = short.iter().filter(|(mode, _)| there(mode)).map(|(_, short)| *short);
    modes.collect::<Vec<_>>().join(",")
}
