//! Cases of CSIDrivers.

use pintle_features::Feature;

use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::{text, with_settings};
use crate::framework::validation::testing::Base;

const GROUP: &str = "storage.k8s.io";
const BASE: &str =
    r#"{"metadata":{"name":"a"},"spec":{"tokenRequests":[{"audience":"a","expirationSeconds":600}]}}"#;

fn base() -> Base {
    Base::new(GROUP, "csidrivers", BASE)
}

#[test]
fn values_are_known() {
    base().refuses(&[
        (
            &[("/spec/fsGroupPolicy", r#""Some""#)],
            &[
                r#"spec.fsGroupPolicy: Unsupported value: "Some": supported values: "File", "None", "ReadWriteOnceWithFSType""#,
            ],
        ),
        (
            &[("/spec/volumeLifecycleModes", r#"["Some","Ephemeral"]"#)],
            &[
                r#"spec.volumeLifecycleModes: Unsupported value: "Some": supported values: "Persistent", "Ephemeral""#,
            ],
        ),
        (
            &[("/spec/nodeAllocatableUpdatePeriodSeconds", "9")],
            &[
                "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds",
            ],
        ),
    ]);
    base().accepts(&[&[("/spec/nodeAllocatableUpdatePeriodSeconds", "10")]]);
    let on = [(Feature::VolumeLimitScaling, true)];
    Base::with_features(GROUP, "csidrivers", BASE, &on)
        .accepts(&[&[("/spec/preventPodSchedulingIfMissing", "true")]]);
}

#[test]
fn tokens_differ_by_audience_and_last_a_while() {
    base().refuses(&[
        (
            &[("/spec/tokenRequests/-", r#"{"audience":"a","expirationSeconds":1}"#)],
            &[r#"spec.tokenRequests[1].audience: Duplicate value: "a""#],
        ),
        (
            &[("/spec/tokenRequests/0/expirationSeconds", "599")],
            &[
                "spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
            ],
        ),
        (
            &[("/spec/tokenRequests/0/expirationSeconds", "4294967297")],
            &[
                "spec.tokenRequests[0].expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than \
                 2^32 seconds",
            ],
        ),
        (
            &[("/spec/tokenRequests", ""), ("/spec/serviceAccountTokenInSecrets", "true")],
            &[
                "spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no \
                 tokenRequests are specified",
            ],
        ),
    ]);
    base().accepts(&[
        &[("/spec/tokenRequests/-", r#"{"audience":""}"#)],
        &[("/spec/tokenRequests/0/expirationSeconds", "4294967296")],
        &[("/spec/serviceAccountTokenInSecrets", "false")],
    ]);
}

#[test]
fn the_way_of_attaching_is_immutable() {
    base().refuses_update(&[(
        &[("/spec/attachRequired", "false"), ("/spec/volumeLifecycleModes", r#"["Ephemeral"]"#)],
        &[
            "spec.attachedRequired: Invalid value: false: field is immutable",
            r#"spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable"#,
        ],
    )]);
    base().accepts_update(&[&[("/spec/podInfoOnMount", "true"), ("/spec/requiresRepublish", "true")]]);
}

#[test]
fn fields_of_disabled_features_go() {
    let mut old = Settings::default();
    for feature in [
        Feature::SELinuxMountReadWriteOncePod,
        Feature::MutableCSINodeAllocatableCount,
        Feature::CSIServiceAccountTokenSecrets,
    ] {
        old.features.set(feature, false);
    }
    let drivers = with_settings(GROUP, "csidrivers", &old);
    let with = r#"{"metadata":{"name":"a"},"spec":{"seLinuxMount":true,"nodeAllocatableUpdatePeriodSeconds":10,"serviceAccountTokenInSecrets":true}}"#;
    let without = r#"{"metadata":{"name":"a"},"spec":{}}"#;
    assert_eq!(text(&drivers.created(with)), without);
    assert_eq!(text(&drivers.updated(with, without)), without);
    assert_eq!(text(&drivers.updated(with, with)), with);
}
