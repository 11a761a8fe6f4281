//! Cases of CSIStorageCapacities.

use crate::framework::validation::testing::Base;

fn base() -> Base {
    Base::new(
        "storage.k8s.io",
        "csistoragecapacities",
        r#"{"metadata":{"name":"a","namespace":"n"},"storageClassName":"c","nodeTopology":{"matchLabels":{"a":"b"}},"capacity":"1Gi"}"#,
    )
}

const ODD: &str = r#"[{"key":"a","operator":"In","values":["b c"]}]"#;

#[test]
fn class_topology_and_amount_are_checked() {
    let long = "a".repeat(254);
    base().refuses(&[
        (
            &[("/storageClassName", &format!(r#""{long}""#))],
            &[&format!(r#"storageClassName: Invalid value: "{long}": must be no more than 253 characters"#)],
        ),
        (
            &[("/nodeTopology/matchExpressions", r#"[{"key":"a","operator":"In"}]"#)],
            &[
                "nodeTopology.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            ],
        ),
        (&[("/capacity", r#""-1""#)], &[r#"capacity: Invalid value: "-1": must be greater than or equal to 0"#]),
    ]);
    assert_eq!(base().create_errors(&[("/nodeTopology/matchExpressions", ODD)]).len(), 1);
    base().accepts(&[&[("/nodeTopology", ""), ("/capacity", "")]]);
}

#[test]
fn the_question_of_a_capacity_is_immutable() {
    base().refuses_update(&[
        (
            &[("/nodeTopology/matchLabels/a", r#""c""#)],
            &[r#"nodeTopology: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable"#],
        ),
        (&[("/nodeTopology", "")], &["nodeTopology: Invalid value: null: field is immutable"]),
        (
            &[("/storageClassName", r#""d""#)],
            &[r#"storageClassName: Invalid value: "d": field is immutable"#],
        ),
    ]);
    base().accepts_update(&[&[("/capacity", r#""2Gi""#), ("/maximumVolumeSize", r#""1Gi""#)]]);
    base().accepts_update_of(&[("/nodeTopology/matchExpressions", ODD)], &[&[("/capacity", r#""2Gi""#)]]);
}
