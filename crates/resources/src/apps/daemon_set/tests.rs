//! Cases of daemon sets.

use pintle_registry::Context;

use crate::framework::strategy::testing::{of, warnings};
use crate::framework::validation::testing::Base;

const GENERATION: &str = "deprecated.daemonset.template.generation";
const SET: &str = r#"{"metadata":{"name":"s","namespace":"n"},"spec":{"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#;

fn object(metadata: &str, spec: &str) -> String {
    format!(r#"{{"metadata":{{"name":"a","namespace":"n"{metadata}}},"spec":{{{spec}}}}}"#)
}

#[test]
fn specs() {
    let base = Base::new("apps", "daemonsets", SET);
    let mismatch = r#"spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`"#;
    base.refuses(&[
        // Only the mismatch tells that there is no selector.
        (&[("/spec/selector", "")], &[mismatch]),
        (
            &[("/spec/selector", "{}")],
            &["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"],
        ),
        (
            &[("/spec/selector", r#"{"matchExpressions":[{"key":"a","operator":"In","values":["b","-"]}]}"#)],
            &[
                "spec.selector.matchExpressions[0].values[1]: Invalid value: \"-\": a valid label must be an empty string or \
                 consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character \
                 (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
                 '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            ],
        ),
        (
            &[
                ("/spec/template/spec/restartPolicy", r#""Never""#),
                ("/spec/template/spec/activeDeadlineSeconds", "5"),
                ("/spec/minReadySeconds", "-1"),
                ("/spec/updateStrategy/type", r#""Other""#),
                ("/spec/revisionHistoryLimit", "-1"),
            ],
            &[
                r#"spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always""#,
                "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported",
                "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
                r#"spec.updateStrategy: Unsupported value: {"Type":"Other","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete""#,
                "spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
    ]);
    base.accepts(&[&[("/spec/updateStrategy/type", r#""OnDelete""#)]]);
}

#[test]
fn a_status_does_not_change_the_count_of_templates() {
    let sets = of("apps", "daemonsets/status");
    let set = |annotations: &str| sets.tree(&object(&format!(r#","annotations":{annotations}"#), ""));
    let old = set(r#"{"deprecated.daemonset.template.generation":"3"}"#);
    for annotations in [r#"{"a":"b"}"#, r#"{"deprecated.daemonset.template.generation":"7"}"#] {
        let mut new = set(annotations);
        sets.strategy.prepare_for_update(&Context::default(), &mut new, &old);
        assert_eq!(new.annotation(GENERATION), Some("3"), "{annotations}");
    }
}

#[test]
fn rolling_updates() {
    let base = Base::new("apps", "daemonsets", SET);
    const UNAVAILABLE: &str = "/spec/updateStrategy/rollingUpdate/maxUnavailable";
    const SURGE: &str = "/spec/updateStrategy/rollingUpdate/maxSurge";
    base.refuses(&[
        (
            &[(UNAVAILABLE, "1"), (SURGE, r#""10%""#)],
            &[
                r#"spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "10%": may not be set when maxUnavailable is non-zero"#,
            ],
        ),
        (
            &[(UNAVAILABLE, "0"), (SURGE, "0")],
            &["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
        ),
        (
            &[(UNAVAILABLE, r#""101%""#)],
            &[
                r#"spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%"#,
            ],
        ),
        (
            &[(UNAVAILABLE, "0"), (SURGE, "-1")],
            &["spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0"],
        ),
    ]);
    base.accepts(&[&[(UNAVAILABLE, "0"), (SURGE, "1")], &[(UNAVAILABLE, r#""100%""#)]]);
}

#[test]
fn updates_keep_the_selector_and_values_that_were_valid_once() {
    let base = Base::new("apps", "daemonsets", SET);
    base.refuses_update(&[(
        &[("/spec/selector/matchLabels/a", r#""c""#), ("/spec/template/metadata/labels/a", r#""c""#)],
        &[r#"spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable"#],
    )]);
    let invalid = r#"{"matchExpressions":[{"key":"a","operator":"In","values":["b","-"]}]}"#;
    base.accepts_update_of(&[("/spec/selector", invalid)], &[&[("/spec/minReadySeconds", "3")]]);
}

#[test]
fn statuses() {
    let base = Base::new("apps", "daemonsets/status", SET);
    base.refuses_update_of(
        &[("/status/collisionCount", "2")],
        &[
            (
                &[("/status/numberReady", "-1"), ("/status/collisionCount", "1")],
                &[
                    "status.numberReady: Invalid value: -1: must be greater than or equal to 0",
                    "status.collisionCount: Invalid value: 1: cannot be decremented",
                ],
            ),
            (
                &[("/status/numberUnavailable", "-1"), ("/status/collisionCount", "-1")],
                &[
                    "status.numberUnavailable: Invalid value: -1: must be greater than or equal to 0",
                    "status.collisionCount: Invalid value: -1: must be greater than or equal to 0",
                    "status.collisionCount: Invalid value: -1: cannot be decremented",
                ],
            ),
        ],
    );
    base.accepts_update(&[&[("/status/desiredNumberScheduled", "3")]]);
}

#[test]
fn changes_of_the_template_are_counted() {
    let sets = of("apps", "daemonsets");
    let annotated = |count: &str| format!(r#","generation":7,"annotations":{{"{GENERATION}":"{count}"}}"#);
    let template = |name: &str| format!(r#""template":{{"spec":{{"hostname":"{name}"}}}}"#);
    assert_eq!(sets.created(&object("", "")).annotation(GENERATION), Some("1"));
    assert_eq!(sets.created(&object(&annotated("-3"), "")).annotation(GENERATION), Some("1"));
    assert_eq!(sets.created(&object(&annotated("5"), "")).annotation(GENERATION), Some("5"));
    let old = object(&annotated("5"), &template("x"));
    let check = |new: &str, count: &str, generation: i64| {
        let updated = sets.updated(new, &old);
        assert_eq!((updated.annotation(GENERATION), updated.generation()), (Some(count), generation));
    };
    check(&object(&annotated("9"), &template("x")), "5", 7);
    check(&object(r#","generation":7"#, &template("x")), "5", 7);
    check(&object(&annotated("9"), &template("y")), "6", 8);
    check(&object(&annotated("9"), &format!(r#""minReadySeconds":3,{}"#, template("x"))), "5", 8);
}

#[test]
fn templates_are_warned_of_when_they_changed() {
    let template = r#""template":{"spec":{"containers":[],"hostAliases":[{"ip":"01.1.1.1"}]}}"#;
    let old = object(r#","generation":1"#, template);
    let new = old.replace(r#""generation":1"#, r#""generation":2"#);
    let annotated = object(&format!(r#","annotations":{{"{GENERATION}":"3"}}"#), template);
    assert!(warnings(&of("apps", "daemonsets"), &new, Some(&old)).is_empty());
    assert_eq!(warnings(&of("apps", "daemonsets"), &annotated, Some(&old)).len(), 1);
}
