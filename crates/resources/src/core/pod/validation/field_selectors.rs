//! The downward API: references to fields of the pod and to resources of its containers, in environment variables and files.

use pintle_meta::quantity::Quantity;
use pintle_meta::validation::qualified_name;

use crate::framework::validation::Cursor;

/// Fields of a pod that a reference may name before it is asked whether this place supports them.
const LABELS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

const BYTES: &[&str] = &["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// Checks a `fieldRef`; `supported` has the fields of this place, sorted.
pub(super) fn field_ref(selector: &Cursor<'_, '_>, supported: &[&str]) {
    let (version, path) = (selector.field("apiVersion"), selector.field("fieldPath"));
    let label = path.text();
    if version.is_empty() {
        return version.required("");
    }
    if path.is_empty() {
        return path.required("");
    }
    let unreadable = |why: &str| path.invalid(label, format!("error converting fieldPath: {why}"));
    if version.text() != "v1" {
        return unreadable(&format!("unsupported pod version: {}", version.text()));
    }
    match subscripted(label) {
        Some(("metadata.annotations", key)) => map_key(selector, &key.to_lowercase()),
        Some(("metadata.labels", key)) => map_key(selector, key),
        Some(_) => unreadable(&format!("field label does not support subscript: {label}")),
        // Of clients that are older than v1.
        None if label == "spec.host" => supports(&path, "spec.nodeName", supported),
        None if LABELS.contains(&label) => supports(&path, label, supported),
        None => unreadable(&format!("field label not supported: {label}")),
    }
}

fn supports(path: &Cursor<'_, '_>, label: &str, supported: &[&str]) {
    if !supported.contains(&label) {
        path.not_supported(label, supported);
    }
}

/// Checks a key of labels or annotations. Errors name the reference as a whole.
fn map_key(selector: &Cursor<'_, '_>, key: &str) {
    for why in qualified_name(key) {
        selector.invalid(key, why);
    }
}

/// Returns map and key of `metadata.labels['key']`.
fn subscripted(label: &str) -> Option<(&str, &str)> {
    let (map, key) = label.strip_suffix("']")?.split_once("['")?;
    (!map.is_empty()).then_some((map, key))
}

/// Checks a `resourceFieldRef`; one in a volume names its container.
pub(super) fn resource_field_ref(selector: &Cursor<'_, '_>, in_volume: bool) {
    let (container, resource) = (selector.field("containerName"), selector.field("resource"));
    let name = resource.text();
    if in_volume && container.is_empty() {
        container.required("");
    } else if resource.is_empty() {
        resource.required("");
    } else if !RESOURCES.contains(&name) && !is_huge_page(name) {
        resource.not_supported(name, RESOURCES);
    }
    let divisor = selector.field("divisor");
    let Some(amount) = divisor.quantity().filter(|amount| !amount.is_zero()) else { return };
    let (kind, fits) = match name {
        "limits.cpu" | "requests.cpu" => {
            if !fits(&amount, &["1m", "1"]) {
                let why = "only divisor's values 1m and 1 are supported with the cpu resource";
                divisor.invalid(name, why);
            }
            return;
        }
        "limits.memory" | "requests.memory" => ("memory", fits(&amount, BYTES)),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => {
            ("local ephemeral storage", fits(&amount, BYTES))
        }
        _ if is_huge_page(name) => ("hugepages", fits(&amount, BYTES)),
        _ => return,
    };
    if !fits {
        let all = BYTES.join(", ");
        divisor.invalid(name, format!("only divisor's values {all} are supported with the {kind} resource"));
    }
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with("limits.hugepages-") || name.starts_with("requests.hugepages-")
}

fn fits(divisor: &Quantity, supported: &[&str]) -> bool {
    supported.contains(&divisor.to_string().as_str())
}
