//! Rules of PodGroups: those of their spec, which Workloads have too, and those of their status.

use pintle_features::Feature;

use crate::framework::strategy::testing::{of, text};
use crate::framework::validation::testing::Base;

const GROUP: &str = "scheduling.k8s.io";
const POD_GROUP: &str = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{
    "podGroupTemplateRef":{"workload":{"workloadName":"w","podGroupTemplateName":"t"}},
    "schedulingPolicy":{"gang":{"minCount":2}},
    "schedulingConstraints":{"topology":[{"key":"zone"}]},
    "resourceClaims":[{"name":"c","resourceClaimName":"x"}],
    "priorityClassName":"p","priority":5}}"#;
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const FEATURES: [Feature; 3] = [
    Feature::TopologyAwareWorkloadScheduling,
    Feature::DRAWorkloadResourceClaims,
    Feature::WorkloadAwarePreemption,
];

fn base() -> Base {
    Base::with_features(GROUP, "podgroups", POD_GROUP, &FEATURES.map(|feature| (feature, true)))
}

#[test]
fn fields_of_features_that_are_off_go_unless_they_were_there() {
    let groups = of(GROUP, "podgroups");
    let object = |spec: &str| {
        format!(r#"{{"metadata":{{"name":"a","namespace":"n"}},"spec":{{{spec}}},"status":{{}}}}"#)
    };
    let policy = r#""podGroupTemplateRef":null,"schedulingPolicy":{"gang":{"minCount":2}}"#;
    let gated = object(&format!(r#"{policy},"priorityClassName":"p","priority":3"#));
    assert_eq!(text(&groups.created(&gated)), object(policy));
    let old = object(&format!(r#"{policy},"priority":1"#));
    assert_eq!(text(&groups.updated(&gated, &old)), object(&format!(r#"{policy},"priority":3"#)));
}

#[test]
fn a_group_has_one_policy() {
    base().accepts(&[&[("/spec/schedulingPolicy", r#"{"basic":{}}"#)], &[("/spec/podGroupTemplateRef", "")]]);
    base().refuses(&[
        (
            &[("/spec/schedulingPolicy", "{}")],
            &[r#"spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`"#],
        ),
        (
            &[("/spec/schedulingPolicy/basic", "{}")],
            &[
                r#"spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`"#,
            ],
        ),
        (
            &[("/spec/schedulingPolicy/gang/minCount", "0")],
            &["spec.schedulingPolicy.gang.minCount: Required value"],
        ),
        (
            &[("/spec/schedulingPolicy/gang/minCount", "-1")],
            &["spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1"],
        ),
    ]);
}

#[test]
fn a_group_names_its_template_in_full() {
    let reference = |field: &str| format!("/spec/podGroupTemplateRef/workload/{field}");
    base().refuses(&[
        (
            &[("/spec/podGroupTemplateRef/workload", "")],
            &[r#"spec.podGroupTemplateRef: Invalid value: "": must specify one of: `workload`"#],
        ),
        (
            &[(&reference("workloadName"), r#""""#), (&reference("podGroupTemplateName"), r#""""#)],
            &[
                "spec.podGroupTemplateRef.workload.workloadName: Required value",
                "spec.podGroupTemplateRef.workload.podGroupTemplateName: Required value",
            ],
        ),
        (
            &[(&reference("workloadName"), r#""A""#), (&reference("podGroupTemplateName"), r#""A""#)],
            &[
                &format!(
                    r#"spec.podGroupTemplateRef.workload.workloadName: Invalid value: "A": {SUBDOMAIN}"#
                ),
                &format!(
                    r#"spec.podGroupTemplateRef.workload.podGroupTemplateName: Invalid value: "A": {LABEL}"#
                ),
            ],
        ),
    ]);
}

#[test]
fn constraints_and_claims_are_few_and_named() {
    base().refuses(&[
        (
            &[("/spec/schedulingConstraints/topology/-", r#"{"key":"b"}"#)],
            &["spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item"],
        ),
        (
            &[("/spec/schedulingConstraints/topology/0/key", r#""a b""#)],
            &[
                r#"spec.schedulingConstraints.topology[0].key: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#,
            ],
        ),
        (
            &[(
                "/spec/resourceClaims",
                r#"[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"},{"name":"e"}]"#,
            )],
            &["spec.resourceClaims: Too many: 5: must have at most 4 items"],
        ),
        (
            &[("/spec/resourceClaims/-", r#"{"name":"c","resourceClaimTemplateName":"t"}"#)],
            &[r#"spec.resourceClaims[1]: Duplicate value: {"name":"c","resourceClaimTemplateName":"t"}"#],
        ),
        (
            &[("/spec/resourceClaims/0", r#"{"name":""}"#)],
            &[
                r#"spec.resourceClaims[0]: Invalid value: "": must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"#,
                "spec.resourceClaims[0].name: Required value",
            ],
        ),
        (
            &[("/spec/resourceClaims/0", r#"{"name":"c","resourceClaimName":"A","resourceClaimTemplateName":""}"#)],
            &[
                r#"spec.resourceClaims[0]: Invalid value: "{resourceClaimName, resourceClaimTemplateName}": must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`"#,
                &format!(r#"spec.resourceClaims[0].resourceClaimName: Invalid value: "A": {SUBDOMAIN}"#),
                &format!(r#"spec.resourceClaims[0].resourceClaimTemplateName: Invalid value: "": {SUBDOMAIN}"#),
            ],
        ),
    ]);
}

#[test]
fn priorities_are_limited() {
    base().refuses(&[
        (
            &[("/spec/priority", "1000000001"), ("/spec/priorityClassName", r#""A""#)],
            &[
                &format!(r#"spec.priorityClassName: Invalid value: "A": {SUBDOMAIN}"#),
                "spec.priority: Invalid value: 1000000001: must be less than or equal to 1000000000",
            ],
        ),
        (
            &[("/spec/disruptionMode", r#""x""#)],
            &[r#"spec.disruptionMode: Unsupported value: "x": supported values: "Pod", "PodGroup""#],
        ),
    ]);
}

#[test]
fn a_spec_is_immutable() {
    base().accepts_update(&[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
    let fixed = |field: &str| format!("spec.{field}: Invalid value: null: field is immutable");
    base().refuses_update(&[
        (&[("/spec/podGroupTemplateRef", "")], &[&fixed("podGroupTemplateRef")]),
        (&[("/spec/schedulingPolicy", r#"{"basic":{}}"#)], &[&fixed("schedulingPolicy")]),
        (&[("/spec/schedulingConstraints", "")], &[&fixed("schedulingConstraints")]),
        (&[("/spec/resourceClaims", "")], &[&fixed("resourceClaims")]),
        (&[("/spec/disruptionMode", r#""PodGroup""#)], &[&fixed("disruptionMode")]),
        (&[("/spec/priorityClassName", "")], &[&fixed("priorityClassName")]),
        (&[("/spec/priority", "6")], &[&fixed("priority")]),
    ]);
}

/// The stored object has the fields; without their features they may stay and may go, but not change.
#[test]
fn fields_of_features_that_are_off_do_not_change() {
    let off =
        Base::with_features(GROUP, "podgroups/status", POD_GROUP, &FEATURES.map(|feature| (feature, false)));
    // A status leaves the spec as it is.
    off.accepts_update(&[&[("/spec/priority", "7")]]);
    let groups = of(GROUP, "podgroups");
    let old = POD_GROUP
        .replace(r#""name":"a""#, r#""name":"a","resourceVersion":"1""#)
        .replace(r#""priority":5"#, r#""priority":5,"disruptionMode":"Pod""#);
    let errors = |new: &str| crate::framework::strategy::testing::invalid_update(&groups, new, &old);
    assert!(errors(&old).is_empty());
    let new = old
        .replace(r#""zone""#, r#""rack""#)
        .replace(r#""disruptionMode":"Pod""#, r#""disruptionMode":"PodGroup""#)
        .replace(r#""priorityClassName":"p""#, r#""priorityClassName":"q""#)
        .replace(r#""priority":5"#, r#""priority":6"#);
    assert_eq!(
        errors(&new),
        [
            "spec.schedulingConstraints: Forbidden",
            "spec.disruptionMode: Forbidden",
            "spec.priorityClassName: Forbidden",
            "spec.priority: Forbidden",
        ]
    );
}

#[test]
fn a_status_is_about_the_claims_of_the_spec() {
    let status =
        Base::with_features(GROUP, "podgroups/status", POD_GROUP, &FEATURES.map(|feature| (feature, true)));
    status.accepts_update(&[&[(
        "/status",
        r#"{"conditions":[{"type":"PodGroupScheduled","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}],
            "resourceClaimStatuses":[{"name":"c","resourceClaimName":"x"}]}"#,
    )]]);
    status.refuses_update(&[
        (
            &[("/status", r#"{"resourceClaimStatuses":[{"name":"c"},{"name":"c","resourceClaimName":"A"},{"name":"d"}]}"#)],
            &[
                r#"status.resourceClaimStatuses[2].name: Invalid value: "d": must match the name of an entry in `spec.resourceClaims`"#,
                r#"status.resourceClaimStatuses[1]: Duplicate value: {"name":"c","resourceClaimName":"A"}"#,
                &format!(r#"status.resourceClaimStatuses[1].resourceClaimName: Invalid value: "A": {SUBDOMAIN}"#),
            ],
        ),
        (
            &[("/status", r#"{"resourceClaimStatuses":[{"name":"c"},{"name":"c"},{"name":"c"},{"name":"c"},{"name":"c"}]}"#)],
            &["status.resourceClaimStatuses: Too many: 5: must have at most 4 items"],
        ),
        (
            &[("/status", r#"{"conditions":[{"type":"a b","status":"x","reason":"1","observedGeneration":-1},{"type":"a b","status":"True","reason":""}]}"#)],
            &[
                r#"status.conditions[0].type: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#,
                r#"status.conditions[0].status: Unsupported value: "x": supported values: "False", "True", "Unknown""#,
                "status.conditions[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
                "status.conditions[0].lastTransitionTime: Required value",
                r#"status.conditions[0].reason: Invalid value: "1": a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"#,
                r#"status.conditions[1].type: Duplicate value: "a b""#,
                r#"status.conditions[1].type: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#,
                "status.conditions[1].lastTransitionTime: Required value",
                "status.conditions[1].reason: Required value",
            ],
        ),
    ]);
}
