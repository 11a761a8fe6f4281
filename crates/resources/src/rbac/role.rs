//! Roles and ClusterRoles.

use pintle_meta::field_path::Value as Printed;
use pintle_meta::selector::{LabelSelector, ValidationOptions};

use super::strategy::{CLUSTER, NAMESPACED};
use crate::framework::strategy::Rules;
use crate::framework::validation::{Cursor, Errors};

pub(super) const ROLE: Rules = Rules {
    validate: |_, role| rules(role, true),
    validate_update: |_, role| {
        rules(role, true);
        NAMESPACED.check_metadata_update(role);
    },
    ..NAMESPACED
};

pub(super) const CLUSTER_ROLE: Rules = Rules {
    validate: |_, role| cluster_role(role, ValidationOptions::default()),
    validate_update: |_, role| {
        // Values that no label can have may stay where selectors already have them.
        let allow_invalid_values = has_invalid_selector(role);
        cluster_role(role, ValidationOptions { allow_invalid_values, ..ValidationOptions::default() });
        CLUSTER.check_metadata_update(role);
    },
    ..CLUSTER
};

const SELECTORS: &[&str] = &["aggregationRule", "clusterRoleSelectors"];

/// Whether the stored role has a selector that a new role could not have.
fn has_invalid_selector(role: &Cursor<'_, '_>) -> bool {
    let errors = Errors::default();
    let old = Cursor::root(role.before().value(), None, &errors);
    old.at(SELECTORS).each(|selector| selector.label_selector(ValidationOptions::default()));
    errors.len() > 0
}

fn cluster_role(role: &Cursor<'_, '_>, options: ValidationOptions) {
    rules(role, false);
    if !role.field("aggregationRule").is_set() {
        return;
    }
    let selectors = role.at(SELECTORS);
    if selectors.is_empty() {
        selectors.required("at least one clusterRoleSelector required if aggregationRule is non-nil");
    }
    selectors.each(|selector| {
        selector.label_selector(options);
        if selector.value().view::<LabelSelector>().unwrap_or_default().selector().is_err() {
            selector.invalid(Printed::null(), "invalid label selector.");
        }
    });
}

fn rules(role: &Cursor<'_, '_>, is_namespaced: bool) {
    role.field("rules").each(|rule| check_rule(rule, is_namespaced));
}

fn check_rule(rule: &Cursor<'_, '_>, is_namespaced: bool) {
    let has = |name: &str| !rule.field(name).is_empty();
    if !has("verbs") {
        rule.field("verbs").required("verbs must contain at least one value");
    }
    let urls = rule.field("nonResourceURLs");
    if !urls.is_empty() {
        if is_namespaced {
            let why = "namespaced rules cannot apply to non-resource URLs";
            urls.invalid(urls.printed_as("[]string"), why);
        }
        if ["apiGroups", "resources", "resourceNames"].into_iter().any(has) {
            let why = "rules cannot apply to both regular resources and non-resource URLs";
            urls.invalid(urls.printed_as("[]string"), why);
        }
        return;
    }
    if !has("apiGroups") {
        rule.field("apiGroups").required("resource rules must supply at least one api group");
    }
    if !has("resources") {
        rule.field("resources").required("resource rules must supply at least one resource");
    }
}
