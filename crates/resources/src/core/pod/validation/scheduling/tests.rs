//! Tests of gates, preemption, overhead and scheduling groups.

use pintle_features::Feature;
use pintle_meta::validation::{object_meta, qualified_name};

use crate::core::pod::validation::testing::{pods, pods_with, wrong};

#[test]
fn gates_have_qualified_names() {
    let ready = wrong("spec.readinessGates[0].conditionType", "a b", qualified_name);
    let gate = wrong("spec.schedulingGates[0]", "a b", qualified_name);
    pods().refuses(&[
        (&[("/spec/readinessGates", r#"[{"conditionType":"a b"}]"#)], &[&ready]),
        (&[("/spec/schedulingGates", r#"[{"name":"a b"}]"#)], &[&gate]),
        (
            &[("/spec/schedulingGates", r#"[{"name":"a"},{"name":"b"},{"name":"a"}]"#)],
            &[r#"spec.schedulingGates[2]: Duplicate value: "a""#],
        ),
    ]);
    pods().accepts(&[&[
        ("/spec/readinessGates", r#"[{"conditionType":"example.com/a"}]"#),
        ("/spec/schedulingGates", r#"[{"name":"example.com/a"},{"name":"b"}]"#),
    ]]);
}

#[test]
fn preemption_policies_are_known() {
    pods().refuses(&[
        (
            &[("/spec/preemptionPolicy", r#""Always""#)],
            &[
                r#"spec.preemptionPolicy: Unsupported value: "Always": supported values: "PreemptLowerPriority", "Never""#,
            ],
        ),
        (&[("/spec/preemptionPolicy", r#""""#)], &["spec.preemptionPolicy: Required value"]),
    ]);
    pods().accepts(&[&[("/spec/preemptionPolicy", r#""Never""#)]]);
}

#[test]
fn overhead_is_as_limits_are() {
    pods().refuses(&[
        (
            &[("/spec/overhead", r#"{"cpu":"-1"}"#)],
            &[r#"spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0"#],
        ),
        (
            &[("/spec/overhead", r#"{"x":"1"}"#)],
            &[
                r#"spec.overhead.limits[x]: Invalid value: "x": must be a standard resource type or fully qualified"#,
                r#"spec.overhead.limits[x]: Invalid value: "x": must be a standard resource for containers"#,
            ],
        ),
    ]);
    pods().accepts(&[&[("/spec/overhead", r#"{"cpu":"1","memory":"1Gi"}"#)]]);
}

#[test]
fn a_scheduling_group_names_a_pod_group() {
    let base = pods_with(&[(Feature::GenericWorkload, true)]);
    let name =
        wrong("spec.schedulingGroup.podGroupName", "A", |name| object_meta::subdomain_name(name, false));
    base.refuses(&[
        (
            &[("/spec/schedulingGroup", "{}")],
            &["spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`"],
        ),
        (&[("/spec/schedulingGroup", r#"{"podGroupName":"A"}"#)], &[&name]),
    ]);
    base.accepts(&[&[("/spec/schedulingGroup", r#"{"podGroupName":"a"}"#)]]);
    // Without the feature it is dropped.
    pods().accepts(&[&[("/spec/schedulingGroup", "{}")]]);
}
