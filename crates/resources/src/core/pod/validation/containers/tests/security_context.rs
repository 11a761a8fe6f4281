use super::{POD, base};
use crate::framework::validation::testing::Base;

const CONTEXT: &str = "/spec/containers/0/securityContext";

#[test]
fn ids_are_in_range() {
    base().refuses(&[(
        &[(CONTEXT, r#"{"runAsUser": -1, "runAsGroup": 2147483648}"#)],
        &[
            "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
            "spec.containers[0].securityContext.runAsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, \
             inclusive",
        ],
    )]);
    base().accepts(&[&[(CONTEXT, r#"{"runAsUser": 0, "runAsGroup": 2147483647}"#)]]);
}

#[test]
fn privileged_containers_need_the_flag() {
    let privileged = (CONTEXT, r#"{"privileged": true}"#);
    let forbidden = "spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy";
    Base::new("", "pods", POD).refuses(&[(&[privileged], &[forbidden])]);
    Base::new("", "pods", POD).accepts(&[&[(CONTEXT, r#"{"privileged": false}"#)]]);
    base().accepts(&[&[privileged]]);
}

#[test]
fn unmasked_proc_needs_an_own_user_namespace() {
    let unmasked = (CONTEXT, r#"{"procMount": "Unmasked"}"#);
    let why = "spec.containers[0].securityContext.procMount: Invalid value: \"Unmasked\": `hostUsers` must be false to use \
               `Unmasked`";
    base().refuses(&[
        (&[unmasked], &[why]),
        (&[unmasked, ("/spec/hostUsers", "true")], &[why]),
        (
            &[(CONTEXT, r#"{"procMount": "x"}"#)],
            &["spec.containers[0].securityContext.procMount: Unsupported value: \"x\": supported values: \"Default\", \
               \"Unmasked\""],
        ),
    ]);
    base().accepts(&[&[unmasked, ("/spec/hostUsers", "false")], &[(CONTEXT, r#"{"procMount": "Default"}"#)]]);
}

#[test]
fn a_container_without_escalation_has_no_privileges() {
    let shown = |privileged: &str, capabilities: &str| {
        format!(
            "spec.containers[0].securityContext: Invalid value: {{\"Capabilities\":{capabilities},\"Privileged\":{privileged},\
             \"SELinuxOptions\":null,\"WindowsOptions\":null,\"RunAsUser\":null,\"RunAsGroup\":null,\"RunAsNonRoot\":null,\
             \"ReadOnlyRootFilesystem\":null,\"AllowPrivilegeEscalation\":false,\"ProcMount\":null,\"SeccompProfile\":null,\
             \"AppArmorProfile\":null}}: cannot set `allowPrivilegeEscalation` to false and "
        )
    };
    let privileged = shown("true", "null") + "`privileged` to true";
    let capable =
        shown("null", r#"{"Add":["CAP_SYS_ADMIN"],"Drop":null}"#) + "`capabilities.Add` CAP_SYS_ADMIN";
    base().refuses(&[
        (&[(CONTEXT, r#"{"allowPrivilegeEscalation": false, "privileged": true}"#)], &[&privileged]),
        (
            &[(
                CONTEXT,
                r#"{"allowPrivilegeEscalation": false, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}"#,
            )],
            &[&capable],
        ),
    ]);
    base().accepts(&[
        &[(CONTEXT, r#"{"allowPrivilegeEscalation": true, "privileged": true}"#)],
        &[(
            CONTEXT,
            r#"{"allowPrivilegeEscalation": false, "capabilities": {"add": ["SYS_ADMIN"], "drop": ["ALL"]}}"#,
        )],
    ]);
}

#[test]
fn profiles_of_containers_are_valid() {
    base().refuses(&[(
        &[(CONTEXT, r#"{"seccompProfile": {"type": "x"}, "appArmorProfile": {"type": "y"}}"#)],
        &[
            "spec.containers[0].securityContext.seccompProfile.type: Unsupported value: \"x\": supported values: \"Localhost\", \
             \"RuntimeDefault\", \"Unconfined\"",
            "spec.containers[0].securityContext.appArmorProfile.type: Unsupported value: \"y\": supported values: \
             \"Localhost\", \"RuntimeDefault\", \"Unconfined\"",
        ],
    )]);
}
