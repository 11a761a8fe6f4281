//! What clients are told about pods and templates for them that are valid, but hardly meant so.

mod containers;
mod paths;
mod ports;
#[cfg(test)]
mod tests;
mod volumes;

use std::collections::HashSet;

use pintle_meta::field_path::Path;
use pintle_meta::quantity::Quantity;
use pintle_meta::validation::{dns1123_label, ip_warnings, label_value};
use pintle_meta::{Object, Value, Warnings, quote};

pub(crate) use self::volumes::claim_spec;
use crate::framework::strategy::labels;

const ANNOTATIONS: &[(&str, &str)] = &[
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        r#"non-functional in v1.16+; use the "priorityClassName" field instead"#,
    ),
    ("security.alpha.kubernetes.io/sysctls", r#"non-functional in v1.11+; use the "sysctls" field instead"#),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        r#"non-functional in v1.11+; use the "sysctls" field instead"#,
    ),
];
const SECCOMP: &str = r#"non-functional in v1.27+; use the "seccompProfile" field instead"#;
const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const NULL_SELECTOR: &str = "a null labelSelector results in matching no pod";

/// About a new pod.
pub(crate) fn of_pod(pod: &Value) -> Vec<String> {
    let wrong = dns1123_label(pod.name());
    let mut warnings = Warnings::new();
    if !wrong.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            wrong.join(" ")
        ));
    }
    of(&mut warnings, &Path::NOWHERE, pod, false);
    warnings.into_texts()
}

/// About the template for pods that stands at a path of an object.
pub(crate) fn of_template(object: &Value, path: &[&str]) -> Vec<String> {
    let mut warnings = Warnings::new();
    if let Some(template) = object.at(path) {
        of(&mut warnings, &Path::new(&path.join(".")), template, true);
    }
    warnings.into_texts()
}

fn of(warnings: &mut Warnings, root: &Path<'_>, pod: &Value, is_template: bool) {
    let Some(spec) = pod.get("spec") else { return };
    let path = root.child("spec");
    nodes(warnings, &path, spec);
    let annotations = root.child("metadata.annotations");
    for (key, why) in ANNOTATIONS.iter().filter(|(key, _)| pod.annotation(key).is_some()) {
        warnings.push(format!("{}: {why}", annotations.key(key)));
    }
    volumes::of(warnings, &path, spec);
    repeated(warnings, &path.child("hostAliases"), spec.items_at(&["hostAliases"]), "ip");
    let secrets = (path.child("imagePullSecrets"), spec.items_at(&["imagePullSecrets"]));
    repeated(warnings, &secrets.0, secrets.1, "name");
    warnings.extend(
        named(secrets.1, "name")
            .filter(|(_, name)| name.is_empty())
            .map(|(index, _)| format!("{}: invalid empty name \"\"", secrets.0.index(index).child("name"))),
    );
    for resource in ["memory", "ephemeral-storage"] {
        warnings.extend(fraction(&path.child("overhead"), spec.get("overhead"), resource));
    }
    let has_profile = spec.at(&["securityContext", "seccompProfile"]).is_some();
    if !has_profile && pod.annotation(SECCOMP_OF_POD).is_some() {
        warnings.push(format!("{}: {SECCOMP}", annotations.key(SECCOMP_OF_POD)));
    }
    containers::of(warnings, root, pod, spec, is_template);
    if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds < 0) {
        warnings.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            path.child("terminationGracePeriodSeconds")
        ));
    }
    affinity(warnings, &path, spec);
    let servers = path.child("dnsConfig.nameservers");
    let given = spec.items_at(&["dnsConfig", "nameservers"]).iter().enumerate();
    warnings.extend(
        given.flat_map(|(index, server)| {
            ip_warnings(&servers.index(index), server.as_str().unwrap_or_default())
        }),
    );
    let aliases = path.child("hostAliases");
    let given = named(spec.items_at(&["hostAliases"]), "ip");
    warnings
        .extend(given.flat_map(|(index, address)| ip_warnings(&aliases.index(index).child("ip"), address)));
}

