//! Cases of pod failure policies and success policies.

use crate::batch::job::tests::{INDEXED, JOB};
use crate::framework::validation::testing::Base;

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
