//! Defaults of role bindings: the groups of what they name.

use crate::framework::defaults::{Place, Rule};

const GROUP: &str = "rbac.authorization.k8s.io";

pub(crate) const RULES: &[Rule] = &[
    Rule::code(
        &[
            "rbac/v1.ClusterRoleBinding",
            "rbac/v1.RoleBinding",
            "rbac/v1beta1.ClusterRoleBinding",
            "rbac/v1beta1.RoleBinding",
            "rbac/v1alpha1.ClusterRoleBinding",
            "rbac/v1alpha1.RoleBinding",
        ],
        |binding| binding.within("roleRef", |role| role.default("apiGroup", GROUP)),
    ),
    // Service accounts are of the core group, whose name is empty.
    Rule::code(&["rbac/v1.Subject", "rbac/v1beta1.Subject"], |subject| {
        if is_user_or_group(subject) {
            subject.default("apiGroup", GROUP);
        }
    }),
    Rule::code(&["rbac/v1alpha1.Subject"], |subject| {
        if is_user_or_group(subject) {
            subject.default("apiVersion", "rbac.authorization.k8s.io/v1alpha1");
        } else if subject.text("kind") == "ServiceAccount" {
            subject.default("apiVersion", "v1");
        }
    }),
];

fn is_user_or_group(subject: &Place<'_>) -> bool {
    matches!(subject.text("kind"), "User" | "Group")
}

#[cfg(test)]
mod tests {
    use crate::framework::defaults::tests::check;

    const SUBJECTS: &str = r#"[{"kind":"User","name":"u"},{"kind":"Group","name":"g"},
        {"kind":"ServiceAccount","name":"s","namespace":"n"},{"kind":"Other","name":"o"}]"#;

    #[test]
    fn bindings_name_groups() {
        for version in ["v1", "v1beta1"] {
            for kind in ["RoleBinding", "ClusterRoleBinding"] {
                check(
                    &format!("rbac/{version}.{kind}"),
                    &format!(r#"{{"subjects":{SUBJECTS},"roleRef":{{"kind":"Role","name":"r"}}}}"#),
                    r#"{"metadata":{},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"u"},
                        {"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"g"},
                        {"kind":"ServiceAccount","name":"s","namespace":"n"},{"kind":"Other","name":"o"}],
                        "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"}}"#,
                );
            }
        }
        let own = r#"{"metadata":{},"subjects":[{"kind":"User","apiGroup":"a","name":"u"}],
            "roleRef":{"apiGroup":"b","kind":"Role","name":"r"}}"#;
        check("rbac/v1.RoleBinding", own, own);
    }

    #[test]
    fn the_first_version_names_versions() {
        for kind in ["RoleBinding", "ClusterRoleBinding"] {
            check(
                &format!("rbac/v1alpha1.{kind}"),
                &format!(r#"{{"subjects":{SUBJECTS},"roleRef":{{"kind":"Role","name":"r"}}}}"#),
                r#"{"metadata":{},"subjects":[
                    {"kind":"User","apiVersion":"rbac.authorization.k8s.io/v1alpha1","name":"u"},
                    {"kind":"Group","apiVersion":"rbac.authorization.k8s.io/v1alpha1","name":"g"},
                    {"kind":"ServiceAccount","apiVersion":"v1","name":"s","namespace":"n"},{"kind":"Other","name":"o"}],
                    "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"}}"#,
            );
        }
    }
}
