//! Cases of VolumeAttachments.

use pintle_features::Feature;

use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::{text, with_settings};
use crate::framework::validation::testing::Base;

const GROUP: &str = "storage.k8s.io";
const BASE: &str = r#"{"metadata":{"name":"a"},"spec":{"attacher":"d","nodeName":"n","source":{"persistentVolumeName":"v"}}}"#;
const INLINE: &str = r#"{"metadata":{"name":"a"},"spec":{"attacher":"d","nodeName":"n","source":{
    "inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],"csi":{"driver":"d","volumeHandle":"h"}}}}}"#;

fn base() -> Base {
    Base::new(GROUP, "volumeattachments", BASE)
}

#[test]
fn an_attachment_names_driver_node_and_volume() {
    let long = "a".repeat(254);
    let name = format!(r#""{long}""#);
    let long64 = "a".repeat(64);
    let characters = "must be no more than 253 characters";
    let one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    base().refuses(&[
        (&[("/spec/attacher", r#""""#)], &["spec.attacher: Required value"]),
        (
            &[("/spec/attacher", &format!(r#""{long64}""#))],
            &["spec.attacher: Too long: may not be more than 63 bytes"],
        ),
        (
            &[("/spec/nodeName", &name)],
            &[&format!(r#"spec.nodeName: Invalid value: "{long}": {characters}"#)],
        ),
        (
            &[("/spec/source/persistentVolumeName", &name)],
            &[&format!(r#"spec.source.persistentVolumeName: Invalid value: "{long}": {characters}"#)],
        ),
        (&[("/spec/source", "{}")], &[&format!("spec.source: Required value: {one}")]),
        (&[("/spec/source/inlineVolumeSpec", "{}")], &[&format!("spec.source: Forbidden: {one}")]),
    ]);
    let empty = base().create_errors(&[("/spec/source/persistentVolumeName", r#""""#)]);
    let wanted =
        "spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName";
    assert_eq!(empty[0], wanted);
    assert_eq!(empty.len(), 2);
}

#[test]
fn inline_volumes_are_csi_volumes_without_a_claim() {
    const SPEC: &str = "/spec/source/inlineVolumeSpec";
    let inline = Base::new(GROUP, "volumeattachments", INLINE);
    let path = "spec.source.inlineVolumeSpec";
    let not_here = "may not be specified in the context of inline volumes";
    let change = |field: &str| format!("{SPEC}/{field}");
    inline.refuses(&[
        (
            &[(&change("claimRef"), "{}"), (&change("capacity"), r#"{"storage":"1"}"#), (&change("accessModes"), "")],
            &[
                &format!("{path}.claimRef: Forbidden: {not_here}"),
                &format!("{path}.capacity: Forbidden: {not_here}"),
                &format!("{path}.accessModes: Required value"),
            ],
        ),
        (
            &[(&change("csi"), "")],
            &[
                &format!("{path}.csi: Required value: has to be specified in the context of inline volumes"),
                &format!("{path}: Required value: must specify a volume type"),
            ],
        ),
        (
            &[
                (&change("persistentVolumeReclaimPolicy"), r#""Delete""#),
                (&change("nodeAffinity"), "{}"),
                (&change("storageClassName"), r#""c""#),
                (&change("volumeMode"), r#""Block""#),
            ],
            &[
                &format!(
                    "{path}.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes"
                ),
                &format!("{path}.nodeAffinity: Forbidden: {not_here}"),
                &format!("{path}.storageClassName: Forbidden: {not_here}"),
                &format!(
                    "{path}.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline \
                     volumes"
                ),
            ],
        ),
    ]);
    inline.accepts(&[&[
        (&change("persistentVolumeReclaimPolicy"), r#""Retain""#),
        (&change("volumeMode"), r#""Filesystem""#),
        (&change("volumeAttributesClassName"), r#""""#),
    ]]);
}

#[test]
fn a_spec_is_immutable() {
    base().refuses_update(&[(
        &[("/spec/nodeName", r#""m""#)],
        &[
            r#"spec: Invalid value: {"Attacher":"d","Source":{"PersistentVolumeName":"v","InlineVolumeSpec":null},"NodeName":"m"}: field is immutable"#,
        ],
    )]);
}

#[test]
fn a_status_is_limited() {
    let status = Base::new(GROUP, "volumeattachments/status", BASE);
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(256 * 1024));
    let message = format!(r#"{{"message":"{}"}}"#, "x".repeat(1025));
    status.refuses_update(&[
        (
            &[("/status/attachmentMetadata", &large)],
            &["status.attachmentMetadata: Too long: may not be more than 262144 bytes"],
        ),
        (
            &[("/status/attachError", &message)],
            &["status.attachError.message: Too long: may not be more than 262144 bytes"],
        ),
        (
            &[("/status/detachError", r#"{"errorCode":-1}"#)],
            &["status.detachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive"],
        ),
    ]);
    status.accepts_update(&[&[("/status/attachError", r#"{"errorCode":8}"#)]]);
}

#[test]
fn codes_of_errors_need_a_gate() {
    let mut old = Settings::default();
    old.features.set(Feature::MutableCSINodeAllocatableCount, false);
    let statuses = with_settings(GROUP, "volumeattachments/status", &old);
    let of = |error: &str| {
        format!(
            r#"{{"metadata":{{"name":"a"}},"spec":{{"attacher":"d","source":{{}},"nodeName":"n"}},"status":{{"attached":false,"attachError":{error}}}}}"#
        )
    };
    let (with, without) = (of(r#"{"time":null,"errorCode":8}"#), of(r#"{"time":null}"#));
    assert_eq!(text(&statuses.updated(&with, &without)), without);
    assert_eq!(text(&statuses.updated(&with, &with)), with);
}
