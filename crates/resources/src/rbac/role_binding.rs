//! RoleBindings and ClusterRoleBindings.

use pintle_meta::validation::object_meta;

use super::strategy::{CLUSTER, NAMESPACED};
use crate::framework::strategy::Rules;
use crate::framework::validation::Cursor;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) const ROLE_BINDING: Rules = Rules {
    validate: |_, binding| role_binding(binding),
    validate_update: |_, binding| {
        role_binding(binding);
        NAMESPACED.check_metadata_update(binding);
        same_role(binding);
    },
    ..NAMESPACED
};

pub(super) const CLUSTER_ROLE_BINDING: Rules = Rules {
    validate: |_, binding| cluster_role_binding(binding),
    validate_update: |_, binding| {
        cluster_role_binding(binding);
        CLUSTER.check_metadata_update(binding);
        same_role(binding);
    },
    ..CLUSTER
};

fn role_binding(binding: &Cursor<'_, '_>) {
    check_binding(binding, true, &["Role", "ClusterRole"]);
}

fn cluster_role_binding(binding: &Cursor<'_, '_>) {
    check_binding(binding, false, &["ClusterRole"]);
}

/// Forbids another role: a user who may change subjects must not be able to give them another one.
fn same_role(binding: &Cursor<'_, '_>) {
    let role = binding.field("roleRef");
    if ["apiGroup", "kind", "name"].iter().any(|name| role.field(name).changed()) {
        role.invalid(role.printed_as("rbac.RoleRef"), "cannot change roleRef");
    }
}

fn check_binding(binding: &Cursor<'_, '_>, is_namespaced: bool, kinds: &[&str]) {
    let role = binding.field("roleRef");
    let (group, kind, name) = (role.field("apiGroup"), role.field("kind"), role.field("name"));
    if group.text() != GROUP {
        group.not_supported(group.text(), &[GROUP]);
    }
    if !kinds.contains(&kind.text()) {
        kind.not_supported(kind.text(), kinds);
    }
    if name.is_empty() {
        name.required("");
    } else {
        name.text_format(|name| object_meta::path_segment_name(name, false));
    }
    binding.field("subjects").each(|subject| check_subject(subject, is_namespaced));
}

fn check_subject(subject: &Cursor<'_, '_>, is_namespaced: bool) {
    let (kind, name, group) = (subject.field("kind"), subject.field("name"), subject.field("apiGroup"));
    if name.is_empty() {
        name.required("");
    }
    match kind.text() {
        "ServiceAccount" => {
            if !name.is_empty() {
                name.text_format(|name| object_meta::subdomain_name(name, false));
            }
            if !group.is_empty() {
                group.not_supported(group.text(), &[""]);
            }
            if !is_namespaced && subject.field("namespace").is_empty() {
                subject.field("namespace").required("");
            }
        }
        "User" | "Group" if group.text() != GROUP => group.not_supported(group.text(), &[GROUP]),
        "User" | "Group" => {}
        _ => kind.not_supported(kind.text(), &["ServiceAccount", "User", "Group"]),
    }
}

#[cfg(test)]
mod tests {
    use crate::framework::validation::testing::Base;

    const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

    #[test]
    fn service_accounts_have_names_that_accounts_may_have() {
        let base = Base::new(
            super::GROUP,
            "rolebindings",
            r#"{"metadata":{"name":"b","namespace":"n"},
                "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},
                "subjects":[{"kind":"ServiceAccount","name":"a"}]}"#,
        );
        base.accepts(&[
            &[("/subjects/0/name", r#""a.b""#)],
            &[("/subjects/0", r#"{"kind":"User","name":"A B","apiGroup":"rbac.authorization.k8s.io"}"#)],
        ]);
        base.refuses(&[(
            &[("/subjects/0/name", r#""A B""#)],
            &[&format!(r#"subjects[0].name: Invalid value: "A B": {SUBDOMAIN}"#)],
        )]);
    }
}
