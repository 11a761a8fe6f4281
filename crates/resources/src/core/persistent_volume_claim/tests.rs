//! Cases of claims.

use pintle_features::Feature;

use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::{text, with_settings};
use crate::framework::validation::testing::Base;

const BASE: &str = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"accessModes":["ReadWriteOnce"],
    "resources":{"requests":{"storage":"2Gi"}}}}"#;

fn base() -> Base {
    Base::new("", "persistentvolumeclaims", BASE)
}

fn long() -> String {
    "a".repeat(254)
}

/// Of a name that has more than 253 characters.
fn too_long(field: &str) -> String {
    format!(r#"{field}: Invalid value: "{}": must be no more than 253 characters"#, long())
}

#[test]
fn access_modes_are_known_and_one_is_exclusive() {
    let modes = r#"supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod""#;
    base().refuses(&[
        (
            &[("/spec/accessModes", "")],
            &["spec.accessModes: Required value: at least 1 access mode is required"],
        ),
        (
            &[("/spec/accessModes/-", r#""Some""#)],
            &[&format!(r#"spec.accessModes: Unsupported value: "Some": {modes}"#)],
        ),
        (
            &[("/spec/accessModes/-", r#""ReadWriteOncePod""#)],
            &["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
        ),
    ]);
    base().accepts(&[
        &[("/spec/accessModes", r#"["ReadWriteOncePod","ReadWriteOncePod"]"#)],
        &[("/spec/accessModes", r#"["ReadOnlyMany","ReadWriteMany"]"#)],
    ]);
}

#[test]
fn storage_is_requested() {
    base().refuses(&[
        (&[("/spec/resources/requests", "")], &["spec.resources[storage]: Required value"]),
        (
            &[("/spec/resources/requests/storage", r#""0""#)],
            &[r#"spec.resources[storage]: Invalid value: "0": must be greater than zero"#],
        ),
    ]);
    base().accepts(&[&[("/spec/resources/requests/storage", r#""1500m""#)]]);
}

#[test]
fn classes_modes_and_selectors_are_checked() {
    let name = format!(r#""{}""#, long());
    base().refuses(&[
        (&[("/spec/storageClassName", &name)], &[&too_long("spec.storageClassName")]),
        (&[("/spec/volumeAttributesClassName", &name)], &[&too_long("spec.volumeAttributesClassName")]),
        (
            &[("/spec/volumeMode", r#""File""#)],
            &[r#"spec.volumeMode: Unsupported value: "File": supported values: "Block", "Filesystem""#],
        ),
        (
            &[("/spec/selector/matchExpressions", r#"[{"key":"a","operator":"In"}]"#)],
            &[
                "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            ],
        ),
    ]);
    base().accepts(&[&[("/spec/storageClassName", r#""""#), ("/spec/volumeAttributesClassName", r#""""#)]]);
    let off = [(Feature::VolumeAttributesClass, false)];
    Base::with_features("", "persistentvolumeclaims", BASE, &off)
        .accepts(&[&[("/spec/volumeAttributesClassName", &name)]]);
}

#[test]
fn data_sources_are_claims_or_of_another_group() {
    let default = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    base().refuses(&[
        (
            &[("/spec/dataSourceRef", "{}")],
            &[
                "spec.dataSource.name: Required value",
                "spec.dataSource.kind: Required value",
                &format!(r#"spec.dataSource: Invalid value: "": {default}"#),
                "spec.dataSourceRef.name: Required value",
                "spec.dataSourceRef.kind: Required value",
                &format!(r#"spec.dataSourceRef: Invalid value: "": {default}"#),
            ],
        ),
        (
            &[("/spec/dataSourceRef", &format!(r#"{{"apiGroup":"{}","kind":"K","name":"a"}}"#, long()))],
            &[&too_long("spec.dataSource.apiGroup"), &too_long("spec.dataSourceRef.apiGroup")],
        ),
        (
            &[
                ("/spec/dataSource", r#"{"kind":"PersistentVolumeClaim","name":"a"}"#),
                ("/spec/dataSourceRef", r#"{"kind":"PersistentVolumeClaim","name":"b"}"#),
            ],
            &["spec: Invalid value: {}: must match dataSourceRef"],
        ),
    ]);
    base().accepts(&[
        &[("/spec/dataSource", r#"{"kind":"PersistentVolumeClaim","name":"a"}"#)],
        &[("/spec/dataSource", r#"{"kind":"Else","name":"a"}"#)],
        &[("/spec/dataSourceRef", r#"{"apiGroup":"example.com","kind":"K","name":"a"}"#)],
    ]);
    // A value that an older release accepted stays.
    let group = [("/spec/dataSourceRef", r#"{"apiGroup":"Example","kind":"K","name":"a"}"#)];
    base().accepts_update_of(&group, &[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
}

#[test]
fn data_sources_of_other_namespaces_need_a_gate() {
    let crossing =
        [("/spec/dataSourceRef", r#"{"apiGroup":"example.com","kind":"K","name":"a","namespace":"a.b"}"#)];
    base().accepts(&[&crossing]);
    let on = [(Feature::CrossNamespaceVolumeDataSource, true)];
    let gated = Base::with_features("", "persistentvolumeclaims", BASE, &on);
    gated.refuses(&[
        (&crossing, &[r#"spec.dataSourceRef.namespace: Invalid value: "a.b": must not contain dots"#]),
        (
            &[
                ("/spec/dataSource", r#"{"kind":"PersistentVolumeClaim","name":"a"}"#),
                ("/spec/dataSourceRef", r#"{"kind":"PersistentVolumeClaim","name":"a","namespace":"n"}"#),
            ],
            &["spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified"],
        ),
    ]);
    let off = [(Feature::AnyVolumeDataSource, false)];
    let old = Base::with_features("", "persistentvolumeclaims", BASE, &off);
    old.accepts(&[&[("/spec/dataSourceRef", "{}")]]);
    let source = [("/spec/dataSource", r#"{"kind":"PersistentVolumeClaim","name":"a"}"#)];
    old.accepts_update_of(&source, &[&[]]);
}

const IMMUTABLE: &str = "spec: Forbidden: spec is immutable after creation except resources.requests and \
                         volumeAttributesClassName for bound claims\n";

#[test]
fn a_spec_is_immutable_apart_from_the_volume() {
    base().refuses_update(&[
        (
            &[("/spec/accessModes/0", r#""ReadOnlyMany""#)],
            &[&format!(
                "{IMMUTABLE}@@ -1,6 +1,6 @@\n {{\n  \"AccessModes\": [\n-  \"ReadWriteOnce\"\n+  \"ReadOnlyMany\"\n  ],\n  \
                 \"Selector\": null,\n  \"Resources\": {{\n"
            )],
        ),
        (
            &[("/spec/resources/requests/storage", r#""3Gi""#)],
            &[&format!(
                "{IMMUTABLE}@@ -6,7 +6,7 @@\n  \"Resources\": {{\n   \"Limits\": null,\n   \"Requests\": {{\n-   \"storage\": \
                 \"2Gi\"\n+   \"storage\": \"3Gi\"\n   }}\n  }},\n  \"VolumeName\": \"\",\n"
            )],
        ),
        (
            &[("/spec/volumeMode", r#""Block""#)],
            &[
                &format!(
                    "{IMMUTABLE}@@ -11,7 +11,7 @@\n  }},\n  \"VolumeName\": \"\",\n  \"StorageClassName\": null,\n- \
                     \"VolumeMode\": \"Filesystem\",\n+ \"VolumeMode\": \"Block\",\n  \"DataSource\": null,\n  \
                     \"DataSourceRef\": null,\n  \"VolumeAttributesClassName\": null\n"
                ),
                r#"volumeMode: Invalid value: "Block": field is immutable"#,
            ],
        ),
    ]);
    base().accepts_update(&[
        &[("/spec/volumeName", r#""v""#)],
        &[("/spec/storageClassName", r#""c""#)],
        // The same amount.
        &[("/spec/resources/requests/storage", r#""2147483648""#)],
    ]);
    base().refuses_update_of(
        &[("/spec/volumeName", r#""v""#)],
        &[(
            &[("/spec/volumeName", r#""w""#)],
            &[&format!(
                "{IMMUTABLE}@@ -9,7 +9,7 @@\n    \"storage\": \"2Gi\"\n   }}\n  }},\n- \"VolumeName\": \"v\",\n+ \
                 \"VolumeName\": \"w\",\n  \"StorageClassName\": null,\n  \"VolumeMode\": \"Filesystem\",\n  \"DataSource\": \
                 null,\n"
            )],
        )],
    );
}

#[test]
fn a_class_moves_from_the_annotation_to_the_field() {
    const ANNOTATION: &str = "/metadata/annotations/volume.beta.kubernetes.io~1storage-class";
    let annotated = [(ANNOTATION, r#""c""#)];
    base().accepts_update_of(
        &annotated,
        &[
            &[("/spec/storageClassName", r#""c""#)],
            &[("/spec/storageClassName", r#""c""#), ("/metadata/annotations", "")],
        ],
    );
    let immutable = "metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value:";
    let other = format!(
        "{IMMUTABLE}@@ -10,7 +10,7 @@\n   }}\n  }},\n  \"VolumeName\": \"\",\n- \"StorageClassName\": null,\n+ \
         \"StorageClassName\": \"d\",\n  \"VolumeMode\": \"Filesystem\",\n  \"DataSource\": null,\n  \"DataSourceRef\": \
         null,\n"
    );
    base().refuses_update_of(
        &annotated,
        &[
            (&[("/metadata/annotations", "")], &[&format!(r#"{immutable} "": field is immutable"#)]),
            (
                &[(ANNOTATION, r#""d""#), ("/spec/storageClassName", r#""c""#)],
                &[&format!(r#"{immutable} "d": field is immutable"#)],
            ),
            (&[("/spec/storageClassName", r#""d""#)], &[&other]),
        ],
    );
}

/// The base with a status; its strategy takes stored objects as they are.
fn updated(settings: &Settings, status: &str, new: &str, old: &str) -> Vec<String> {
    let claims = with_settings("", "persistentvolumeclaims", settings);
    let claim = |spec: &str| {
        claims.tree(&format!(
            r#"{{"metadata":{{"name":"a","namespace":"n","resourceVersion":"1"}},"spec":{{"accessModes":["ReadWriteOnce"],{spec}}},
                "status":{status}}}"#
        ))
    };
    let (mut new, old) = (claim(new), claim(old));
    let context = pintle_registry::Context::default();
    claims.strategy.prepare_for_update(&context, &mut new, &old);
    claims.strategy.validate_update(&context, &new, &old).iter().map(ToString::to_string).collect()
}

#[test]
fn bound_claims_may_grow() {
    let plane = Settings::default();
    let sized = |size: &str| format!(r#""resources":{{"requests":{{"storage":"{size}"}}}}"#);
    let bound = |new: &str| {
        updated(&plane, r#"{"phase":"Bound","capacity":{"storage":"1Gi"}}"#, &sized(new), &sized("3Gi"))
    };
    assert!(bound("4Gi").is_empty());
    assert!(bound("2Gi").is_empty());
    let small = "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity";
    assert_eq!(bound("1Gi"), [small]);
    let mut old = Settings::default();
    old.features.set(Feature::RecoverVolumeExpansionFailure, false);
    let shrunk = |status: &str| updated(&old, status, &sized("2Gi"), &sized("3Gi"));
    let less = "spec.resources.requests.storage: Forbidden: field can not be less than previous value";
    assert_eq!(shrunk(r#"{"phase":"Bound"}"#), [less]);
    assert!(shrunk(r#"{"phase":"Bound","allocatedResources":{"storage":"3Gi"}}"#).is_empty());
}

#[test]
fn bound_claims_may_change_their_attributes_class() {
    let sized = r#""resources":{"requests":{"storage":"1Gi"}}"#;
    let class = |name: &str| format!(r#"{sized},"volumeAttributesClassName":{name}"#);
    let plane = Settings::default();
    let applied = r#"{"phase":"Bound","currentVolumeAttributesClassName":"c"}"#;
    let path = "spec.volumeAttributesClassName: Forbidden: update";
    let why = "is forbidden when status.currentVolumeAttributesClassName is not nil";
    assert!(updated(&plane, applied, &class(r#""d""#), &class(r#""c""#)).is_empty());
    assert_eq!(updated(&plane, applied, sized, &class(r#""c""#)), [format!("{path} to nil {why}")]);
    assert_eq!(
        updated(&plane, applied, &class(r#""""#), &class(r#""c""#)),
        [format!("{path} to empty string {why}")]
    );
    assert!(updated(&plane, r#"{"phase":"Bound"}"#, sized, &class(r#""c""#)).is_empty());
    let mut old = Settings::default();
    old.features.set(Feature::VolumeAttributesClass, false);
    assert_eq!(
        updated(&old, r#"{"phase":"Bound"}"#, &class(r#""d""#), &class(r#""c""#)),
        [format!("{path} is forbidden when the VolumeAttributesClass feature gate is disabled")]
    );
    assert!(updated(&old, "{}", &class(r#""d""#), sized).is_empty());
}

#[test]
fn selectors_of_old_may_stay() {
    let selector =
        [("/spec/selector", r#"{"matchExpressions":[{"key":"a","operator":"In","values":["b c"]}]}"#)];
    base().accepts_update_of(&selector, &[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
}

#[test]
fn a_status_counts_storage() {
    let status = Base::new("", "persistentvolumeclaims/status", BASE);
    let statuses = r#"supported values: "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending""#;
    let long = "a".repeat(64);
    status.refuses_update(&[
        (
            &[("/status/capacity", r#"{"storage":"-1"}"#)],
            &["status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"],
        ),
        (
            &[("/status/allocatedResourceStatuses", r#"{"cpu":"NodeResizePending","storage":"Some"}"#)],
            &[
                r#"status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "storage""#,
                &format!(r#"status.allocatedResourceStatuses: Unsupported value: "storage": {statuses}"#),
            ],
        ),
        (
            &[("/status/allocatedResources", &format!(r#"{{"{long}":"1","example.com/x":"-1","memory":"1"}}"#))],
            &[
                &format!(
                    r#"status.allocatedResources: Invalid value: "{long}": name part must be no more than 63 bytes"#
                ),
                "status.allocatedResources[example.com/x]: Invalid value: -1: must be a valid resource quantity",
                r#"status.allocatedResources: Unsupported value: "memory": supported values: "storage""#,
            ],
        ),
        (
            &[("/status/allocatedResources", r#"{"storage":"-500m"}"#)],
            &["status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity"],
        ),
    ]);
    status.refuses_update_of(
        &[("/spec/accessModes", "")],
        &[(&[("/status/phase", r#""Bound""#)], &["Spec.accessModes: Required value"])],
    );
    status.accepts_update(&[&[
        ("/status/allocatedResources", r#"{"storage":"1","example.com/x":"1"}"#),
        ("/status/allocatedResourceStatuses", r#"{"storage":"NodeResizeInfeasible"}"#),
    ]]);
    let off = [(Feature::RecoverVolumeExpansionFailure, false)];
    Base::with_features("", "persistentvolumeclaims/status", BASE, &off)
        .accepts_update(&[&[("/status/allocatedResources", r#"{"cpu":"1"}"#)]]);
}

#[test]
fn status_of_disabled_features_goes() {
    let mut old = Settings::default();
    old.features.set(Feature::VolumeAttributesClass, false);
    old.features.set(Feature::RecoverVolumeExpansionFailure, false);
    let claims = with_settings("", "persistentvolumeclaims/status", &old);
    let with = r#"{"metadata":{"name":"a"},"spec":{"resources":{}},"status":{"allocatedResources":{"storage":"1"},"allocatedResourceStatuses":{"storage":"x"},"currentVolumeAttributesClassName":"c","modifyVolumeStatus":{"status":"x"}}}"#;
    let without = r#"{"metadata":{"name":"a"},"spec":{"resources":{}},"status":{}}"#;
    assert_eq!(text(&claims.updated(with, without)), without);
    assert_eq!(text(&claims.updated(with, with)), with);
}
