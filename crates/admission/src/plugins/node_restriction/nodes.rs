//! The Node itself: a kubelet may not change labels and taints by which pods are scheduled.

use std::collections::BTreeSet;

use pintle_meta::{Value, quote};

use super::or_null;
use crate::Result;
use crate::attributes::{Attributes, Operation};

/// Labels below `kubernetes.io` that kubelets may set.
const OWN_LABELS: [&str; 11] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];
/// Prefixes of such labels, and of subdomains of them.
const OWN_PREFIXES: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
const RESTRICTED_PREFIX: &str = "node-restriction.kubernetes.io";
const KUBERNETES_PREFIXES: [&str; 2] = ["kubernetes.io", "k8s.io"];

pub(super) fn node(node: &str, attributes: &Attributes<'_>) -> Result<()> {
    let (shown, name) = (quote(node), attributes.name());
    if name != node {
        let why = format!("node {shown} is not allowed to modify node {}", quote(name));
        return Err(attributes.forbidden(&why));
    }
    let (old, new) = (or_null(attributes.old_object()), or_null(attributes.object()));
    let source = part(new, &["spec", "configSource"]);
    let labels = forbidden_labels(new, old);
    let why = match attributes.operation {
        Operation::Create if source.is_some() => {
            format!("node {shown} is not allowed to create pods with a non-nil configSource")
        }
        Operation::Create if !labels.is_empty() => {
            format!("node {shown} is not allowed to set the following labels: {labels}")
        }
        // Old kubelets do not send the field.
        Operation::Update if source.is_some() && source != part(old, &["spec", "configSource"]) => {
            format!("node {shown} is not allowed to update configSource to a new non-nil configSource")
        }
        Operation::Update if part(new, &["spec", "taints"]) != part(old, &["spec", "taints"]) => {
            format!("node {shown} is not allowed to modify taints")
        }
        Operation::Update if new.owner_references() != old.owner_references() => {
            format!("node {shown} is not allowed to modify ownerReferences")
        }
        Operation::Update if !labels.is_empty() => format!("is not allowed to modify labels: {labels}"),
        _ => return Ok(()),
    };
    Err(attributes.forbidden(&why))
}

/// Returns a field that is present and not empty.
fn part<'v>(object: &'v Value, path: &[&str]) -> Option<&'v Value> {
    let nothing = |value: &Value| value.is_null() || value.as_list().is_some_and(<[Value]>::is_empty);
    object.at(path).filter(|value| !nothing(value))
}

/// Returns changed labels that kubelets may not set, joined by commas.
fn forbidden_labels(new: &Value, old: &Value) -> String {
    let differs = |(key, value): &(&str, &str), other: &Value| other.label(key) != Some(*value);
    let changed = new.labels().filter(|label| differs(label, old));
    let removed = old.labels().filter(|label| differs(label, new));
    let keys: BTreeSet<&str> =
        changed.chain(removed).map(|(key, _)| key).filter(|key| is_forbidden(key)).collect();
    keys.into_iter().collect::<Vec<_>>().join(", ")
}

fn is_forbidden(label: &str) -> bool {
    let prefix = label.split_once('/').map_or("", |(prefix, _)| prefix);
    let below = |domain: &str| {
        prefix == domain || prefix.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
    };
    let own = OWN_LABELS.contains(&label) || OWN_PREFIXES.into_iter().any(below);
    below(RESTRICTED_PREFIX) || (KUBERNETES_PREFIXES.into_iter().any(below) && !own)
}
