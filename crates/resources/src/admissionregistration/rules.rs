//! Rules of webhooks and policies: which operations on which resources they match.

use std::collections::HashSet;

use pintle_meta::field_path::Value as Printed;
use pintle_meta::selector::ValidationOptions;
use pintle_meta::validation::path_segment_name;

use crate::framework::validation::Cursor;

const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
/// Operations whose objects a policy can change.
const MUTATING_OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "UPDATE"];
pub(super) const MATCH_POLICIES: &[&str] = &["Equivalent", "Exact"];
const SCOPES: &[&str] = &["*", "Cluster", "Namespaced"];

/// Checks a rule with operations.
pub(super) fn rule(rule: &Cursor<'_, '_>) {
    let operations = rule.field("operations");
    if operations.is_empty() {
        operations.required("");
    }
    if operations.len() > 1 && has_wildcard(&operations) {
        let why = "if '*' is present, must not specify other operations";
        operations.invalid(operations.printed_as("[]string"), why);
    }
    operations.each(|operation| operation.one_of(OPERATIONS));
    let groups = rule.field("apiGroups");
    if groups.is_empty() {
        groups.required("");
    }
    if groups.len() > 1 && has_wildcard(&groups) {
        let why = "if '*' is present, must not specify other API groups";
        groups.invalid(groups.printed_as("[]string"), why);
    }
    let versions = rule.field("apiVersions");
    if versions.is_empty() {
        versions.required("");
    }
    if versions.len() > 1 && has_wildcard(&versions) {
        let why = "if '*' is present, must not specify other API versions";
        versions.invalid(versions.printed_as("[]string"), why);
    }
    for version in versions.items().filter(Cursor::is_empty) {
        version.required("");
    }
    resources(&rule.field("resources"));
    let scope = rule.field("scope");
    if scope.is_set() {
        scope.one_of(SCOPES);
    }
}

fn has_wildcard(list: &Cursor<'_, '_>) -> bool {
    list.values().iter().any(|item| item.as_str() == Some("*"))
}

/// Checks a list of resources with subresources: `pods`, `pods/status`, `pods/*`, `*/scale`, `*`, `*/*`.
fn resources(resources: &Cursor<'_, '_>) {
    if resources.is_empty() {
        resources.required("");
    }
    let mut with_all_subresources = HashSet::new();
    let mut of_all_resources = HashSet::new();
    let mut has_plain = false;
    for item in resources.items() {
        let text = item.text();
        if text.is_empty() {
            item.required("");
            continue;
        }
        let Some((resource, subresource)) = text.split_once('/') else {
            // The reference remembers only the last one.
            has_plain = text != "*";
            continue;
        };
        if with_all_subresources.contains(resource) {
            item.invalid(text, format!("if '{resource}/*' is present, must not specify {text}"));
        }
        if of_all_resources.contains(subresource) {
            item.invalid(text, format!("if '*/{subresource}' is present, must not specify {text}"));
        }
        if subresource == "*" {
            with_all_subresources.insert(resource);
        }
        if resource == "*" {
            of_all_resources.insert(subresource);
        }
    }
    let has = |wanted: &str| resources.values().iter().any(|item| item.as_str() == Some(wanted));
    if resources.len() > 1 && has("*/*") {
        let why = "if '*/*' is present, must not specify other resources";
        resources.invalid(resources.printed_as("[]string"), why);
    }
    if has("*") && has_plain {
        let why = "if '*' is present, must not specify other resources without subresources";
        resources.invalid(resources.printed_as("[]string"), why);
    }
}

/// Checks the requests that a policy or its binding matches, if it says any.
pub(super) fn match_resources(matches: &Cursor<'_, '_>) {
    if !matches.is_set() {
        return;
    }
    // Defaulting sets a policy where there is none; an empty text is one.
    let policy = matches.field("matchPolicy");
    if !MATCH_POLICIES.contains(&policy.text()) {
        policy.not_supported(policy.text(), MATCH_POLICIES);
    }
    for name in ["namespaceSelector", "objectSelector"] {
        let selector = matches.field(name);
        if selector.is_set() {
            selector.label_selector(ValidationOptions::default());
        } else {
            selector.required(""); // unreachable: defaulting sets both selectors
        }
    }
    matches.field("resourceRules").each(named_rule);
    matches.field("excludeResourceRules").each(named_rule);
}

fn named_rule(named: &Cursor<'_, '_>) {
    let mut names = HashSet::new();
    for name in named.field("resourceNames").items() {
        name.text_format(path_segment_name);
        if !names.insert(name.text()) {
            name.duplicate(name.text());
        }
    }
    rule(named);
}

/// Checks that a mutating policy matches only operations that have something to change.
pub(super) fn mutating_operations(matches: &Cursor<'_, '_>) {
    let at = matches.at(&["resourceRules", "operations"]);
    for rule in matches.field("resourceRules").items() {
        for operation in rule.field("operations").values().iter().filter_map(pintle_meta::Value::as_str) {
            if !MUTATING_OPERATIONS.contains(&operation) {
                at.not_supported(Printed::json(operation), MUTATING_OPERATIONS);
            }
        }
    }
}
