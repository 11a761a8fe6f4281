//! Cases of volumes. The types of sources have theirs in `core::volume_sources`.

use pintle_features::Feature;

use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::with_settings;
use crate::framework::validation::testing::Base;

const BASE: &str = r#"{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},
    "hostPath":{"path":"/data"}}}"#;

const CSI: &str = r#"{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},
    "csi":{"driver":"d","volumeHandle":"h"}}}"#;

fn base() -> Base {
    Base::new("", "persistentvolumes", BASE)
}

fn csi() -> Base {
    Base::new("", "persistentvolumes", CSI)
}

#[test]
fn modes_and_capacity_are_given() {
    let modes = r#"supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod""#;
    let storage = r#"supported values: "storage""#;
    base().refuses(&[
        (&[("/spec/accessModes", "")], &["spec.accessModes: Required value"]),
        (
            &[("/spec/accessModes", r#"["Some"]"#)],
            &[&format!(r#"spec.accessModes: Unsupported value: "Some": {modes}"#)],
        ),
        (
            &[("/spec/capacity", "")],
            &[
                "spec.capacity: Required value",
                &format!("spec.capacity: Unsupported value: null: {storage}"),
            ],
        ),
        (
            &[("/spec/capacity/cpu", r#""1""#)],
            &[&format!(r#"spec.capacity: Unsupported value: {{"cpu":"1","storage":"1Gi"}}: {storage}"#)],
        ),
        (
            &[("/spec/capacity/storage", r#""-1""#)],
            &[
                "spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
                r#"spec.capacity[storage]: Invalid value: "-1": must be greater than zero"#,
            ],
        ),
        (
            &[("/spec/persistentVolumeReclaimPolicy", r#""Keep""#)],
            &[
                r#"spec.persistentVolumeReclaimPolicy: Unsupported value: "Keep": supported values: "Delete", "Recycle", "Retain""#,
            ],
        ),
        (
            &[("/spec/volumeMode", r#""File""#)],
            &[r#"spec.volumeMode: Unsupported value: "File": supported values: "Block", "Filesystem""#],
        ),
    ]);
}

#[test]
fn a_volume_has_one_source() {
    let one = "Forbidden: may not specify more than 1 volume type";
    base().refuses(&[
        (&[("/spec/hostPath", "")], &["spec: Required value: must specify a volume type"]),
        (&[("/spec/cephfs", r#"{"monitors":[]}"#)], &[&format!("spec.cephFS: {one}")]),
        (&[("/spec/gcePersistentDisk", r#"{"pdName":""}"#)], &[&format!("spec.gcePersistentDisk: {one}")]),
        (
            &[("/spec/hostPath", ""), ("/spec/gcePersistentDisk", r#"{"pdName":""}"#)],
            &["spec.persistentDisk.pdName: Required value"],
        ),
        // One type is checked beside others.
        (&[("/spec/flexVolume", r#"{"driver":""}"#)], &["spec.flexVolume.driver: Required value"]),
        (
            &[("/spec/hostPath/path", r#""/a/.././""#), ("/spec/persistentVolumeReclaimPolicy", r#""Recycle""#)],
            &[
                "spec.hostPath.path: Invalid value: \"/a/.././\": must not contain '..'",
                "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
            ],
        ),
        (
            &[("/spec/hostPath/path", r#""/""#), ("/spec/persistentVolumeReclaimPolicy", r#""Recycle""#)],
            &["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
        ),
    ]);
    base().accepts(&[&[("/spec/persistentVolumeReclaimPolicy", r#""Recycle""#)]]);
}

#[test]
fn every_type_of_source_is_checked() {
    let base = base();
    let empty = [
        ("awsElasticBlockStore", r#"{"volumeID":""}"#, "spec.awsElasticBlockStore.volumeID: Required value"),
        ("glusterfs", r#"{"endpoints":"","path":"p"}"#, "spec.glusterfs.endpoints: Required value"),
        ("nfs", r#"{"server":"","path":"/p"}"#, "spec.nfs.server: Required value"),
        ("rbd", r#"{"monitors":[],"image":"i"}"#, "spec.rbd.monitors: Required value"),
        ("cephfs", r#"{"monitors":[]}"#, "spec.cephfs.monitors: Required value"),
        ("cinder", r#"{"volumeID":""}"#, "spec.cinder.volumeID: Required value"),
        ("vsphereVolume", r#"{"volumePath":""}"#, "spec.vsphereVolume.volumePath: Required value"),
        ("photonPersistentDisk", r#"{"pdID":""}"#, "spec.photonPersistentDisk.pdID: Required value"),
        ("portworxVolume", r#"{"volumeID":""}"#, "spec.portworxVolume.volumeID: Required value"),
        ("csi", r#"{"driver":"d","volumeHandle":""}"#, "spec.csi.volumeHandle: Required value"),
    ];
    for (name, source, wrong) in empty {
        let path = format!("/spec/{name}");
        base.refuses(&[(&[("/spec/hostPath", ""), (&path, source)], &[wrong])]);
    }
    for name in ["flocker", "quobyte", "iscsi", "fc", "azureFile", "azureDisk", "scaleIO", "storageos"] {
        let path = format!("/spec/{name}");
        let changes: &[(&str, &str)] = &[("/spec/hostPath", ""), (&path, "{}")];
        if name == "storageos" {
            base.refuses(&[(
                &[("/spec/hostPath", ""), (&path, r#"{"secretRef":{}}"#)],
                &[
                    "spec.storageos.volumeName: Required value",
                    "spec.storageos.secretRef.name: Required value",
                    "spec.storageos.secretRef.namespace: Required value",
                ],
            )]);
            continue;
        }
        assert!(!base.create_errors(changes).is_empty(), "{name}");
    }
}

#[test]
fn local_volumes_are_on_certain_nodes() {
    let local = [("/spec/hostPath", ""), ("/spec/local", r#"{"path":"/data"}"#)];
    let needed = "spec.nodeAffinity: Required value: Local volume requires node affinity";
    base().refuses(&[
        (&local, &[needed]),
        (
            &[("/spec/nodeAffinity", "{}")],
            &["spec.nodeAffinity.required: Required value: must specify required node constraints"],
        ),
        (
            &[("/spec/nodeAffinity/required", r#"{"nodeSelectorTerms":[]}"#)],
            &[
                "spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term",
            ],
        ),
    ]);
    let terms = r#"{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}"#;
    base().accepts(&[&[local[0], local[1], ("/spec/nodeAffinity/required", terms)]]);
}

#[test]
fn classes_are_named() {
    let long = "a".repeat(254);
    let name = format!(r#""{long}""#);
    let class =
        format!(r#"spec.storageClassName: Invalid value: "{long}": must be no more than 253 characters"#);
    let attributes = format!(
        r#"spec.volumeAttributesClassName: Invalid value: "{long}": must be no more than 253 characters"#
    );
    csi().refuses(&[
        (&[("/spec/storageClassName", &name)], &[&class]),
        (&[("/spec/volumeAttributesClassName", &name)], &[&attributes]),
        (
            &[("/spec/volumeAttributesClassName", r#""""#)],
            &["spec.volumeAttributesClassName: Required value: an empty string is disallowed"],
        ),
    ]);
    base().refuses(&[(
        &[("/spec/volumeAttributesClassName", r#""c""#)],
        &["spec.csi: Required value: has to be specified when using volumeAttributesClassName"],
    )]);
    let off = [(Feature::VolumeAttributesClass, false)];
    Base::with_features("", "persistentvolumes", BASE, &off)
        .accepts(&[&[("/spec/volumeAttributesClassName", r#""c""#)]]);
}

#[test]
fn mount_options_in_the_annotation_need_a_type_that_is_mounted() {
    let annotation = ("/metadata/annotations/volume.beta.kubernetes.io~1mount-options", r#""ro""#);
    base().refuses(&[(
        &[annotation],
        &[
            "metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify mount options for this \
             volume type",
        ],
    )]);
    base().accepts(&[&[annotation, ("/spec/hostPath", ""), ("/spec/nfs", r#"{"server":"s","path":"/p"}"#)]]);
}

#[test]
fn a_source_is_immutable() {
    let why =
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n";
    base().refuses_update(&[(
        &[("/spec/hostPath/path", r#""/other""#)],
        &[&format!(
            "{why}@@ -2,7 +2,7 @@\n  \"GCEPersistentDisk\": null,\n  \"AWSElasticBlockStore\": null,\n  \"HostPath\": {{\n-  \
             \"Path\": \"/data\",\n+  \"Path\": \"/other\",\n   \"Type\": \"\"\n  }},\n  \"Glusterfs\": null,\n"
        )],
    )]);
    let secret = ("/spec/csi/controllerExpandSecretRef", r#"{"name":"s","namespace":"n"}"#);
    csi().accepts_update(&[&[secret]]);
    csi().refuses_update_of(
        &[secret],
        &[(
            &[("/spec/csi/controllerExpandSecretRef/name", r#""t""#)],
            &[&format!(
                "{why}@@ -30,7 +30,7 @@\n   \"NodeStageSecretRef\": null,\n   \"NodePublishSecretRef\": null,\n   \
                 \"ControllerExpandSecretRef\": {{\n-   \"Name\": \"s\",\n+   \"Name\": \"t\",\n    \"Namespace\": \"n\"\n   \
                 }},\n   \"NodeExpandSecretRef\": null\n"
            )],
        )],
    );
}

#[test]
fn rules_of_an_update_come_twice() {
    let class = "spec.csi: Required value: has to be specified when using volumeAttributesClassName";
    base().refuses_update(&[
        (&[("/spec/volumeAttributesClassName", r#""c""#)], &[class, class]),
        (
            &[("/spec/volumeMode", r#""Block""#)],
            &[r#"volumeMode: Invalid value: "Block": field is immutable"#],
        ),
    ]);
    base()
        .accepts_update(&[&[("/spec/capacity/storage", r#""2Gi""#), ("/spec/claimRef", r#"{"name":"c"}"#)]]);
}

#[test]
fn node_affinity_changes_only_to_final_labels() {
    const AFFINITY: &str = "/spec/nodeAffinity";
    let affinity = |key: &str| {
        format!(
            r#"{{"required":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":"{key}","operator":"In","values":["z"]}}]}}]}}}}"#
        )
    };
    let beta = affinity("failure-domain.beta.kubernetes.io/zone");
    let last = affinity("topology.kubernetes.io/zone");
    let why = "field is immutable, except for updating from beta label to GA";
    base().accepts_update(&[&[(AFFINITY, &beta)]]);
    base().accepts_update_of(&[(AFFINITY, &beta)], &[&[(AFFINITY, &last)]]);
    let other = format!(
        r#"nodeAffinity: Invalid value: {{"Required":{{"NodeSelectorTerms":[{{"MatchExpressions":[{{"Key":"a","Operator":"In","Values":["z"]}}],"MatchFields":null}}]}}}}: {why}"#
    );
    base().refuses_update_of(
        &[(AFFINITY, &beta)],
        &[
            (&[(AFFINITY, "")], &[&format!("nodeAffinity: Invalid value: null: {why}")]),
            (&[(AFFINITY, &affinity("a"))], &[&other]),
        ],
    );
    // The reference finds no final label of others, and takes that for an empty one.
    let nameless = base().update_errors(&[(AFFINITY, &last)], &[(AFFINITY, &affinity(""))]);
    assert!(nameless.iter().all(|error| !error.starts_with("nodeAffinity: ")), "{nameless:?}");
    let emptied = base().update_errors(
        &[(AFFINITY, &last)],
        &[("/spec/nodeAffinity/required/nodeSelectorTerms", "[{\"matchFields\":[]}]")],
    );
    let printed = r#"nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":null,"MatchFields":[]}]}}: "#;
    assert!(emptied.iter().any(|error| error.starts_with(printed)), "{emptied:?}");
    let on = [(Feature::MutablePVNodeAffinity, true)];
    Base::with_features("", "persistentvolumes", BASE, &on)
        .accepts_update_of(&[(AFFINITY, &beta)], &[&[(AFFINITY, "")]]);
    // Values that are no labels may stay, and only those.
    let odd = last.replace(r#""z""#, r#""b c""#);
    base().accepts_update_of(&[(AFFINITY, &odd)], &[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
    assert_eq!(base().create_errors(&[(AFFINITY, &odd)]).len(), 1);
}

#[test]
fn an_attributes_class_changes_and_does_not_go() {
    const CLASS: &str = "/spec/volumeAttributesClassName";
    let classed = [(CLASS, r#""c""#)];
    csi().accepts_update_of(&classed, &[&[(CLASS, r#""d""#)]]);
    csi().refuses_update_of(
        &classed,
        &[(
            &[(CLASS, "")],
            &["spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden"],
        )],
    );
    let mut old = Settings::default();
    old.features.set(Feature::VolumeAttributesClass, false);
    let volumes = with_settings("", "persistentvolumes", &old);
    let volume = |class: &str| {
        volumes.tree(
            &CSI.replace(r#""name":"a""#, r#""name":"a","resourceVersion":"1""#)
                .replace(r#""csi""#, &format!(r#""volumeAttributesClassName":"{class}","csi""#)),
        )
    };
    let errors = volumes.strategy.validate_update(&Default::default(), &volume("d"), &volume("c"));
    assert_eq!(
        errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "spec.volumeAttributesClassName: Forbidden: update is forbidden when the VolumeAttributesClass feature gate is disabled"
        ]
    );
}

#[test]
fn a_status_is_of_a_stored_volume() {
    let status = Base::new("", "persistentvolumes/status", BASE);
    status.refuses_update(&[(
        &[("/metadata/resourceVersion", "")],
        &[
            r#"metadata.resourceVersion: Invalid value: "": must be specified for an update"#,
            "resourceVersion: Required value",
        ],
    )]);
    status.accepts_update(&[&[("/status/phase", r#""Bound""#)]]);
}
