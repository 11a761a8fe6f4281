//! What clients are told about pods and templates for them that are valid, but hardly meant so.

mod containers;
mod volumes;

use std::collections::BTreeSet;

use pintle_meta::field_path::Path;
use pintle_meta::quantity::Quantity;
use pintle_meta::validation::{dns1123_label, ip_warnings, label_value};
use pintle_meta::{Object, Value, quote};

pub(crate) use self::volumes::claim_spec;
use crate::strategy::labels;

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
    let mut warnings = Vec::new();
    if !wrong.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            wrong.join(" ")
        ));
    }
    warnings.extend(of(&Path::NOWHERE, pod, false));
    warnings
}

/// About the template for pods that stands at a path of an object.
pub(crate) fn of_template(object: &Value, path: &[&str]) -> Vec<String> {
    let Some(template) = object.at(path) else { return Vec::new() };
    of(&Path::new(&path.join(".")), template, true)
}

fn of(root: &Path<'_>, pod: &Value, is_template: bool) -> Vec<String> {
    let Some(spec) = pod.get("spec") else { return Vec::new() };
    let path = root.child("spec");
    let mut warnings = Vec::new();
    warnings.extend(nodes(&path, spec));
    let annotations = root.child("metadata.annotations");
    for (key, why) in ANNOTATIONS.iter().filter(|(key, _)| pod.annotation(key).is_some()) {
        warnings.push(format!("{}: {why}", annotations.key(key)));
    }
    warnings.extend(volumes::of(&path, spec));
    warnings.extend(repeated(&path.child("hostAliases"), spec.items_at(&["hostAliases"]), "ip"));
    let secrets = (path.child("imagePullSecrets"), spec.items_at(&["imagePullSecrets"]));
    warnings.extend(repeated(&secrets.0, secrets.1, "name"));
    for (index, _) in named(secrets.1, "name").filter(|(_, name)| name.is_empty()) {
        warnings.push(format!("{}: invalid empty name \"\"", secrets.0.index(index).child("name")));
    }
    for resource in ["memory", "ephemeral-storage"] {
        warnings.extend(fraction(&path.child("overhead"), spec.get("overhead"), resource));
    }
    let has_profile = spec.at(&["securityContext", "seccompProfile"]).is_some();
    if !has_profile && pod.annotation(SECCOMP_OF_POD).is_some() {
        warnings.push(format!("{}: {SECCOMP}", annotations.key(SECCOMP_OF_POD)));
    }
    warnings.extend(containers::of(root, pod, spec, is_template));
    if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds < 0) {
        warnings.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            path.child("terminationGracePeriodSeconds")
        ));
    }
    warnings.extend(affinity(&path, spec));
    let servers = path.child("dnsConfig.nameservers");
    for (index, server) in spec.items_at(&["dnsConfig", "nameservers"]).iter().enumerate() {
        warnings.extend(ip_warnings(&servers.index(index), server.as_str().unwrap_or_default()));
    }
    let aliases = path.child("hostAliases");
    for (index, address) in named(spec.items_at(&["hostAliases"]), "ip") {
        warnings.extend(ip_warnings(&aliases.index(index).child("ip"), address));
    }
    warnings
}

/// Labels of nodes that nobody should select by any more.
fn nodes(path: &Path<'_>, spec: &Value) -> Vec<String> {
    const REQUIRED: &[&str] =
        &["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"];
    const PREFERRED: &[&str] =
        &["affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"];
    let mut warnings = Vec::new();
    let selector = spec.get("nodeSelector").and_then(Value::as_object);
    for key in selector.into_iter().flat_map(Object::keys) {
        if let Some(why) = labels::deprecated(key) {
            warnings.push(format!("{}: {why}", path.child("nodeSelector").key(key)));
        }
    }
    let (required, preferred) = (REQUIRED.join("."), PREFERRED.join("."));
    let (required, preferred) = (path.child(&required), path.child(&preferred));
    for (index, term) in spec.items_at(REQUIRED).iter().enumerate() {
        warnings.extend(node_selector_term(&required.index(index), term, false));
    }
    for (index, preference) in spec.items_at(PREFERRED).iter().enumerate() {
        let path = preferred.index(index);
        if let Some(term) = preference.get("preference") {
            warnings.extend(node_selector_term(&path.child("preference"), term, true));
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
    }
    warnings
}

/// About one way to select nodes. What is only preferred is not validated, and told about here.
pub(crate) fn node_selector_term(path: &Path<'_>, term: &Value, is_preferred: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let expressions = path.child("matchExpressions");
    for (index, expression) in term.items_at(&["matchExpressions"]).iter().enumerate() {
        let path = expressions.index(index);
        let key = expression.text_at(&["key"]);
        if let Some(why) = labels::deprecated(key) {
            warnings.push(format!("{}: {key} is {why}", path.child("key")));
        }
        let values = expression.items_at(&["values"]).iter().filter_map(Value::as_str).enumerate();
        for (index, value) in values.filter(|_| is_preferred) {
            for wrong in label_value(value) {
                warnings.push(format!("{}: {value} is invalid, {wrong}", path.child("values").index(index)));
            }
        }
    }
    warnings
}

/// Terms that select no pods.
fn affinity(path: &Path<'_>, spec: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let affinity = path.child("affinity");
    for side in ["podAffinity", "podAntiAffinity"] {
        let path = affinity.child(side);
        let terms = |list: &str| spec.items_at(&["affinity", side, list]).iter().enumerate();
        let list = "requiredDuringSchedulingIgnoredDuringExecution";
        for (index, _) in terms(list).filter(|(_, term)| term.get("labelSelector").is_none()) {
            warnings
                .push(format!("{}: {NULL_SELECTOR}", path.child(list).index(index).child("labelSelector")));
        }
        let list = "preferredDuringSchedulingIgnoredDuringExecution";
        let selects = |term: &Value| term.at(&["podAffinityTerm", "labelSelector"]).is_some();
        for (index, _) in terms(list).filter(|(_, term)| !selects(term)) {
            let path = path.child(list);
            let path = path.index(index);
            warnings.push(format!("{}: {NULL_SELECTOR}", path.child("podAffinityTerm.labelSelector")));
        }
    }
    warnings
}

/// What the items of a list have in a field.
fn named<'a>(items: &'a [Value], field: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    items.iter().enumerate().map(move |(index, item)| (index, item.text_at(&[field])))
}

fn repeated(path: &Path<'_>, items: &[Value], field: &str) -> Vec<String> {
    let mut known = BTreeSet::new();
    let repeated = named(items, field).filter(|(_, value)| !known.insert(*value));
    let told = |(index, value): (usize, &str)| {
        format!("{}: duplicate {field} {}", path.index(index).child(field), quote(value))
    };
    repeated.map(told).collect()
}

/// An amount of bytes that is no whole number.
pub(crate) fn fraction(path: &Path<'_>, amounts: Option<&Value>, resource: &str) -> Option<String> {
    let amount = amounts?.get(resource)?.as_str()?;
    let is_whole = Quantity::parse(amount).ok()?.milli_value() % 1000 == 0;
    let amount = quote(amount);
    let path = path.key(resource);
    (!is_whole).then(|| format!("{path}: fractional byte value {amount} is invalid, must be an integer"))
}
