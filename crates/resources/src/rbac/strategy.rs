//! The strategies of the group's resources. Who may grant what is not theirs to say.

use std::sync::Arc;

use pintle_meta::validation::object_meta;
use pintle_registry::Strategy;

use crate::strategy::{Entry, Recheck, Rules, Settings, find};

const TABLE: &[Entry] = &[
    Entry { name: "clusterrolebindings", kind: "rbac/v1.ClusterRoleBinding", rules: CLUSTER },
    Entry { name: "clusterroles", kind: "rbac/v1.ClusterRole", rules: CLUSTER },
    Entry { name: "rolebindings", kind: "rbac/v1.RoleBinding", rules: NAMESPACED },
    Entry { name: "roles", kind: "rbac/v1.Role", rules: NAMESPACED },
];

const NAMESPACED: Rules = Rules {
    // A prefix is no exception.
    name: |name, _| object_meta::path_segment_name(name, false),
    recheck: Recheck::Both,
    create_on_update: true,
    unconditional_update: true,
    ..Rules::NAMESPACED
};
const CLUSTER: Rules = Rules { namespaced: false, ..NAMESPACED };

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use crate::strategy::testing::{invalid, of};

    #[test]
    fn names_may_have_colons_and_no_slashes() {
        let role = |name: &str| format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
        let roles = of("rbac.authorization.k8s.io", "clusterroles");
        assert!(invalid(&roles, &role("system:Anything Goes")).is_empty());
        assert_eq!(
            invalid(&roles, &role("a/b")),
            [r#"metadata.name: Invalid value: "a/b": may not contain '/'"#]
        );
        assert!(roles.strategy.allows_create_on_update() && roles.strategy.allows_unconditional_update());
    }
}
