//! Cases of ReplicationControllers.

use crate::framework::validation::testing::Base;

const BASE: &str = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"replicas":1,"selector":{"a":"b"},"template":{
    "metadata":{"labels":{"a":"b","c":"d"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#;

fn base() -> Base {
    Base::new("", "replicationcontrollers", BASE)
}

#[test]
fn numbers_are_not_negative_and_the_selector_selects_the_template() {
    let negative = "must be greater than or equal to 0";
    let unmatched = "`selector` does not match template `labels`";
    base().refuses(&[
        (
            &[("/spec/minReadySeconds", "-1"), ("/spec/replicas", "-2")],
            &[
                &format!("spec.minReadySeconds: Invalid value: -1: {negative}"),
                &format!("spec.replicas: Invalid value: -2: {negative}"),
            ],
        ),
        (
            &[("/spec/selector/e", r#""f""#)],
            &[&format!(r#"spec.template.metadata.labels: Invalid value: {{"a":"b","c":"d"}}: {unmatched}"#)],
        ),
        (
            &[("/spec/template/metadata/labels", "")],
            &[&format!("spec.template.metadata.labels: Invalid value: null: {unmatched}")],
        ),
        (&[("/spec/template", "")], &["spec.template: Required value"]),
        (
            &[("/spec/template", ""), ("/spec/selector", "")],
            &["spec.selector: Required value", "spec.template: Required value"],
        ),
    ]);
}

#[test]
fn pods_run_for_ever() {
    base().refuses(&[
        (
            &[("/spec/template/spec/restartPolicy", r#""Never""#)],
            &[r#"spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always""#],
        ),
        (
            &[("/spec/template/spec/activeDeadlineSeconds", "5")],
            &[
                "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicationController is not \
                 Supported",
            ],
        ),
        (&[("/spec/template/spec/containers", "")], &["spec.template.spec.containers: Required value"]),
    ]);
}

#[test]
fn names_are_counted_in_bytes_and_their_prefixes_are_not_checked() {
    let name = "a".repeat(254);
    let wrong = format!(r#"metadata.name: Invalid value: "{name}": must be no more than 253 bytes"#);
    base().refuses(&[(&[("/metadata/name", &format!(r#""{name}""#))], &[&wrong])]);
    base().accepts(&[&[("/metadata/generateName", r#""A_""#)]]);
}

#[test]
fn fields_that_could_not_be_converted_stay() {
    const ANNOTATIONS: &str = "/metadata/annotations";
    let change = [("/spec/selector/c", r#""d""#)];
    base().accepts_update(&[&change]);
    base().refuses_update_of(
        &[(ANNOTATIONS, r#"{"non-convertible.kubernetes.io/selector":"x","other/selector":"x"}"#)],
        &[(
            &change,
            &[r#"spec.selector: Invalid value: {"a":"b","c":"d"}: cannot update non-convertible selector"#],
        )],
    );
    let unknown = [(ANNOTATIONS, r#"{"non-convertible.kubernetes.io/thing":"x"}"#)];
    base().refuses_update_of(
        &unknown,
        &[(&change, &[r#"thing: Not found: "x": unknown non-convertible field"#])],
    );
}

#[test]
fn counts_of_a_status_fit_each_other() {
    let status = Base::new("", "replicationcontrollers/status", BASE);
    let negative = "must be greater than or equal to 0";
    let replicas = "cannot be greater than status.replicas";
    status.refuses_update(&[
        (
            &[("/status", r#"{"replicas":-1,"fullyLabeledReplicas":-1,"readyReplicas":-1,"availableReplicas":-1,"observedGeneration":-1}"#)],
            &[
                &format!("status.replicas: Invalid value: -1: {negative}"),
                &format!("status.fullyLabeledReplicas: Invalid value: -1: {negative}"),
                &format!("status.readyReplicas: Invalid value: -1: {negative}"),
                &format!("status.availableReplicas: Invalid value: -1: {negative}"),
                &format!("status.observedGeneration: Invalid value: -1: {negative}"),
            ],
        ),
        (
            &[("/status", r#"{"replicas":1,"fullyLabeledReplicas":2,"readyReplicas":2,"availableReplicas":3}"#)],
            &[
                &format!("status.fullyLabeledReplicas: Invalid value: 2: {replicas}"),
                &format!("status.readyReplicas: Invalid value: 2: {replicas}"),
                &format!("status.availableReplicas: Invalid value: 3: {replicas}"),
                "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
            ],
        ),
    ]);
    status.accepts_update(&[&[("/status", r#"{"replicas":2,"readyReplicas":2,"availableReplicas":1}"#)]]);
}
