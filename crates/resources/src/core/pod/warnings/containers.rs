//! What is told about containers: of one after the other, then of their ports together.

use std::collections::BTreeMap;

use pintle_meta::field_path::Path;
use pintle_meta::{Value, quote};

use super::{SECCOMP, fraction};
use crate::conversion::build;
use crate::core::pod::{CONTAINERS, app_armor_profile};

const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";

pub(super) fn of(root: &Path<'_>, pod: &Value, spec: &Value, is_template: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let at = root.child("spec");
    let each = |list: &'static str| {
        let named = move |(index, container)| (list, index, container);
        spec.items_at(&[list]).iter().enumerate().map(named)
    };
    let containers: Vec<(&str, usize, &Value)> = CONTAINERS.into_iter().flat_map(each).collect();
    for (list, index, container) in &containers {
        let path = at.child(list);
        let path = path.index(*index);
        warnings.extend(annotations(root, pod, container, is_template));
        for resource in ["memory", "ephemeral-storage"] {
            for what in ["limits", "requests"] {
                let path = path.child("resources");
                warnings.extend(fraction(&path.child(what), container.at(&["resources", what]), resource));
            }
        }
        warnings.extend(environment(&path.child("env"), container.items_at(&["env"])));
    }
    warnings.extend(ports(&at, &containers));
    warnings
}

/// What is said by annotations and not by fields.
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
fn environment(path: &Path<'_>, variables: &[Value]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (index, variable) in variables.iter().enumerate() {
        let name = variable.text_at(&["name"]);
        if !variables[..index].iter().any(|known| known.text_at(&["name"]) == name) {
            continue;
        }
        let (value, reference) = (variable.text_at(&["value"]), format!("$({name})"));
        let builds_on =
            variable.get("valueFrom").is_none() && value != reference && value.contains(&reference);
        if !builds_on {
            let name = quote(name);
            warnings.push(format!(
                "{}: hides previous definition of {name}, which may be dropped when using apply",
                path.index(index)
            ));
        }
    }
    warnings
}

fn ports(at: &Path<'_>, containers: &[(&str, usize, &Value)]) -> Vec<String> {
    let mut warnings = Vec::new();
    let number = |port: &Value, field: &str| port.get(field).and_then(Value::as_i64).unwrap_or_default();
    let mut known: BTreeMap<(i64, &str), Vec<(String, &Value)>> = BTreeMap::new();
    let mut names: Vec<(String, &str)> = Vec::new();
    for (list, index, container) in containers {
        let path = at.child(list);
        let path = path.index(*index);
        let path = path.child("ports");
        for (index, port) in container.items_at(&["ports"]).iter().enumerate() {
            let path = path.index(index).to_string();
            let (address, host_port) = (port.text_at(&["hostIP"]), number(port, "hostPort"));
            if !address.is_empty() && host_port == 0 {
                warnings.push(format!("{path}: hostIP set without hostPort: {}", go(port)));
            }
            let same = known.entry((number(port, "containerPort"), port.text_at(&["protocol"]))).or_default();
            for (other_path, other) in same.iter() {
                let (other_address, other_port) = (other.text_at(&["hostIP"]), number(other, "hostPort"));
                if (address, host_port) == (other_address, other_port) {
                    warnings.push(format!("{path}: duplicate port definition with {other_path}"));
                } else if host_port == 0 || other_port == 0 {
                    warnings.push(format!("{path}: overlapping port definition with {other_path}"));
                } else if host_port == other_port && address.is_empty() != other_address.is_empty() {
                    warnings.push(format!("{path}: dangerously ambiguous port definition with {other_path}"));
                }
            }
            same.push((path.clone(), port));
            names.push((path, port.text_at(&["name"])));
        }
    }
    for (place, (path, name)) in names.iter().enumerate().filter(|(_, (_, name))| !name.is_empty()) {
        if let Some((first, _)) = names[..place].iter().find(|(_, known)| known == name) {
            let name = quote(name);
            warnings.push(format!(
                "{path}: duplicate port name {name} with {first}, services and probes that select ports by name will use \
                 {first}"
            ));
        }
    }
    warnings
}

/// A port as Go shows it with `%+v`.
fn go(port: &Value) -> String {
    let port = build(
        "core/v1.ContainerPort",
        ["name", "hostPort", "containerPort", "protocol", "hostIP"]
            .map(|name| (name, port.get(name).cloned())),
    );
    let text = |field: &str| port.text_at(&[field]).to_owned();
    let number = |field: &str| port.get(field).and_then(Value::as_i64).unwrap_or_default();
    format!(
        "{{Name:{} HostPort:{} ContainerPort:{} Protocol:{} HostIP:{}}}",
        text("name"),
        number("hostPort"),
        number("containerPort"),
        text("protocol"),
        text("hostIP")
    )
}
