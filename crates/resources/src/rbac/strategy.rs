//! The table of the group's strategies. Escalation of permissions is checked by a guard, not here.

use std::sync::Arc;

use pintle_meta::validation::object_meta;
use pintle_registry::Strategy;

use super::role::{CLUSTER_ROLE, ROLE};
use super::role_binding::{CLUSTER_ROLE_BINDING, ROLE_BINDING};
use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find};

const TABLE: &[Entry] = &[
    Entry { name: "clusterrolebindings", kind: "rbac/v1.ClusterRoleBinding", rules: CLUSTER_ROLE_BINDING },
    Entry { name: "clusterroles", kind: "rbac/v1.ClusterRole", rules: CLUSTER_ROLE },
    Entry { name: "rolebindings", kind: "rbac/v1.RoleBinding", rules: ROLE_BINDING },
    Entry { name: "roles", kind: "rbac/v1.Role", rules: ROLE },
];

pub(super) const NAMESPACED: Rules = Rules {
    // A prefix is no exception.
    name: |name, _| object_meta::path_segment_name(name, false),
    // The rules check changes of metadata after their own.
    recheck: MetadataRecheck::Full,
    create_on_update: true,
    unconditional_update: true,
    ..Rules::NAMESPACED
};
pub(super) const CLUSTER: Rules = Rules { namespaced: false, ..NAMESPACED };

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{invalid, invalid_update, of};

    const GROUP: &str = "rbac.authorization.k8s.io";

    #[test]
    fn names_may_have_colons_and_no_slashes() {
        let role = |name: &str| format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
        let roles = of(GROUP, "clusterroles");
        assert!(invalid(&roles, &role("system:Anything Goes")).is_empty());
        assert_eq!(
            invalid(&roles, &role("a/b")),
            [r#"metadata.name: Invalid value: "a/b": may not contain '/'"#]
        );
        assert!(roles.strategy.allows_create_on_update() && roles.strategy.allows_unconditional_update());
    }

    #[test]
    fn a_rule_is_about_resources_or_paths() {
        let rules = r#"{"metadata":{"name":"r","namespace":"n"},"rules":[
            {"verbs":[],"apiGroups":[""],"resources":["pods"]},
            {"verbs":["get"]},
            {"verbs":["get"],"nonResourceURLs":["/a","/b"]},
            {"verbs":["get"],"nonResourceURLs":["*"],"resourceNames":["x"]},
            {"verbs":["*"],"apiGroups":["*"],"resources":["*"],"resourceNames":["x"]}]}"#;
        assert_eq!(
            invalid(&of(GROUP, "roles"), rules),
            [
                "rules[0].verbs: Required value: verbs must contain at least one value",
                "rules[1].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[1].resources: Required value: resource rules must supply at least one resource",
                r#"rules[2].nonResourceURLs: Invalid value: ["/a","/b"]: namespaced rules cannot apply to non-resource URLs"#,
                r#"rules[3].nonResourceURLs: Invalid value: ["*"]: namespaced rules cannot apply to non-resource URLs"#,
                r#"rules[3].nonResourceURLs: Invalid value: ["*"]: rules cannot apply to both regular resources and non-resource URLs"#,
            ]
        );
        let whole = rules.replace(r#","namespace":"n""#, "");
        assert_eq!(invalid(&of(GROUP, "clusterroles"), &whole).len(), 4);
    }

    #[test]
    fn an_aggregate_selects_something() {
        let role = |selectors: &str| {
            format!(
                r#"{{"metadata":{{"name":"r"}},"aggregationRule":{{"clusterRoleSelectors":[{selectors}]}}}}"#
            )
        };
        let roles = of(GROUP, "clusterroles");
        assert_eq!(
            invalid(&roles, &role("")),
            [
                "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if \
                 aggregationRule is non-nil"
            ]
        );
        let wrong = invalid(&roles, &role(r#"{"matchExpressions":[{"key":"a","operator":"Like"}]}"#));
        assert_eq!(
            wrong,
            [
                r#"aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator"#,
                "aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.",
            ]
        );
        let bad = role(r#"{"matchExpressions":[{"key":"a","operator":"In","values":["-"]}]}"#);
        let of_values = |wrong: Vec<String>| wrong.iter().filter(|wrong| wrong.contains("values[0]")).count();
        assert_eq!(of_values(invalid(&roles, &bad)), 1);
        // Stored selectors may keep invalid values.
        assert_eq!(of_values(invalid_update(&roles, &bad, &bad)), 0);
        assert!(invalid(&roles, &role(r#"{"matchLabels":{"a":"b"}}"#)).is_empty());
    }

    #[test]
    fn a_binding_is_to_a_role_and_for_subjects_that_there_may_be() {
        let binding = r#"{"metadata":{"name":"b","namespace":"n"},
            "roleRef":{"apiGroup":"foo","kind":"Bar","name":""},
            "subjects":[{"kind":"Robot","name":"a"},{"kind":"User","apiGroup":"rbac.authorization.k8s.io"},
            {"kind":"ServiceAccount","name":"s","apiGroup":"x"},{"kind":"Group","apiGroup":"x","name":"g"}]}"#;
        assert_eq!(
            invalid(&of(GROUP, "rolebindings"), binding),
            [
                r#"roleRef.apiGroup: Unsupported value: "foo": supported values: "rbac.authorization.k8s.io""#,
                r#"roleRef.kind: Unsupported value: "Bar": supported values: "Role", "ClusterRole""#,
                "roleRef.name: Required value",
                r#"subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group""#,
                "subjects[1].name: Required value",
                r#"subjects[2].apiGroup: Unsupported value: "x": supported values: """#,
                r#"subjects[3].apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io""#,
            ]
        );
        let binding = r#"{"metadata":{"name":"b"},
            "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"a/b"},
            "subjects":[{"kind":"ServiceAccount","name":"a"}]}"#;
        assert_eq!(
            invalid(&of(GROUP, "clusterrolebindings"), binding),
            [
                r#"roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole""#,
                r#"roleRef.name: Invalid value: "a/b": may not contain '/'"#,
                "subjects[0].namespace: Required value",
            ]
        );
    }

    #[test]
    fn changes_of_metadata_come_after_the_rules() {
        let binding = |labels: &str, role: &str| {
            format!(
                r#"{{"metadata":{{"name":"b","resourceVersion":"1","labels":{labels}}},
                    "roleRef":{{"apiGroup":"{GROUP}","kind":"{role}","name":"r"}}}}"#
            )
        };
        let role = |labels: &str, verbs: &str| {
            format!(
                r#"{{"metadata":{{"name":"r","resourceVersion":"1","labels":{labels}}},
                    "rules":[{{"verbs":[{verbs}],"apiGroups":[""],"resources":["pods"]}}]}}"#
            )
        };
        let check = |resource: &str, new: &str, old: &str, rules: &[&str]| {
            let errors = invalid_update(&of(GROUP, resource), new, old);
            let fields: Vec<&str> = errors.iter().filter_map(|error| error.split(": ").next()).collect();
            let mut expect = vec!["metadata.labels"];
            expect.extend(&rules[..1]);
            expect.push("metadata.labels");
            expect.extend(&rules[1..]);
            assert_eq!(fields, expect, "{resource}");
        };
        let (bad, good) = (r#"{"a":"/"}"#, "{}");
        check(
            "clusterrolebindings",
            &binding(bad, "Role"),
            &binding(good, "ClusterRole"),
            &["roleRef.kind", "roleRef"],
        );
        check("clusterroles", &role(bad, ""), &role(good, r#""get""#), &["rules[0].verbs"]);
    }

    #[test]
    fn the_role_of_a_binding_does_not_change() {
        let binding = |role: &str| {
            format!(
                r#"{{"metadata":{{"name":"b","resourceVersion":"1"}},
                    "roleRef":{{"apiGroup":"{GROUP}","kind":"ClusterRole","name":"{role}"}}}}"#
            )
        };
        let bindings = of(GROUP, "clusterrolebindings");
        assert!(invalid_update(&bindings, &binding("a"), &binding("a")).is_empty());
        assert_eq!(
            invalid_update(&bindings, &binding("b"), &binding("a")),
            [concat!(
                r#"roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"b"}: "#,
                "cannot change roleRef"
            )]
        );
    }
}
