//! Cases of jobs: specs, policies, selectors and updates.

use pintle_features::Feature;
use pintle_registry::{DeleteOptions, GarbageCollection, Propagation};

use crate::framework::strategy::testing::{of, text, warnings};
use crate::framework::validation::testing::Base;

const JOB: &str = r#"{"metadata":{"name":"j","namespace":"n","uid":"u","labels":{"l":"m"}},"spec":{
    "template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}"#;
const INDEXED: &str = r#"{"metadata":{"name":"j","namespace":"n","uid":"u","labels":{"l":"m"}},"spec":{
    "completionMode":"Indexed","completions":5,"parallelism":2,
    "template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}"#;
/// A change of the selector that no case is about.
const GENERATED: &str = r#"{"matchLabels":{"batch.kubernetes.io/controller-uid":"u"}}"#;

fn job(spec: &str) -> String {
    format!(r#"{{"metadata":{{"name":"j","namespace":"n","uid":"u"}},"spec":{{{spec}}}}}"#)
}

#[test]
fn numbers() {
    let base = Base::new("batch", "jobs", JOB);
    let negative =
        |field: &str| format!("spec.{field}: Invalid value: -1: must be greater than or equal to 0");
    base.refuses(&[
        (
            &[
                ("/spec/parallelism", "-1"),
                ("/spec/completions", "-1"),
                ("/spec/activeDeadlineSeconds", "-1"),
                ("/spec/backoffLimit", "-1"),
                ("/spec/ttlSecondsAfterFinished", "-1"),
            ],
            &[
                &negative("parallelism"),
                &negative("completions"),
                &negative("activeDeadlineSeconds"),
                &negative("backoffLimit"),
                &negative("ttlSecondsAfterFinished"),
            ],
        ),
        (
            &[("/spec/backoffLimitPerIndex", "-1"), ("/spec/maxFailedIndexes", "-1")],
            &[
                &negative("backoffLimitPerIndex"),
                &negative("maxFailedIndexes"),
                "spec.backoffLimitPerIndex: Invalid value: -1: requires indexed completion mode",
                "spec.maxFailedIndexes: Invalid value: -1: requires indexed completion mode",
            ],
        ),
        (
            &[("/spec/maxFailedIndexes", "3")],
            &[
                "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
                "spec.maxFailedIndexes: Invalid value: 3: requires indexed completion mode",
            ],
        ),
    ]);
    base.accepts(&[&[("/spec/completions", "0"), ("/spec/parallelism", "0")]]);
}

#[test]
fn modes_managers_and_replacements() {
    let base = Base::new("batch", "jobs", JOB);
    base.refuses(&[
        (
            &[("/spec/completionMode", r#""Other""#)],
            &[r#"spec.completionMode: Unsupported value: "Other": supported values: "NonIndexed", "Indexed""#],
        ),
        (
            &[("/spec/managedBy", r#""me""#)],
            &[r#"spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")"#],
        ),
        (
            &[("/spec/managedBy", &format!(r#""a.io/{}""#, "x".repeat(64)))],
            &["spec.managedBy: Too long: may not be more than 63 bytes"],
        ),
        (
            &[("/spec/podReplacementPolicy", r#""Other""#)],
            &[
                r#"spec.podReplacementPolicy: Unsupported value: "Other": supported values: "Failed", "TerminatingOrFailed""#,
            ],
        ),
        (
            &[
                ("/spec/podReplacementPolicy", r#""TerminatingOrFailed""#),
                ("/spec/podFailurePolicy", r#"{"rules":[]}"#),
            ],
            &[
                r#"spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed""#,
            ],
        ),
    ]);
    base.accepts(&[&[("/spec/managedBy", r#""a.io/x""#), ("/spec/podReplacementPolicy", r#""Failed""#)]]);
}

#[test]
fn indexed_jobs() {
    let base = Base::new("batch", "jobs", INDEXED);
    let high = "when completions are above 100000 and used with backoff limit per index";
    base.refuses(&[
        (
            &[("/spec/completions", "")],
            &["spec.completions: Required value: when completion mode is Indexed"],
        ),
        (
            &[("/spec/parallelism", "100001")],
            &["spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed"],
        ),
        (
            &[("/spec/maxFailedIndexes", "6"), ("/spec/backoffLimitPerIndex", "1")],
            &["spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions"],
        ),
        (
            &[
                ("/spec/completions", "100001"),
                ("/spec/maxFailedIndexes", "100001"),
                ("/spec/backoffLimitPerIndex", "1"),
                ("/spec/parallelism", "10001"),
            ],
            &[
                "spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 100000",
                &format!("spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 {high}"),
                &format!("spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 10000 {high}"),
            ],
        ),
        (
            &[("/spec/completions", "100001"), ("/spec/backoffLimitPerIndex", "1")],
            &["spec.maxFailedIndexes: Required value: must be specified when completions is above 100000"],
        ),
        (
            &[("/metadata/name", r#""j.k""#)],
            &[
                r#"metadata.name: Invalid value: "j.k": will not able to create pod with invalid DNS label: j.k-4"#,
            ],
        ),
    ]);
    base.accepts(&[&[("/spec/completions", "0")]]);
}

#[test]
fn pods_end() {
    let base = Base::new("batch", "jobs", JOB);
    const POLICY: &str = "/spec/template/spec/restartPolicy";
    base.refuses(&[
        (
            &[(POLICY, "")],
            &[r#"spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never""#],
        ),
        (
            &[(POLICY, r#""Sometimes""#)],
            &[
                r#"spec.template.spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never""#,
                r#"spec.template.spec.restartPolicy: Unsupported value: "Sometimes": supported values: "OnFailure", "Never""#,
            ],
        ),
        (
            &[(POLICY, r#""OnFailure""#), ("/spec/podFailurePolicy", r#"{"rules":[]}"#)],
            &[
                r#"spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified"#,
            ],
        ),
    ]);
    base.accepts(&[&[(POLICY, r#""OnFailure""#)]]);
}

#[test]
fn pod_failure_policies() {
    let base = Base::new("batch", "jobs", INDEXED);
    let rule = |rule: &str| format!(r#"{{"rules":[{rule}]}}"#);
    let many = |count: usize, item: &str| vec![item; count].join(",");
    const POLICY: &str = "/spec/podFailurePolicy";
    const CONDITION: &str = r#"{"type":"a","status":"True"}"#;
    let of_codes = |codes: &str| rule(&format!(r#"{{"action":"Count","onExitCodes":{{{codes}}}}}"#));
    let codes: Vec<String> = (1..=256).map(|code| code.to_string()).collect();
    base.refuses(&[
        (
            &[(POLICY, &rule(&many(21, &format!(r#"{{"action":"Count","onPodConditions":[{CONDITION}]}}"#))))],
            &["spec.podFailurePolicy.rules: Too many: 21: must have at most 20 items"],
        ),
        (
            &[(POLICY, &rule(r#"{"action":""}"#))],
            &[
                r#"spec.podFailurePolicy.rules[0].action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]"#,
                "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
            ],
        ),
        (
            &[(
                POLICY,
                &rule(&format!(
                    r#"{{"action":"FailIndex","onPodConditions":[{CONDITION}],"onExitCodes":{{"operator":"In","values":[1]}}}}"#
                )),
            )],
            &[
                r#"spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set"#,
                "spec.podFailurePolicy.rules[0]: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported",
            ],
        ),
        (
            &[(POLICY, &rule(&format!(r#"{{"action":"Other","onPodConditions":[{CONDITION}]}}"#)))],
            &[
                r#"spec.podFailurePolicy.rules[0].action: Unsupported value: "Other": supported values: "Count", "FailIndex", "FailJob", "Ignore""#,
            ],
        ),
        (
            &[(POLICY, &of_codes(r#""operator":"","values":[]"#))],
            &[
                r#"spec.podFailurePolicy.rules[0].onExitCodes.operator: Required value: valid values: ["In" "NotIn"]"#,
                "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: []: at least one value is required",
            ],
        ),
        (
            &[(POLICY, &of_codes(r#""operator":"Near","values":[1],"containerName":"x""#))],
            &[
                r#"spec.podFailurePolicy.rules[0].onExitCodes.operator: Unsupported value: "Near": supported values: "In", "NotIn""#,
                r#"spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer names in the pod template"#,
            ],
        ),
        (
            &[(POLICY, &of_codes(&format!(r#""operator":"In","values":[{}]"#, codes.join(","))))],
            &["spec.podFailurePolicy.rules[0].onExitCodes.values: Too many: 256: must have at most 255 items"],
        ),
        (
            &[(POLICY, &of_codes(r#""operator":"In","values":[2,2,0]"#))],
            &[
                "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Duplicate value: 2",
                "spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Invalid value: 0: must not be 0 for the In operator",
                "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,2,0]: must be ordered",
            ],
        ),
        (
            &[(
                POLICY,
                &rule(&format!(r#"{{"action":"Ignore","onPodConditions":[{}]}}"#, many(21, CONDITION))),
            )],
            &["spec.podFailurePolicy.rules[0].onPodConditions: Too many: 21: must have at most 20 items"],
        ),
        (
            &[(POLICY, &rule(r#"{"action":"Ignore","onPodConditions":[{"type":"/x","status":"Maybe"}]}"#))],
            &[
                r#"spec.podFailurePolicy.rules[0].onPodConditions[0].type: Invalid value: "/x": prefix part must be non-empty"#,
                r#"spec.podFailurePolicy.rules[0].onPodConditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown""#,
            ],
        ),
    ]);
    let valid = of_codes(r#""operator":"NotIn","values":[0,3],"containerName":"c""#);
    base.accepts(&[&[(POLICY, &valid)], &[(POLICY, r#"{"rules":[]}"#)]]);
}

#[test]
fn success_policies() {
    const POLICY: &str = "/spec/successPolicy";
    Base::new("batch", "jobs", JOB).refuses(&[(
        &[(POLICY, r#"{"rules":[{"succeededCount":1}]}"#)],
        &[
            r#"spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode"#,
        ],
    )]);
    let base = Base::new("batch", "jobs", INDEXED);
    let rule = |rule: &str| format!(r#"{{"rules":[{rule}]}}"#);
    let indexes = |list: &str| rule(&format!(r#"{{"succeededIndexes":"{list}"}}"#));
    let path = "spec.successPolicy.rules[0]";
    let wrong = |list: &str, why: &str| {
        format!(r#"{path}.succeededIndexes: Invalid value: "{list}": error parsing succeededIndexes: {why}"#)
    };
    base.refuses(&[
        (
            &[(POLICY, r#"{"rules":[]}"#)],
            &["spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy is specified"],
        ),
        (
            &[(POLICY, &rule(&vec![r#"{"succeededCount":1}"#; 21].join(",")))],
            &["spec.successPolicy.rules: Too many: 21: must have at most 20 items"],
        ),
        (
            &[(POLICY, &rule("{}"))],
            &[&format!("{path}: Required value: at least one of succeededCount or succeededIndexes must be specified")],
        ),
        (&[(POLICY, &indexes("1,x"))], &[&wrong("1,x", r#"cannot convert string to integer for index: \"x\""#).replace('\\', "")]),
        (&[(POLICY, &indexes("1-x"))], &[&wrong("1-x", r#"cannot convert string to integer for index: "x""#)]),
        (&[(POLICY, &indexes("5"))], &[&wrong("5", r#"too large index: "5""#)]),
        (&[(POLICY, &indexes("1-5"))], &[&wrong("1-5", r#"too large index: "5""#)]),
        (&[(POLICY, &indexes("3-3"))], &[&wrong("3-3", "non-increasing order, previous: 3, current: 3")]),
        (&[(POLICY, &indexes("0-2,2"))], &[&wrong("0-2,2", "non-increasing order, previous: 2, current: 2")]),
        (
            &[(POLICY, &indexes("1-2-3"))],
            &[&wrong(
                "1-2-3",
                r#"the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by '-'"#,
            )],
        ),
        (
            &[(POLICY, &rule(r#"{"succeededCount":6,"succeededIndexes":"0,2-3"}"#))],
            &[
                &format!("{path}.succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of specified completions)"),
                &format!(
                    "{path}.succeededCount: Invalid value: 6: must be less than or equal to 3 (the number of indexes in the \
                     specified succeededIndexes field)"
                ),
            ],
        ),
        (
            &[(POLICY, &rule(r#"{"succeededCount":-1}"#))],
            &[&format!("{path}.succeededCount: Invalid value: -1: must be greater than or equal to 0")],
        ),
        // Without completions there is nothing to compare with.
        (
            &[(POLICY, &rule(r#"{"succeededCount":6}"#)), ("/spec/completions", "")],
            &["spec.completions: Required value: when completion mode is Indexed"],
        ),
    ]);
    let long = format!("0{}", ",1".repeat(33_000));
    base.refuses(&[(
        &[(POLICY, &indexes(&long))],
        &[
            &format!("{path}.succeededIndexes: Too long: may not be more than 65536 bytes"),
            &wrong(&long, "non-increasing order, previous: 1, current: 1"),
        ],
    )]);
    base.accepts(&[
        &[(POLICY, &rule(r#"{"succeededCount":3,"succeededIndexes":"0,2-3"}"#))],
        &[(POLICY, &rule(r#"{"succeededIndexes":""}"#))],
    ]);
}

#[test]
fn selectors_are_generated() {
    let base = Base::new("batch", "jobs", JOB);
    let labels = |rest: &str| {
        format!(
            r#"{{"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"j","controller-uid":"u","job-name":"{rest}"}}"#
        )
    };
    base.refuses(&[
        (
            &[("/spec/template/metadata/labels/job-name", r#""x""#)],
            &[&format!("spec.template.metadata.labels[job-name]: Invalid value: {}: must be 'j'", labels("x"))],
        ),
        (
            &[("/spec/selector", r#"{"matchLabels":{"a":"b"}}"#)],
            &[
                r#"spec.selector: Invalid value: {"matchLabels":{"a":"b","batch.kubernetes.io/controller-uid":"u"}}: `selector` not auto-generated"#,
                &format!(
                    "spec.template.metadata.labels: Invalid value: {}: `selector` does not match template `labels`",
                    labels("j")
                ),
            ],
        ),
        (
            &[("/spec/selector", r#"{"matchExpressions":[{"key":"a","operator":"Near"}]}"#)],
            &[
                r#"spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator"#,
            ],
        ),
        (&[("/spec/manualSelector", "true")], &[
            "spec.selector: Required value",
            "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
        ]),
    ]);
    base.refuses(&[(&[("/metadata/uid", "")], &["metadata.uid: Required value"])]);
    base.accepts(&[&[
        ("/spec/manualSelector", "true"),
        ("/spec/selector", r#"{"matchLabels":{"a":"b"}}"#),
        ("/spec/template/metadata/labels", r#"{"a":"b"}"#),
    ]]);
}

/// What a create has made of the labels and the selector.
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

#[test]
fn a_job_selects_its_pods_by_its_identity() {
    let created = of("batch", "jobs").created(&job(r#""manualSelector":false,"template":{}"#));
    assert_eq!(
        text(created.at(&["spec", "template", "metadata"]).unwrap()),
        r#"{"labels":{"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"j","controller-uid":"u","job-name":"j"}}"#
    );
    assert_eq!(text(created.at(&["spec", "selector"]).unwrap()), GENERATED);
    assert_eq!(created.generation(), 1);
    // Labels that are set stay, and validation rejects wrong ones.
    let given = r#""manualSelector":false,"selector":{"matchLabels":{"a":"b"}},
        "template":{"metadata":{"labels":{"job-name":"x"}}}"#;
    let created = of("batch", "jobs").created(&job(given));
    assert_eq!(created.text_at(&["spec", "template", "metadata", "labels", "job-name"]), "x");
    assert_eq!(
        text(created.at(&["spec", "selector", "matchLabels"]).unwrap()),
        r#"{"a":"b","batch.kubernetes.io/controller-uid":"u"}"#
    );
    let by_hand = of("batch", "jobs").created(&job(r#""manualSelector":true"#));
    assert!(!text(&by_hand).contains("controller-uid"));
}

#[test]
fn labels_that_a_job_has_from_its_template_are_the_templates() {
    let of_job = pintle_schema::find("batch/v1.Job").unwrap();
    let created = |labels: &str| {
        let json = format!(
            r#"{{"metadata":{{"name":"j","namespace":"n","uid":"u"{labels}}},"spec":{{"template":{{"metadata":{{"labels":{{"a":"b"}}}}}}}}}}"#
        );
        let mut object = pintle_codec::json::decode(of_job, json.as_bytes()).unwrap().value;
        crate::framework::defaults::apply(of_job, &mut object, &Default::default());
        let mut object = crate::framework::conversion::convert_from(of_job, of_job, object).unwrap();
        super::generate_selector(&mut object);
        text(object.at(&["metadata", "labels"]).unwrap())
    };
    assert_eq!(
        created(""),
        r#"{"a":"b","batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"j","controller-uid":"u","job-name":"j"}"#
    );
    // Equal labels of its own are its own.
    assert_eq!(created(r#","labels":{"a":"b"}"#), r#"{"a":"b"}"#);
}

#[test]
fn a_job_leaves_its_pods_behind_and_says_so() {
    let jobs = of("batch", "jobs").strategy;
    assert_eq!(jobs.garbage_collection(), GarbageCollection::Orphan);
    assert_eq!(jobs.warnings_on_delete(&DeleteOptions::default()).len(), 1);
    let said = DeleteOptions { propagation: Some(Propagation::Orphan), ..DeleteOptions::default() };
    assert!(jobs.warnings_on_delete(&said).is_empty());
}

#[test]
fn templates_and_too_many_indexes_are_warned_of() {
    let template = r#""template":{"spec":{"containers":[],"hostAliases":[{"ip":"01.1.1.1"}]}}"#;
    let found = warnings(&of("batch", "jobs"), &job(template), None);
    assert!(found.len() == 1 && found[0].starts_with("spec.template.spec.hostAliases[0].ip: "), "{found:?}");
    let many = job(r#""completionMode":"Indexed","completions":100001,"parallelism":10001"#);
    assert_eq!(warnings(&of("batch", "jobs"), &many, None).len(), 1);
    assert!(warnings(&of("batch", "jobs"), &many, Some(&many)).is_empty());
}
