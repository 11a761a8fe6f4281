//! Cases of replica sets.

use crate::framework::validation::testing::Base;

const SET: &str = r#"{"metadata":{"name":"s","namespace":"n"},"spec":{"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#;

#[test]
fn specs() {
    let base = Base::new("apps", "replicasets", SET);
    base.refuses(&[
        (
            &[("/spec/replicas", "-1"), ("/spec/minReadySeconds", "-2"), ("/spec/selector", "{}")],
            &[
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                "spec.minReadySeconds: Invalid value: -2: must be greater than or equal to 0",
                "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
            ],
        ),
        (
            &[("/spec/template/spec/restartPolicy", r#""OnFailure""#)],
            &[
                r#"spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always""#,
            ],
        ),
    ]);
    base.refuses_update(&[(
        &[("/spec/selector/matchLabels", r#"{"a":"b","c":"d"}"#)],
        &[
            r#"spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`"#,
            r#"spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable"#,
        ],
    )]);
    base.accepts_update(&[&[("/spec/replicas", "3")]]);
}

#[test]
fn statuses() {
    let base = Base::new("apps", "replicasets/status", SET);
    base.refuses_update(&[
        (
            &[("/status/replicas", "-1"), ("/status/observedGeneration", "-1")],
            &[
                "status.replicas: Invalid value: -1: must be greater than or equal to 0",
                "status.observedGeneration: Invalid value: -1: must be greater than or equal to 0",
                "status.fullyLabeledReplicas: Invalid value: 0: cannot be greater than status.replicas",
                "status.readyReplicas: Invalid value: 0: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 0: cannot be greater than status.replicas",
            ],
        ),
        (
            &[("/status/replicas", "3"), ("/status/readyReplicas", "1"), ("/status/availableReplicas", "2")],
            &["status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas"],
        ),
    ]);
    base.accepts_update(&[&[("/status/replicas", "3"), ("/status/fullyLabeledReplicas", "3")]]);
}
