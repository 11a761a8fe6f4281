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
        same_role(binding);
    },
    ..NAMESPACED
};

pub(super) const CLUSTER_ROLE_BINDING: Rules = Rules {
    validate: |_, binding| cluster_role_binding(binding),
    validate_update: |_, binding| {
        cluster_role_binding(binding);
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
