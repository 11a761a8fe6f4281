//! Defaults of role bindings: the groups of what they name.

use crate::defaults::{Place, Rule};

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
