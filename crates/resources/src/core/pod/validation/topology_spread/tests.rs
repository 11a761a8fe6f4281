//! Tests of topology spread constraints.

use pintle_features::Feature;
use pintle_meta::validation::{label_value, qualified_name};

use crate::core::pod::validation::testing::{pods, pods_with, wrong};

const AT: &str = "/spec/topologySpreadConstraints/-";
const MERGE: Feature = Feature::MatchLabelKeysInPodTopologySpreadSelectorMerge;
const KEYS: Feature = Feature::MatchLabelKeysInPodTopologySpread;

#[test]
fn constraints_have_what_they_need() {
    let label = wrong("spec.topologySpreadConstraints[0].labelSelector.matchLabels", "-", label_value);
    pods().refuses(&[
        (
            &[(AT, r#"{"maxSkew":0,"topologyKey":"","whenUnsatisfiable":""}"#)],
            &[
                "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
                "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
                r#"spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway""#,
            ],
        ),
        (
            &[(
                AT,
                r#"{"maxSkew":1,"topologyKey":"t","whenUnsatisfiable":"ScheduleAnyway","minDomains":0,"nodeAffinityPolicy":"a","nodeTaintsPolicy":"b"}"#,
            )],
            &[
                "spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero",
                "spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
                r#"spec.topologySpreadConstraints[0].nodeAffinityPolicy: Unsupported value: "a": supported values: "Honor", "Ignore""#,
                r#"spec.topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: "b": supported values: "Honor", "Ignore""#,
            ],
        ),
        (
            &[(
                AT,
                r#"{"maxSkew":1,"topologyKey":"t","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"a":"-"}}}"#,
            )],
            &[&label],
        ),
    ]);
}

#[test]
fn a_key_and_an_action_are_constrained_once() {
    let one = r#"{"maxSkew":1,"topologyKey":"t","whenUnsatisfiable":"DoNotSchedule","minDomains":1}"#;
    let other =
        r#"{"maxSkew":1,"topologyKey":"t","whenUnsatisfiable":"ScheduleAnyway","nodeTaintsPolicy":"Honor"}"#;
    let error = |place: usize| {
        format!(
            "spec.topologySpreadConstraints[{place}].{{topologyKey, whenUnsatisfiable}}: Duplicate value: \"{{t, DoNotSchedule}}\""
        )
    };
    pods().refuses(&[
        (&[(AT, one), (AT, other), (AT, one)], &[&error(0)]),
        (&[(AT, one), (AT, one), (AT, one)], &[&error(0), &error(1)]),
    ]);
    pods().accepts(&[&[(AT, one), (AT, other)]]);
}

fn constraint(rest: &str) -> String {
    format!(r#"{{"maxSkew":1,"topologyKey":"t","whenUnsatisfiable":"DoNotSchedule",{rest}}}"#)
}

#[test]
fn label_keys_are_added_to_the_selector_or_not_by_gates() {
    let labels = ("/metadata/labels", r#"{"a":"1"}"#);
    let selected = constraint(r#""labelSelector":{"matchLabels":{"a":"1"}},"matchLabelKeys":["a"]"#);
    let at = "spec.topologySpreadConstraints[0]";
    let why = "exists in both matchLabelKeys and labelSelector";
    let merged = format!("{at}[0]: Invalid value: \"a\": {why}");
    let unmerged = format!("{at}.matchLabelKeys[0]: Invalid value: \"a\": {why}");
    let key = wrong(&format!("{at}.matchLabelKeys[0]"), "a b", qualified_name);
    let none = format!("{at}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set");
    pods().refuses(&[(&[labels, (AT, &selected)], &[&merged])]);
    let legacy = pods_with(&[(MERGE, false)]);
    legacy.refuses(&[
        (&[labels, (AT, &selected)], &[&unmerged]),
        (&[(AT, &constraint(r#""matchLabelKeys":["a b"]"#))], &[&none, &key]),
        (
            &[(AT, &constraint(r#""labelSelector":{"matchExpressions":[{"key":"a","operator":"Exists"}]},"matchLabelKeys":["a"]"#))],
            &[&unmerged],
        ),
    ]);
    let good = constraint(r#""labelSelector":{},"matchLabelKeys":["a"]"#);
    for base in [pods(), legacy, pods_with(&[(MERGE, false), (KEYS, false)])] {
        base.accepts(&[&[labels, (AT, &good)]]);
    }
    // Without the feature the keys are dropped.
    pods_with(&[(MERGE, false), (KEYS, false)]).accepts(&[&[labels, (AT, &selected)]]);
}

#[test]
fn keys_of_the_old_pod_may_stay() {
    let change = ("/metadata/annotations", r#"{"x":"y"}"#);
    // As the server stores it where keys are merged.
    let merged = constraint(
        r#""labelSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["1"]}]},"matchLabelKeys":["a"]"#,
    );
    pods_with(&[(MERGE, false)]).accepts_update_of(&[(AT, &merged)], &[&[change]]);
    // Not valid by either rule: the other one is asked.
    let broken = constraint(
        r#""labelSelector":{"matchLabels":{"b":"1"},"matchExpressions":[{"key":"b","operator":"Exists"}]},"matchLabelKeys":["b"]"#,
    );
    let at = "spec.topologySpreadConstraints[0]";
    let why = "exists in both matchLabelKeys and labelSelector";
    let unmerged = format!("{at}.matchLabelKeys[0]: Invalid value: \"b\": {why}");
    pods().refuses_update_of(&[(AT, &broken)], &[(&[change], &[&unmerged])]);
    let twice = format!("{at}[0]: Invalid value: \"b\": {why}");
    pods_with(&[(MERGE, false)]).refuses_update_of(&[(AT, &broken)], &[(&[change], &[&twice])]);
    let selector = constraint(r#""labelSelector":{"matchLabels":{"a":"-"}}"#);
    pods().accepts_update_of(&[(AT, &selector)], &[&[change]]);
}
