//! Volumes are of types that show a pod nothing of the host or of storage beyond its claims.

use std::collections::BTreeSet;

use pintle_meta::Value;

use super::pod::Pod;
use super::{Check, Violation, plural, quoted};

const ALLOWED: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// The types that messages name. A volume of several types is named by the first.
const FORBIDDEN: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

pub(super) const CHECK: Check = Check::restricted(&[(0, check)]);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let (mut names, mut types) = (Vec::new(), BTreeSet::new());
    for volume in pod.volumes() {
        let is_of = |kind: &&str| volume.get(kind).is_some_and(|source| !source.is_null());
        if !ALLOWED.iter().any(is_of) {
            names.push(name(volume));
            types.insert(FORBIDDEN.into_iter().find(is_of).unwrap_or("unknown"));
        }
    }
    (!names.is_empty()).then(|| {
        let volumes = plural(names.len(), "volume", "volumes");
        let use_ = plural(names.len(), "uses", "use");
        let what = plural(types.len(), "restricted volume type", "restricted volume types");
        Violation {
            reason: "restricted volume types",
            detail: format!("{volumes} {} {use_} {what} {}", quoted(&names), quoted(&types)),
        }
    })
}

fn name(volume: &Value) -> &str {
    volume.text_at(&["name"])
}
