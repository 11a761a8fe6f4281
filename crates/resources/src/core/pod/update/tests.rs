//! Tests of updates of pods.

use pintle_features::Feature;
use pintle_registry::Context;

use super::*;
use crate::core::pod::validation::testing::{POD, pods, pods_with};
use crate::framework::defaults;
use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::of;
use crate::framework::validation::testing::{Base, Change};

const GATED: Change<'static> = ("/spec/schedulingGates", r#"[{"name":"g"}]"#);

/// Returns the last error of an update from one pod to another, given by their specs beside the container.
fn last_error(old: &str, new: &str) -> String {
    let subject = of("", "pods");
    let read = |rest: &str| {
        let mut pod = subject.tree(&POD.replacen(r#""spec":{"#, &format!(r#""spec":{{{rest}"#), 1));
        defaults::apply(subject.stored_type(), &mut pod, &Settings::default().defaults());
        pod
    };
    let (mut new, old) = (read(new), read(old));
    subject.strategy.prepare_for_update(&Context::default(), &mut new, &old);
    let errors = subject.strategy.validate_update(&Context::default(), &new, &old);
    errors.last().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn some_fields_may_change() {
    let deadline = |seconds: &'static str| ("/spec/activeDeadlineSeconds", seconds);
    pods().accepts_update(&[
        &[],
        &[deadline("5")],
        &[("/spec/tolerations", r#"[{"key":"a"}]"#)],
        &[("/spec/containers/0/image", r#""j""#)],
    ]);
    pods().accepts_update_of(&[deadline("5")], &[&[deadline("4")], &[deadline("5")]]);
    pods().accepts_update_of(
        &[("/spec/tolerations", r#"[{"key":"a","effect":"NoExecute","tolerationSeconds":1}]"#)],
        &[&[(
            "/spec/tolerations",
            r#"[{"key":"b"},{"key":"a","effect":"NoExecute","tolerationSeconds":2}]"#,
        )]],
    );
    pods().accepts_update_of(&[GATED], &[&[("/spec/schedulingGates", "[]")]]);
    let grace = |seconds: &'static str| ("/spec/terminationGracePeriodSeconds", seconds);
    pods().accepts_update_of(&[grace("-1")], &[&[grace("1")]]);
    // Another spelling of the same.
    let memory = |amount: &'static str| ("/spec/containers/0/resources/limits/memory", amount);
    pods().accepts_update_of(
        &[memory(r#""1Gi""#)],
        &[&[memory(r#""1073741824""#), ("/spec/containers/0/resources/requests/memory", r#""1Gi""#)]],
    );
}

#[test]
fn changes_are_limited() {
    let deadline = |seconds: &'static str| ("/spec/activeDeadlineSeconds", seconds);
    let negative = [
        "spec.activeDeadlineSeconds: Invalid value: -1: must be between 1 and 2147483647, inclusive",
        "spec.activeDeadlineSeconds: Invalid value: -1: must be between 0 and 2147483647, inclusive",
    ];
    pods().refuses_update(&[
        (&[deadline("-1")], &negative),
        (
            &[("/spec/schedulingGates", r#"[{"name":"g"},{"name":"h"},{"name":"g"}]"#)],
            &[
                r#"spec.schedulingGates[2]: Duplicate value: "g""#,
                "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'h'",
                "spec.schedulingGates[2].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'",
            ],
        ),
        (
            &[("/spec/containers/-", r#"{"name":"d","image":"i"}"#)],
            &["spec.containers: Forbidden: pod updates may not add or remove containers"],
        ),
        (
            &[("/spec/initContainers/-", r#"{"name":"d","image":"i"}"#)],
            &["spec.initContainers: Forbidden: pod updates may not add or remove containers"],
        ),
        (
            &[("/spec/containers/0/image", r#""""#), ("/spec/containers/0/imagePullPolicy", r#""Always""#)],
            &["spec.containers[0].image: Required value", "spec.containers[0].image: Required value"],
        ),
        (
            &[("/spec/containers/0/image", r#"" j""#), ("/spec/containers/0/imagePullPolicy", r#""Always""#)],
            &[
                r#"spec.containers[0].image: Invalid value: " j": must not have leading or trailing whitespace"#,
                r#"spec.containers[0].image: Invalid value: " j": must not have leading or trailing whitespace"#,
            ],
        ),
        // All rules of new pods hold, and those of tolerations once more.
        (
            &[("/spec/tolerations", r#"[{"key":"a","operator":"x"}]"#)],
            &[
                r#"spec.tolerations[0].operator: Unsupported value: "x": supported values: "Equal", "Exists""#,
                r#"spec.tolerations[0].operator: Unsupported value: "x": supported values: "Equal", "Exists""#,
            ],
        ),
    ]);
    pods().refuses_update_of(
        &[deadline("5")],
        &[
            (
                &[deadline("6")],
                &["spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value"],
            ),
            (
                &[deadline("")],
                &[
                    "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
                ],
            ),
        ],
    );
    pods().refuses_update_of(
        &[("/spec/tolerations", r#"[{"key":"a"}]"#)],
        &[(
            &[("/spec/tolerations", r#"[{"key":"a","operator":"Exists"}]"#)],
            &["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
        )],
    );
}

#[test]
fn all_else_stays() {
    let begin = format!("spec: Forbidden: pod updates may not change fields other than {MUTABLE}\n@@ ");
    let found = last_error("", r#""nodeName":"n","#);
    assert!(found.starts_with(&begin), "{found}");
    assert!(found.contains("\n- \"NodeName\": \"\",\n+ \"NodeName\": \"n\",\n"), "{found}");
    let found = last_error(r#""terminationGracePeriodSeconds":-1,"#, r#""terminationGracePeriodSeconds":2,"#);
    assert!(found.starts_with(&begin), "{found}");
    // Fields that may change are not in the difference.
    let found = last_error("", r#""nodeName":"n","tolerations":[{"key":"a"}],"activeDeadlineSeconds":5,"#);
    assert!(!found.contains("\n+ \"Tolerations\"") && !found.contains("\n+ \"ActiveDeadline"), "{found}");
}

fn affinity(terms: &str) -> String {
    format!(
        r#"{{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":{terms}}}}}}}"#
    )
}

#[test]
fn gated_pods_may_be_restricted_further() {
    let selector = |labels: &'static str| ("/spec/nodeSelector", labels);
    pods().accepts_update_of(&[GATED], &[&[selector(r#"{"a":"b"}"#)]]);
    pods().accepts_update_of(&[GATED, selector(r#"{"a":"b"}"#)], &[&[selector(r#"{"a":"b","c":"d"}"#)]]);
    let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
    let changed = format!(r#"spec.nodeSelector: Invalid value: {{"a":"c"}}: {why}"#);
    let removed = format!("spec.nodeSelector: Invalid value: null: {why}");
    pods().refuses_update_of(
        &[GATED, selector(r#"{"a":"b"}"#)],
        &[(&[selector(r#"{"a":"c"}"#)], &[&changed]), (&[selector("")], &[&removed])],
    );
    let at = "/spec/affinity";
    let one = affinity(r#"[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]"#);
    let more = affinity(
        r#"[{"matchExpressions":[{"key":"a","operator":"Exists"},{"key":"b","operator":"Exists"}],"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]}]"#,
    );
    pods().accepts_update_of(&[GATED], &[&[(at, &one)]]);
    pods().accepts_update_of(&[GATED, (at, "{}")], &[&[(at, &one)]]);
    pods().accepts_update_of(&[GATED, (at, &one)], &[&[(at, &more)]]);
    // Without scheduling gates, that is over.
    assert!(last_error("", r#""nodeSelector":{"a":"b"},"#).contains("pod updates may not change"));
}

#[test]
fn node_affinity_of_gated_pods_loses_nothing() {
    let path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let gate = r#""schedulingGates":[{"name":"g"}],"#;
    let with = |terms: &str| format!(r#"{gate}"affinity":{},"#, affinity(terms));
    let (a, b) = (r#"{"key":"a","operator":"Exists"}"#, r#"{"key":"b","operator":"Exists"}"#);
    let name = r#"{"key":"metadata.name","operator":"In","values":["n"]}"#;
    let both = with(&format!(r#"[{{"matchExpressions":[{a},{b}],"matchFields":[{name}]}}]"#));
    let ends = "only additions are allowed (no mutations or deletions)";
    for new in [
        format!(r#"[{{"matchExpressions":[{a}],"matchFields":[{name}]}}]"#),
        format!(r#"[{{"matchExpressions":[{b},{a}],"matchFields":[{name}]}}]"#),
        format!(r#"[{{"matchExpressions":[{a},{b}]}}]"#),
    ] {
        let found = last_error(&both, &with(&new));
        assert!(
            found.starts_with(&format!("{path}[0]: Invalid value: {{")) && found.ends_with(ends),
            "{found}"
        );
    }
    // An empty term selects nothing.
    let found = last_error(&with("[{}]"), &with(&format!(r#"[{{"matchExpressions":[{a}]}}]"#)));
    assert!(found.ends_with(ends), "{found}");
    let found = last_error(&both, gate);
    let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
    assert_eq!(found, format!("{path}: Invalid value: null: {why}"));
    let found = last_error(&both, &with(&format!(r#"[{{"matchExpressions":[{a},{b}]}},{{}}]"#)));
    assert!(found.starts_with(&format!("{path}: Invalid value: [")) && found.ends_with(why), "{found}");
}

#[test]
fn pod_affinity_of_gated_pods_stays() {
    let gate = r#""schedulingGates":[{"name":"g"}],"#;
    let pods = r#""podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"t"}]}"#;
    let nodes = r#""nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}"#;
    let with = |affinity: &str| format!(r#"{gate}"affinity":{{{affinity}}},"#);
    for (old, new) in [
        (gate.to_owned(), with(&format!("{pods},{nodes}"))),
        (with(&format!("{pods},{nodes}")), gate.to_owned()),
        (with(pods), with(nodes)),
    ] {
        let found = last_error(&old, &new);
        assert!(found.contains("pod updates may not change") && found.contains("\"PodAffinity\""), "{found}");
        assert!(
            !found.contains("+   \"NodeAffinity\": {") && !found.contains("-   \"NodeAffinity\": {"),
            "{found}"
        );
    }
}

const DEBUGGED: &str = r#"{"metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c","image":"i"}],"ephemeralContainers":[{"name":"d","image":"i"}]}}"#;

#[test]
fn ephemeral_containers_come_and_stay() {
    let base = Base::new("", "pods/ephemeralcontainers", DEBUGGED);
    let list = "/spec/ephemeralContainers";
    base.accepts_update(&[
        &[("/spec/ephemeralContainers/-", r#"{"name":"e","image":"i"}"#)],
        &[(list, r#"[{"name":"e","image":"i"},{"name":"d","image":"i"}]"#)],
        // Anything else is put back.
        &[("/spec/nodeName", r#""n""#), ("/metadata/labels", r#"{"a":"b"}"#)],
    ]);
    base.refuses_update(&[
        (
            &[(list, "[]")],
            &["spec.ephemeralContainers: Forbidden: existing ephemeral containers \"d\" may not be removed\n"],
        ),
        (
            &[("/spec/ephemeralContainers/-", r#"{"name":"e"}"#)],
            &["spec.ephemeralContainers[1].image: Required value"],
        ),
        (
            &[("/spec/ephemeralContainers/0/image", r#""j""#)],
            &[
                "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"d\" may not be changed\n@@ -1,6 +1,6 @@\n {\n  \"Name\": \"d\",\n- \"Image\": \"i\",\n+ \"Image\": \"j\",\n  \"Command\": null,\n  \"Args\": null,\n  \"WorkingDir\": \"\",\n",
            ],
        ),
    ]);
    base.refuses_update_of(
        &[("/metadata/annotations", r#"{"kubernetes.io/config.mirror":"x"}"#)],
        &[(
            &[("/spec/ephemeralContainers/-", r#"{"name":"E"}"#)],
            &["[]: Forbidden: static pods do not support ephemeral containers"],
        )],
    );
}

#[test]
fn tolerations_of_old_pods_keep_their_operators() {
    let with = ("/spec/tolerations", r#"[{"key":"a","operator":"Gt","value":"1"}]"#);
    let label = ("/metadata/labels", r#"{"a":"b"}"#);
    pods().accepts_update_of(&[with], &[&[label]]);
    pods_with(&[(Feature::TaintTolerationComparisonOperators, true)]).accepts_update(&[&[with]]);
}