/// Labels of nodes that nobody should select by any more.
fn nodes(warnings: &mut Warnings, path: &Path<'_>, spec: &Value) {
    const REQUIRED: &[&str] =
        &["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"];
    const PREFERRED: &[&str] =
        &["affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"];
    let selector = spec.get("nodeSelector").and_then(Value::as_object);
    for key in selector.into_iter().flat_map(Object::keys) {
        if let Some(why) = labels::deprecated(key) {
            warnings.push(format!("{}: {why}", path.child("nodeSelector").key(key)));
        }
    }
    let (required, preferred) = (REQUIRED.join("."), PREFERRED.join("."));
    let (required, preferred) = (path.child(&required), path.child(&preferred));
    for (index, term) in spec.items_at(REQUIRED).iter().enumerate() {
        node_selector_term(warnings, &required.index(index), term, false);
    }
    for (index, preference) in spec.items_at(PREFERRED).iter().enumerate() {
        let path = preferred.index(index);
        if let Some(term) = preference.get("preference") {
            node_selector_term(warnings, &path.child("preference"), term, true);
        }
    }
    let constraints = path.child("topologySpreadConstraints");
    for (index, constraint) in spec.items_at(&["topologySpreadConstraints"]).iter().enumerate() {
        let path = constraints.index(index);
        let key = constraint.text_at(&["topologyKey"]);
        if let Some(why) = labels::deprecated(key) {
            warnings.push(format!("{}: {key} is {why}", path.child("topologyKey")));
        }
        if constraint.get("labelSelector").is_none() {
            warnings.push(format!("{}: {NULL_SELECTOR}", path.child("labelSelector")));
        }
        if warnings.is_full() {
            return;
        }
    }
}

/// About one way to select nodes. What is only preferred is not validated, and told about here.
pub(crate) fn node_selector_term(warnings: &mut Warnings, path: &Path<'_>, term: &Value, is_preferred: bool) {
    let expressions = path.child("matchExpressions");
    for (index, expression) in term.items_at(&["matchExpressions"]).iter().enumerate() {
        if warnings.is_full() {
            return;
        }
        let path = expressions.index(index);
        let key = expression.text_at(&["key"]);
        if let Some(why) = labels::deprecated(key) {
            warnings.push(format!("{}: {key} is {why}", path.child("key")));
        }
        let values = expression.items_at(&["values"]).iter().filter_map(Value::as_str).enumerate();
        let values_path = path.child("values");
        warnings.extend(values.filter(|_| is_preferred).flat_map(|(index, value)| {
            let place = values_path.index(index);
            let told = |wrong: String| format!("{place}: {value} is invalid, {wrong}");
            label_value(value).into_iter().map(told).collect::<Vec<_>>()
        }));
    }
}

/// Terms that select no pods.
fn affinity(warnings: &mut Warnings, path: &Path<'_>, spec: &Value) {
    let affinity = path.child("affinity");
    for side in ["podAffinity", "podAntiAffinity"] {
        let path = affinity.child(side);
        let terms = |list: &str| spec.items_at(&["affinity", side, list]).iter().enumerate();
        let list = "requiredDuringSchedulingIgnoredDuringExecution";
        let list_path = path.child(list);
        let without = terms(list).filter(|(_, term)| term.get("labelSelector").is_none());
        warnings.extend(
            without.map(|(index, _)| {
                format!("{}: {NULL_SELECTOR}", list_path.index(index).child("labelSelector"))
            }),
        );
        let list = "preferredDuringSchedulingIgnoredDuringExecution";
        let list_path = path.child(list);
        let selects = |term: &Value| term.at(&["podAffinityTerm", "labelSelector"]).is_some();
        warnings.extend(terms(list).filter(|(_, term)| !selects(term)).map(|(index, _)| {
            let path = list_path.index(index);
            format!("{}: {NULL_SELECTOR}", path.child("podAffinityTerm.labelSelector"))
        }));
    }
}

/// What the items of a list have in a field.
fn named<'a>(items: &'a [Value], field: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    items.iter().enumerate().map(move |(index, item)| (index, item.text_at(&[field])))
}

fn repeated(warnings: &mut Warnings, path: &Path<'_>, items: &[Value], field: &str) {
    let mut known = HashSet::new();
    let repeated = named(items, field).filter(|(_, value)| !known.insert(*value));
    warnings.extend(repeated.map(|(index, value)| {
        format!("{}: duplicate {field} {}", path.index(index).child(field), quote(value))
    }));
}

/// An amount of bytes that is no whole number.
pub(crate) fn fraction(path: &Path<'_>, amounts: Option<&Value>, resource: &str) -> Option<String> {
    let amount = amounts?.get(resource)?.as_str()?;
    let is_whole = Quantity::parse(amount).ok()?.milli_value() % 1000 == 0;
    let amount = quote(amount);
    let path = path.key(resource);
    (!is_whole).then(|| format!("{path}: fractional byte value {amount} is invalid, must be an integer"))
}
