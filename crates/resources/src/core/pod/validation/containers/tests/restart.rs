use pintle_features::Feature;

use super::{POD, base};
use crate::core::pod::validation::{Options, create};
use crate::framework::defaults;
use crate::framework::strategy::Settings;
use crate::framework::strategy::testing::with_settings;
use crate::framework::validation::testing::Base;
use crate::framework::validation::{Cursor, Errors};

const RULE: &str = r#"[{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]"#;
const POLICY: &str = "/spec/containers/0/restartPolicy";
const RULES: &str = "/spec/containers/0/restartPolicyRules";
const INIT_POLICY: &str = "/spec/initContainers/0/restartPolicy";
const INIT_RULES: &str = "/spec/initContainers/0/restartPolicyRules";
const SIDECAR_RULES: &str = "/spec/initContainers/1/restartPolicyRules";

#[test]
fn rules_need_a_policy() {
    base().refuses(&[
        (
            &[(POLICY, r#""x""#)],
            &["spec.containers[0].restartPolicy: Unsupported value: \"x\": supported values: \"Always\", \"Never\", \
               \"OnFailure\""],
        ),
        (
            &[(RULES, RULE)],
            &["spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used"],
        ),
        (
            &[(INIT_RULES, RULE)],
            &["spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are \
               used"],
        ),
        (
            &[(INIT_POLICY, r#""""#)],
            &["spec.initContainers[0].restartPolicy: Unsupported value: \"\": supported values: \"Always\", \"Never\", \
               \"OnFailure\""],
        ),
    ]);
    base().accepts(&[
        &[(POLICY, r#""OnFailure""#)],
        &[(POLICY, r#""Never""#), (RULES, RULE)],
        &[(INIT_POLICY, r#""Never""#), (INIT_RULES, RULE)],
        &[(SIDECAR_RULES, RULE)],
    ]);
}

#[test]
fn rules_have_action_and_exit_codes() {
    let one = r#"{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}"#;
    let many_rules = format!("[{}]", [one; 21].join(","));
    let codes: Vec<String> = (0..256).map(|code| code.to_string()).collect();
    let many_codes = format!(
        r#"[{{"action": "Restart", "exitCodes": {{"operator": "In", "values": [{}]}}}}]"#,
        codes.join(",")
    );
    let never = (POLICY, r#""Never""#);
    base().refuses(&[
        (
            &[never, (RULES, &many_rules)],
            &["spec.containers[0].restartPolicyRules: Too many: 21: must have at most 20 items"],
        ),
        (
            &[never, (RULES, &many_codes)],
            &["spec.containers[0].restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items"],
        ),
        (
            &[never, (RULES, r#"[{"action": "Stop"}, {"action": "Restart", "exitCodes": {"operator": "Is"}}]"#)],
            &[
                "spec.containers[0].restartPolicyRules[0].action: Unsupported value: \"Stop\": supported values: \
                 \"Restart\", \"RestartAllContainers\"",
                "spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified",
                "spec.containers[0].restartPolicyRules[1].exitCodes.operator: Unsupported value: \"Is\": supported values: \
                 \"In\", \"NotIn\"",
            ],
        ),
    ]);
    let all = RULE.replace("Restart", "RestartAllContainers");
    base().accepts(&[&[never, (RULES, &all)], &[never, (RULES, &RULE.replace("In", "NotIn"))]]);
}

#[test]
fn all_containers_restart_only_with_the_feature() {
    let base =
        Base::with_features("", "pods", POD, &[(Feature::RestartAllContainersOnContainerExits, false)]);
    let all = RULE.replace("Restart", "RestartAllContainers");
    base.refuses(&[
        (
            &[(POLICY, r#""Never""#), (RULES, &all)],
            &["spec.containers[0].restartPolicyRules[0].action: Unsupported value: \"RestartAllContainers\": supported \
               values: \"Restart\""],
        ),
        (
            &[(SIDECAR_RULES, RULE)],
            &["spec.initContainers[1].restartPolicyRules: Forbidden: restartPolicyRules are not allowed for init containers \
               with restart policy Always"],
        ),
    ]);
    base.accepts(&[&[(INIT_POLICY, r#""Never""#), (INIT_RULES, RULE)]]);
}

/// Without the feature, the fields are dropped before validation.
#[test]
fn without_restart_rules_only_init_containers_restart() {
    let mut settings = Settings::default();
    settings.features.set(Feature::RestartAllContainersOnContainerExits, false);
    settings.features.set(Feature::ContainerRestartRules, false);
    let pod = r#"{"metadata": {"name": "a"}, "spec": {
        "containers": [{"name": "c", "image": "i", "restartPolicy": "Always"}],
        "initContainers": [
            {"name": "i", "image": "i", "restartPolicy": "Never"},
            {"name": "s", "image": "i", "restartPolicy": "Always"}
        ]
    }}"#;
    let subject = with_settings("", "pods", &settings);
    let mut pod = subject.tree(pod);
    defaults::apply(subject.stored_type(), &mut pod, &settings.defaults());
    let errors = Errors::default();
    let cursor = Cursor::root(&pod, None, &errors);
    create(&cursor, &Options::for_pod(&settings, &cursor));
    let errors: Vec<String> = errors.into_vec().iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers",
            "spec.initContainers[0].restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"",
        ]
    );
}
