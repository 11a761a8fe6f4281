//! Validation of updates of pods: few fields may change after creation.

use std::collections::{HashMap, HashSet};

use pintle_meta::field_path::{Error, Path, Value as Printed};
use pintle_meta::validation::inclusive_range_error;
use pintle_meta::value::Key;
use pintle_meta::{Value, quote};
use pintle_schema::go;

use super::validation::{self, Options, annotations, tolerations};
use crate::framework::conversion::build;
use crate::framework::semantic::is_same_as;
use crate::framework::strategy::tree;
use crate::framework::validation::Cursor;

const MUTABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
    `spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 \
    if it was previously negative)";

/// Checks a changed pod, beside its metadata.
pub(crate) fn update(pod: &Cursor<'_, '_>, options: &Options) {
    validation::annotations_and_spec(pod, options);
    annotations::changes(pod, options);
    changes(&pod.field("spec"), options);
}

/// Checks that nothing else than what may change did.
fn changes(spec: &Cursor<'_, '_>, options: &Options) {
    for list in ["containers", "initContainers"] {
        let containers = spec.field(list);
        if containers.len() != containers.before().len() {
            return containers.forbidden("pod updates may not add or remove containers");
        }
        containers.each(|container| {
            let image = container.field("image");
            if image.is_empty() {
                image.required("");
            }
            if image.text().trim() != image.text() {
                image.invalid(image.text(), "must not have leading or trailing whitespace");
            }
        });
    }
    if !deadline(&spec.field("activeDeadlineSeconds")) {
        return;
    }
    added_tolerations(&spec.field("tolerations"), options);
    deleted_gates(&spec.field("schedulingGates"));
    let (new, old) = (spec.value(), spec.before().value());
    if is_same_as("core/v1.PodSpec", Some(new), Some(old)) {
        return;
    }
    let mut masked = masked(new, old);
    if !old.items_at(&["schedulingGates"]).is_empty() {
        before_scheduling(spec, &mut masked, old);
    }
    if !is_same_as("core/v1.PodSpec", Some(&masked), Some(old)) {
        let changed = spec.diff("core.PodSpec", old, &masked);
        spec.forbidden(format!("pod updates may not change fields other than {MUTABLE}\n{changed}"));
    }
}

/// Checks that a deadline only comes, or comes sooner. Returns false where nothing else is worth a look.
fn deadline(deadline: &Cursor<'_, '_>) -> bool {
    let most = i64::from(i32::MAX);
    match (deadline.optional_integer(), deadline.before().optional_integer()) {
        (Some(new), _) if !(0..=most).contains(&new) => {
            deadline.invalid(new, inclusive_range_error(0, most));
            return false;
        }
        (Some(new), Some(old)) if old < new => {
            deadline.invalid(new, "must be less than or equal to previous value");
            return false;
        }
        (None, Some(_)) => {
            deadline.invalid(Printed::null(), "must not update from a positive integer to nil value");
        }
        _ => {}
    }
    true
}

/// Checks that tolerations only come; of those that are there, the time may change.
fn added_tolerations(tolerations: &Cursor<'_, '_>, options: &Options) {
    fn without_time(toleration: &Value) -> [&str; 4] {
        ["key", "operator", "value", "effect"].map(|field| toleration.text_at(&[field]))
    }
    if tolerations.before().is_empty() && tolerations.is_empty() {
        return;
    }
    let new: HashSet<_> = tolerations.values().iter().map(without_time).collect();
    if !tolerations.before().values().iter().all(|old| new.contains(&without_time(old))) {
        return tolerations.forbidden("existing toleration can not be modified except its tolerationSeconds");
    }
    tolerations::tolerations(tolerations, options.allow_toleration_comparison);
}

/// Checks that scheduling gates only go.
fn deleted_gates(gates: &Cursor<'_, '_>) {
    if gates.is_empty() {
        return;
    }
    let known: HashSet<&str> = gates.before().values().iter().map(|gate| gate.text_at(&["name"])).collect();
    let places = gates.values().iter().enumerate().map(|(place, gate)| (gate.text_at(&["name"]), place));
    // Of several with a name, the last is named.
    let last: HashMap<&str, usize> = places.collect();
    for (place, gate) in gates.items().enumerate() {
        let name = gate.field("name");
        if !known.contains(name.text()) && last.get(name.text()) == Some(&place) {
            name.forbidden(format!(
                "only deletion is allowed, but found new scheduling gate '{}'",
                name.text()
            ));
        }
    }
}

/// Returns the new spec with all that may change as it was.
fn masked(new: &Value, old: &Value) -> Value {
    let mut masked = new.clone();
    for list in ["containers", "initContainers"] {
        let containers = new.items_at(&[list]).iter().zip(old.items_at(&[list]));
        let with_image = |(new, old): (&Value, &Value)| {
            let mut container = new.clone();
            tree::keep(&mut container, old, &["image"]);
            container
        };
        let containers: Vec<Value> = containers.map(with_image).collect();
        if !containers.is_empty()
            && let Some(masked) = masked.as_object_mut()
        {
            masked.insert(Key::new_static(list), containers);
        }
    }
    for path in [&["activeDeadlineSeconds"], &["schedulingGates"], &["tolerations"]] {
        tree::keep(&mut masked, old, path);
    }
    const GRACE: &[&str] = &["terminationGracePeriodSeconds"];
    let seconds = |spec: &Value| spec.at(GRACE).and_then(Value::as_i64);
    if seconds(old).is_some_and(|seconds| seconds < 0) && seconds(new) == Some(1) {
        tree::keep(&mut masked, old, GRACE);
    }
    masked
}

/// Checks changes of where a pod with scheduling gates may run: to fewer nodes. These fields are as they were in the masked
/// spec then.
fn before_scheduling(spec: &Cursor<'_, '_>, masked: &mut Value, old: &Value) {
    const AFFINITY: &[&str] = &["affinity", "nodeAffinity"];
    let selector = spec.field("nodeSelector");
    if selector.changed() {
        let mut before = selector.before().map().into_iter().flat_map(|entries| entries.iter());
        if !before.all(|(key, value)| selector.key(key).is_set() && selector.key(key).value() == value) {
            let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
            selector.invalid(selector.printed_as("map[string]string"), why);
        }
        tree::keep(masked, old, &["nodeSelector"]);
    }
    if masked.at(AFFINITY) != old.at(AFFINITY) {
        terms(&spec.at(AFFINITY));
        let others = ["podAffinity", "podAntiAffinity"];
        let is_alone = |affinity: &Value| others.iter().all(|other| affinity.get(other).is_none());
        match (masked.get("affinity"), old.get("affinity")) {
            (Some(affinity), None) if is_alone(affinity) => tree::remove(masked, &["affinity"]),
            (None, Some(affinity)) => {
                let nodes = affinity.get("nodeAffinity").cloned();
                tree::set(masked, &["affinity"], build("core/v1.Affinity", [("nodeAffinity", nodes)]));
            }
            _ => tree::keep(masked, old, AFFINITY),
        }
    }
}

/// Checks that the nodes that a pod must have only become fewer.
fn terms(affinity: &Cursor<'_, '_>) {
    let terms = affinity.at(&["requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"]);
    let before = terms.before();
    if before.is_empty() {
        return;
    }
    if terms.len() != before.len() {
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        return terms.invalid(terms.printed_as("[]core.NodeSelectorTerm"), why);
    }
    terms.each(|term| {
        if !only_adds(term.value(), term.before().value()) {
            let why = "only additions are allowed (no mutations or deletions)";
            term.invalid(term.printed_as("core.NodeSelectorTerm"), why);
        }
    });
}

fn only_adds(new: &Value, old: &Value) -> bool {
    let lists =
        ["matchExpressions", "matchFields"].map(|list| (new.items_at(&[list]), old.items_at(&[list])));
    // A term without anything selects nothing, and with something more.
    if lists.iter().all(|(_, old)| old.is_empty()) {
        return lists.iter().all(|(new, _)| new.is_empty());
    }
    lists.iter().all(|(new, old)| new.starts_with(old))
}

/// Checks a pod with other ephemeral containers. They come, and stay as they are; patches do not keep their order.
pub(crate) fn ephemeral_containers(pod: &Cursor<'_, '_>, options: &Options) {
    if pod.before().at(&["metadata", "annotations", annotations::MIRROR]).is_set() {
        let why = "static pods do not support ephemeral containers";
        return pod.report([Error::forbidden(&Path::new(""), why)]);
    }
    validation::annotations_and_spec(pod, options);
    annotations::changes(pod, options);
    let containers = pod.at(&["spec", "ephemeralContainers"]);
    // The last of several of a name, which are wrong anyway.
    let named: HashMap<&str, &Value> =
        containers.values().iter().map(|container| (container.text_at(&["name"]), container)).collect();
    for old in containers.before().values() {
        let name = old.text_at(&["name"]);
        let refused = match named.get(name).copied() {
            None => "may not be removed\n".to_owned(),
            Some(found) if is_same_as("core/v1.EphemeralContainer", Some(found), Some(old)) => continue,
            Some(found) => {
                format!("may not be changed\n{}", go::diff("core.EphemeralContainer", old, found))
            }
        };
        containers.forbidden(format!("existing ephemeral containers {} {refused}", quote(name)));
    }
}

#[cfg(test)]
mod tests;
