//! Cases of CSINodes.

use pintle_features::Feature;

use crate::framework::validation::testing::Base;

const GROUP: &str = "storage.k8s.io";
const BASE: &str = r#"{"metadata":{"name":"a"},"spec":{"drivers":[
    {"name":"d","nodeID":"n","topologyKeys":["k"],"allocatable":{"count":1}}]}}"#;

fn base() -> Base {
    Base::new(GROUP, "csinodes", BASE)
}

#[test]
fn an_empty_list_of_topology_keys_is_none() {
    let without = ("/spec/drivers/0/topologyKeys", "null");
    base().accepts_update_of(&[without], &[&[("/spec/drivers/0/topologyKeys", "[]")]]);
    assert_eq!(base().update_errors(&[without], &[("/spec/drivers/0/topologyKeys", r#"["k"]"#)]).len(), 1);
}

#[test]
fn drivers_are_named_once() {
    let long = "a".repeat(257);
    let key = "a".repeat(64);
    base().refuses(&[
        (&[("/spec/drivers/0/name", r#""""#)], &["spec.drivers[0].name: Required value"]),
        (&[("/spec/drivers/0/nodeID", r#""""#)], &["spec.drivers[0].nodeID: Required value"]),
        (
            &[("/spec/drivers/0/nodeID", &format!(r#""{long}""#))],
            &[&format!(r#"spec.drivers[0].nodeID: Invalid value: "{long}": must be 256 characters or less"#)],
        ),
        (
            &[("/spec/drivers/0/allocatable/count", "-1")],
            &["spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            &[("/spec/drivers/-", r#"{"name":"d","nodeID":"n","topologyKeys":null}"#)],
            &[r#"spec.drivers[1].name: Duplicate value: "d""#],
        ),
        (
            &[("/spec/drivers/0/topologyKeys", &format!(r#"["k","k","{key}"]"#))],
            &[
                r#"spec.drivers[0]: Duplicate value: "k""#,
                &format!(
                    r#"spec.drivers[0]: Invalid value: "{key}": name part must be no more than 63 bytes"#
                ),
            ],
        ),
    ]);
    let empty = base().create_errors(&[("/spec/drivers/0/topologyKeys/0", r#""""#)]);
    assert_eq!(
        empty[..2],
        [
            "spec.drivers[0]: Required value",
            r#"spec.drivers[0]: Invalid value: "": name part must be non-empty"#
        ]
    );
    base().accepts(&[&[("/spec/drivers", "[]")]]);
}

#[test]
fn a_driver_changes_only_in_what_it_can_attach() {
    base().refuses_update(&[(
        &[("/spec/drivers/0/nodeID", r#""m""#)],
        &[
            r#"spec.drivers: Invalid value: {"Name":"d","NodeID":"m","TopologyKeys":["k"],"Allocatable":null}: field is immutable"#,
        ],
    )]);
    base().accepts_update(&[
        &[("/spec/drivers/0/allocatable/count", "2")],
        &[("/spec/drivers", "[]")],
        &[("/spec/drivers/-", r#"{"name":"e","nodeID":"n","topologyKeys":null}"#)],
    ]);
    let off = [(Feature::MutableCSINodeAllocatableCount, false)];
    Base::with_features(GROUP, "csinodes", BASE, &off).refuses_update(&[(
        &[("/spec/drivers/0/allocatable/count", "2")],
        &[
            r#"spec.drivers: Invalid value: {"Name":"d","NodeID":"n","TopologyKeys":["k"],"Allocatable":{"Count":2}}: field is immutable"#,
        ],
    )]);
}
