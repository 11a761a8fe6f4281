//! Cases of disruption budgets.

use crate::framework::validation::testing::Base;

const BUDGET: &str = r#"{"metadata":{"name":"b","namespace":"n"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}}"#;

#[test]
fn specs() {
    let base = Base::new("policy", "poddisruptionbudgets", BUDGET);
    base.refuses(&[
        (
            &[("/spec/maxUnavailable", r#""101%""#), ("/spec/minAvailable", "-1")],
            &[
                r#"spec: Invalid value: {"MinAvailable":-1,"Selector":{"matchLabels":{"a":"b"}},"MaxUnavailable":"101%","UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set"#,
                "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0",
                r#"spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%"#,
            ],
        ),
        (
            &[
                ("/spec/selector", r#"{"matchExpressions":[{"key":"a","operator":"In"}]}"#),
                ("/spec/unhealthyPodEvictionPolicy", r#""Other""#),
            ],
            &[
                "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
                r#"spec.unhealthyPodEvictionPolicy: Unsupported value: "Other": supported values: "AlwaysAllow", "IfHealthyBudget""#,
            ],
        ),
    ]);
    base.accepts(&[
        &[("/spec/selector", "")],
        &[("/spec/minAvailable", r#""100%""#), ("/spec/unhealthyPodEvictionPolicy", r#""AlwaysAllow""#)],
    ]);
}

#[test]
fn errors_of_the_spec_hide_those_of_the_metadata() {
    let base = Base::new("policy", "poddisruptionbudgets", BUDGET);
    let annotations = ("/metadata/annotations", r#"{"bad key":"v"}"#);
    assert_eq!(base.create_errors(&[annotations]).len(), 1);
    base.refuses(&[(
        &[annotations, ("/spec/minAvailable", "-1")],
        &["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"],
    )]);
}

#[test]
fn updates_keep_values_that_were_valid_once() {
    let base = Base::new("policy", "poddisruptionbudgets", BUDGET);
    let selector = r#"{"matchExpressions":[{"key":"a","operator":"In","values":["-"]}]}"#;
    base.accepts_update_of(&[("/spec/selector", selector)], &[&[("/spec/minAvailable", "2")]]);
    base.refuses_update(&[(
        &[("/spec/selector", selector)],
        &[
            "spec.selector.matchExpressions[0].values[0]: Invalid value: \"-\": a valid label must be an empty string or consist of \
             alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
             'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ],
    )]);
}

#[test]
fn statuses() {
    let base = Base::new("policy", "poddisruptionbudgets/status", BUDGET);
    let condition = r#"[{"type":"a","status":"Maybe","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]"#;
    base.refuses_update(&[(
        &[("/status/conditions", condition), ("/status/disruptionsAllowed", "-1"), ("/status/expectedPods", "-1")],
        &[
            r#"status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown""#,
            "status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0",
            "status.expectedPods: Invalid value: -1: must be greater than or equal to 0",
        ],
    )]);
    base.accepts_update(&[&[("/status/expectedPods", "3")]]);
}
