//! Warnings about containers: of each, then of their ports together.

use std::collections::HashSet;

use pintle_meta::field_path::Path;
use pintle_meta::{Value, Warnings, quote};

use super::{SECCOMP, fraction, ports};
use crate::core::pod::{CONTAINERS, app_armor_profile};

const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";

pub(super) fn of(warnings: &mut Warnings, root: &Path<'_>, pod: &Value, spec: &Value, is_template: bool) {
    let at = root.child("spec");
    let each = |list: &'static str| {
        let named = move |(index, container)| (list, index, container);
        spec.items_at(&[list]).iter().enumerate().map(named)
    };
    let containers: Vec<(&str, usize, &Value)> = CONTAINERS.into_iter().flat_map(each).collect();
    for (list, index, container) in &containers {
        if warnings.is_full() {
            return;
        }
        let path = at.child(list);
        let path = path.index(*index);
        warnings.extend(annotations(root, pod, container, is_template));
        for resource in ["memory", "ephemeral-storage"] {
            for what in ["limits", "requests"] {
                let path = path.child("resources");
                warnings.extend(fraction(&path.child(what), container.at(&["resources", what]), resource));
            }
        }
        environment(warnings, &path.child("env"), container.items_at(&["env"]));
    }
    ports::of(warnings, &at, &containers);
}

/// Warnings about annotations that fields replace.
fn annotations(root: &Path<'_>, pod: &Value, container: &Value, is_template: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let path = root.child("metadata.annotations");
    let context = container.get("securityContext");
    let name = container.text_at(&["name"]);
    let key = format!("{SECCOMP_OF_CONTAINER}{name}");
    let has = |field: &str| context.is_some_and(|context| context.get(field).is_some());
    if !has("seccompProfile") && pod.annotation(&key).is_some() {
        warnings.push(format!("{}: {SECCOMP}", path.key(&key)));
    }
    // A pod has its annotation as a field by then, and was told.
    if is_template && !has("appArmorProfile") {
        let key = format!("{}{name}", app_armor_profile::ANNOTATION);
        let of_pod = pod.at(&["spec", "securityContext", "appArmorProfile"]);
        if let Some(annotation) = pod.annotation(&key)
            && of_pod.is_none_or(|of_pod| Some(of_pod) != app_armor_profile::of(annotation).as_ref())
        {
            warnings.push(app_armor_profile::warning(&path, &key));
        }
    }
    warnings
}

/// Variables that hide others of the same name, and do not build on them.
fn environment(warnings: &mut Warnings, path: &Path<'_>, variables: &[Value]) {
    let mut known = HashSet::new();
    let repeated = variables.iter().enumerate().filter(|(_, variable)| {
        let name = variable.text_at(&["name"]);
        !known.insert(name) && !builds_on(variable, name)
    });
    warnings.extend(repeated.map(|(index, variable)| {
        let name = quote(variable.text_at(&["name"]));
        let place = path.index(index);
        format!("{place}: hides previous definition of {name}, which may be dropped when using apply")
    }));
}

/// Whether a variable's value refers to an earlier one of the same name, and adds to it.
fn builds_on(variable: &Value, name: &str) -> bool {
    let (value, reference) = (variable.text_at(&["value"]), format!("$({name})"));
    variable.get("valueFrom").is_none() && value != reference && value.contains(&reference)
}
