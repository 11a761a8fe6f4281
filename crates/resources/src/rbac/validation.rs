//! What must hold of roles and bindings.

use pintle_meta::Value;
use pintle_meta::field_path::{self, Error, Path};
use pintle_meta::selector::{LabelSelector, ValidationOptions};
use pintle_meta::validation::object_meta;
use pintle_schema::go;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn role(role: &Value) -> Vec<Error> {
    rules(role, true)
}

pub(super) fn cluster_role(role: &Value) -> Vec<Error> {
    cluster_role_with(role, ValidationOptions::default())
}

/// What is stored already may have values in its selectors that no label has.
pub(super) fn cluster_role_update(new: &Value, old: &Value) -> Vec<Error> {
    let strict = ValidationOptions::default();
    let path = Path::new("aggregationRule");
    let is_wrong = |selector: &LabelSelector| !selector.validate(strict, &path).is_empty();
    let allow_invalid_values = selectors(old).iter().any(is_wrong);
    cluster_role_with(new, ValidationOptions { allow_invalid_values, ..strict })
}

fn cluster_role_with(role: &Value, options: ValidationOptions) -> Vec<Error> {
    let mut errors = rules(role, false);
    if role.get("aggregationRule").is_none_or(Value::is_null) {
        return errors;
    }
    let path = Path::new("aggregationRule");
    let path = path.child("clusterRoleSelectors");
    let selectors = selectors(role);
    if selectors.is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(Error::required(&path, why));
    }
    for (index, selector) in selectors.iter().enumerate() {
        let path = path.index(index);
        errors.extend(selector.validate(options, &path));
        if selector.selector().is_err() {
            errors.push(Error::invalid(&path, field_path::Value::null(), "invalid label selector."));
        }
    }
    errors
}

fn selectors(role: &Value) -> Vec<LabelSelector> {
    let selectors = role.items_at(&["aggregationRule", "clusterRoleSelectors"]);
    selectors.iter().map(|selector| selector.view().unwrap_or_default()).collect()
}

fn rules(role: &Value, is_namespaced: bool) -> Vec<Error> {
    let path = Path::new("rules");
    let mut errors = Vec::new();
    for (index, rule) in role.items_at(&["rules"]).iter().enumerate() {
        check_rule(rule, is_namespaced, &path.index(index), &mut errors);
    }
    errors
}

fn check_rule(rule: &Value, is_namespaced: bool, path: &Path<'_>, errors: &mut Vec<Error>) {
    let has = |field| !rule.items_at(&[field]).is_empty();
    if !has("verbs") {
        errors.push(Error::required(&path.child("verbs"), "verbs must contain at least one value"));
    }
    if has("nonResourceURLs") {
        let path = path.child("nonResourceURLs");
        let mut refuse = |why: &str| {
            let shown = go::shown("[]string", rule.get("nonResourceURLs").unwrap_or(&Value::NULL));
            errors.push(Error::invalid(&path, shown, why));
        };
        if is_namespaced {
            refuse("namespaced rules cannot apply to non-resource URLs");
        }
        if ["apiGroups", "resources", "resourceNames"].into_iter().any(has) {
            refuse("rules cannot apply to both regular resources and non-resource URLs");
        }
        return;
    }
    if !has("apiGroups") {
        let why = "resource rules must supply at least one api group";
        errors.push(Error::required(&path.child("apiGroups"), why));
    }
    if !has("resources") {
        let why = "resource rules must supply at least one resource";
        errors.push(Error::required(&path.child("resources"), why));
    }
}

pub(super) fn role_binding(binding: &Value) -> Vec<Error> {
    check_binding(binding, true, &["Role", "ClusterRole"])
}

pub(super) fn cluster_role_binding(binding: &Value) -> Vec<Error> {
    check_binding(binding, false, &["ClusterRole"])
}

/// The role of a binding is for good: whoever may change subjects must not get to give them another one.
pub(super) fn unchanged_role(new: &Value, old: &Value) -> Vec<Error> {
    let is_same = |field: &&str| new.text_at(&["roleRef", field]) == old.text_at(&["roleRef", field]);
    if ["apiGroup", "kind", "name"].iter().all(is_same) {
        return Vec::new();
    }
    let shown = go::shown("rbac.RoleRef", new.get("roleRef").unwrap_or(&Value::NULL));
    vec![Error::invalid(&Path::new("roleRef"), shown, "cannot change roleRef")]
}

fn check_binding(binding: &Value, is_namespaced: bool, kinds: &[&str]) -> Vec<Error> {
    let mut errors = Vec::new();
    let path = Path::new("roleRef");
    let role = |field| binding.text_at(&["roleRef", field]);
    if role("apiGroup") != GROUP {
        errors.push(Error::not_supported(&path.child("apiGroup"), role("apiGroup"), &[GROUP]));
    }
    if !kinds.contains(&role("kind")) {
        errors.push(Error::not_supported(&path.child("kind"), role("kind"), kinds));
    }
    match role("name") {
        "" => errors.push(Error::required(&path.child("name"), "")),
        name => {
            let wrong = object_meta::path_segment_name(name, false).into_iter();
            errors.extend(wrong.map(|why| Error::invalid(&path.child("name"), name, why)));
        }
    }
    let path = Path::new("subjects");
    for (index, subject) in binding.items_at(&["subjects"]).iter().enumerate() {
        check_subject(subject, is_namespaced, &path.index(index), &mut errors);
    }
    errors
}

fn check_subject(subject: &Value, is_namespaced: bool, path: &Path<'_>, errors: &mut Vec<Error>) {
    let text = |field| subject.text_at(&[field]);
    let (kind, name, group) = (text("kind"), text("name"), text("apiGroup"));
    if name.is_empty() {
        errors.push(Error::required(&path.child("name"), ""));
    }
    match kind {
        "ServiceAccount" => {
            if !name.is_empty() {
                let wrong = object_meta::subdomain_name(name, false).into_iter();
                errors.extend(wrong.map(|why| Error::invalid(&path.child("name"), name, why)));
            }
            if !group.is_empty() {
                errors.push(Error::not_supported(&path.child("apiGroup"), group, &[""]));
            }
            if !is_namespaced && text("namespace").is_empty() {
                errors.push(Error::required(&path.child("namespace"), ""));
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                errors.push(Error::not_supported(&path.child("apiGroup"), group, &[GROUP]));
            }
        }
        _ => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(Error::not_supported(&path.child("kind"), kind, &kinds));
        }
    }
}
