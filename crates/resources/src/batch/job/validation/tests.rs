//! Cases of specs and selectors of jobs.

use crate::batch::job::tests::{INDEXED, JOB};
use crate::framework::validation::testing::Base;

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
