//! Cases of updates of jobs.

use pintle_features::Feature;

use crate::batch::job::tests::{GENERATED, INDEXED, JOB};
use crate::framework::validation::testing::Base;

/// Labels and the selector as a create generates them.
const STORED: &[(&str, &str)] = &[
    (
        "/spec/template/metadata/labels",
        r#"{"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"j","controller-uid":"u","job-name":"j"}"#,
    ),
    ("/spec/selector", GENERATED),
];

fn stored<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    STORED.iter().chain(more).copied().collect()
}

#[test]
fn errors_of_the_spec_are_reported_twice_on_updates() {
    let base = Base::new("batch", "jobs", JOB);
    let negative = "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0";
    let finalizer = "metadata.finalizers[0]: Invalid value: \"x\": name is neither a standard finalizer name nor is it fully \
                     qualified";
    base.refuses_update_of(
        &stored(&[("/metadata/finalizers", r#"["x"]"#)]),
        &[(&[("/spec/backoffLimit", "-1")], &[finalizer, negative, finalizer, negative])],
    );
    base.accepts_update_of(&stored(&[]), &[&[("/spec/backoffLimit", "3"), ("/spec/suspend", "true")]]);
    // Jobs of old releases lack labels with a domain.
    let old: &[(&str, &str)] = &[
        ("/spec/template/metadata/labels", r#"{"controller-uid":"u","job-name":"j"}"#),
        ("/spec/selector", r#"{"matchLabels":{"controller-uid":"u"}}"#),
    ];
    let manual = [old, &[("/spec/manualSelector", "true")]].concat();
    base.accepts_update_of(&manual, &[&[("/spec/backoffLimit", "3")]]);
    let required = |key: &str, value: &str| {
        format!("spec.template.metadata.labels[{key}]: Required value: must be '{value}'")
    };
    // Labels may change while it is suspended, so that only their absence is wrong.
    base.refuses_update_of(
        &stored(&[("/spec/suspend", "true")]),
        &[(
            &[("/spec/template/metadata/labels", r#"{"batch.kubernetes.io/controller-uid":"u"}"#)],
            &[
                &required("controller-uid", "u"),
                &required("job-name", "j"),
                &required("batch.kubernetes.io/job-name", "j"),
            ],
        )],
    );
}

#[test]
fn fields_that_do_not_change() {
    let base = Base::new("batch", "jobs", INDEXED);
    let before = stored(&[]);
    base.refuses_update_of(
        &before,
        &[
            (
                &[("/spec/completions", "3")],
                &["spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism"],
            ),
            (
                &[("/spec/backoffLimitPerIndex", "1")],
                &["spec.backoffLimitPerIndex: Invalid value: 1: field is immutable"],
            ),
            (&[("/spec/managedBy", r#""a.io/x""#)], &[r#"spec.managedBy: Invalid value: "a.io/x": field is immutable"#]),
            (
                &[("/spec/podFailurePolicy", r#"{"rules":[]}"#), ("/spec/podReplacementPolicy", r#""Failed""#)],
                &[r#"spec.podFailurePolicy: Invalid value: {"Rules":[]}: field is immutable"#],
            ),
            (
                &[("/spec/successPolicy", r#"{"rules":[{"succeededCount":1}]}"#)],
                &[
                    r#"spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: field is immutable"#,
                ],
            ),
        ],
    );
    base.accepts_update_of(&before, &[&[("/spec/completions", "3"), ("/spec/parallelism", "3")]]);
    let base = Base::new("batch", "jobs", JOB);
    base.refuses_update_of(
        &before,
        &[
            (&[("/spec/completions", "3")], &["spec.completions: Invalid value: 3: field is immutable"]),
            (
                &[("/spec/completionMode", r#""Indexed""#)],
                &[r#"spec.completionMode: Invalid value: "Indexed": field is immutable"#],
            ),
        ],
    );
    let manual =
        [("/spec/manualSelector", "true"), ("/spec/template/metadata/labels", r#"{"a":"b","c":"d"}"#)];
    let manual = [&manual[..], &[("/spec/selector", r#"{"matchLabels":{"a":"b"}}"#)]].concat();
    base.refuses_update_of(
        &manual,
        &[(
            &[("/spec/selector/matchLabels", r#"{"c":"d"}"#)],
            &[r#"spec.selector: Invalid value: {"matchLabels":{"c":"d"}}: field is immutable"#],
        )],
    );
}

const IMAGE: &[(&str, &str)] = &[("/spec/template/spec/containers/0/image", r#""j""#)];
const RESOURCES: &[(&str, &str)] =
    &[("/spec/template/spec/containers/0/resources", r#"{"requests":{"cpu":"1"}}"#)];
const NODES: &[(&str, &str)] = &[
    ("/spec/template/spec/nodeSelector", r#"{"a":"b"}"#),
    ("/spec/template/spec/tolerations", r#"[{"key":"a","operator":"Exists"}]"#),
    ("/spec/template/spec/schedulingGates", r#"[{"name":"g"}]"#),
    ("/spec/template/metadata/annotations", r#"{"a":"b"}"#),
    ("/spec/template/metadata/labels/x", r#""y""#),
];

/// Checks whether updates of a stored job change its image, resources and place.
#[track_caller]
fn check_template(set: &[(Feature, bool)], before: &[(&str, &str)], resources: bool, nodes: bool) {
    let base = Base::with_features("batch", "jobs", JOB, set);
    let errors = |changes: &[(&str, &str)]| base.update_errors(&stored(before), changes);
    assert!(errors(IMAGE).len() == 1 && errors(IMAGE)[0].ends_with("field is immutable"));
    for (changes, allowed) in [(RESOURCES, resources), (NODES, nodes)] {
        assert_eq!(errors(changes).is_empty(), allowed, "{changes:?} of {before:?}: {:?}", errors(changes));
    }
}

#[test]
fn templates_change_while_no_pod_exists() {
    const SUSPENDED: (&str, &str) = ("/spec/suspend", "true");
    const STARTED: (&str, &str) = ("/status/startTime", r#""2026-01-01T00:00:00Z""#);
    const CONDITION: (&str, &str) = ("/status/conditions", r#"[{"type":"Suspended","status":"True"}]"#);
    const ACTIVE: (&str, &str) = ("/status/active", "1");
    let resources = Feature::MutablePodResourcesForSuspendedJobs;
    let scheduling = Feature::MutableSchedulingDirectivesForSuspendedJobs;
    check_template(&[], &[], false, false);
    check_template(&[], &[SUSPENDED], true, true);
    check_template(&[(resources, false)], &[SUSPENDED], false, true);
    check_template(&[(scheduling, false)], &[SUSPENDED], true, true);
    // Once it started, pods may exist until the controller says otherwise.
    check_template(&[], &[SUSPENDED, STARTED], false, false);
    check_template(&[], &[SUSPENDED, STARTED, CONDITION], true, true);
    check_template(&[], &[SUSPENDED, STARTED, CONDITION, ACTIVE], false, false);
    check_template(&[(scheduling, false)], &[SUSPENDED, STARTED, CONDITION], true, false);
    check_template(&[(scheduling, false)], &[SUSPENDED, ACTIVE], false, true);
}

#[test]
fn affinity_to_nodes_changes_while_no_pod_exists() {
    let base = Base::new("batch", "jobs", JOB);
    let terms = r#"{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}"#;
    let others = r#"{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","labelSelector":{"matchLabels":{"a":"b"}}}]}"#;
    let nodes = format!(r#"{{"nodeAffinity":{terms}}}"#);
    let pods = format!(r#"{{"podAffinity":{others}}}"#);
    let both = format!(r#"{{"nodeAffinity":{terms},"podAffinity":{others}}}"#);
    const AFFINITY: &str = "/spec/template/spec/affinity";
    let suspended = |more: &'static [(&'static str, &'static str)]| {
        stored(&[&[("/spec/suspend", "true")], more].concat())
    };
    base.accepts_update_of(&suspended(&[]), &[&[(AFFINITY, &nodes)]]);
    let with = |affinity: &str| -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> =
            suspended(&[]).into_iter().map(|(path, value)| (path.to_owned(), value.to_owned())).collect();
        all.push((AFFINITY.to_owned(), affinity.to_owned()));
        all
    };
    let check = |before: &str, change: &str, allowed: bool| {
        let before = with(before);
        let before: Vec<(&str, &str)> =
            before.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect();
        let errors = base.update_errors(&before, &[(AFFINITY, change)]);
        assert_eq!(errors.is_empty(), allowed, "{change}: {errors:?}");
    };
    check(&nodes, "", true);
    check(&both, "", false);
    check(&pods, &both, true);
    check(&both, &pods, true);
    check(&nodes, &pods, false);
    let errors = base.update_errors(&suspended(&[]), &[(AFFINITY, &pods)]);
    assert!(errors.len() == 1 && errors[0].starts_with("spec.template.spec: Invalid value: {"), "{errors:?}");
}
