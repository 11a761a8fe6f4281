//! Affinity: node selectors, and terms about other pods.

use std::collections::{HashMap, HashSet};

use pintle_meta::Value;
use pintle_meta::field_path::{Path, Value as Printed};
use pintle_meta::selector::{LabelSelector, ValidationOptions};
use pintle_meta::validation::{label_name, label_value, object_meta};

use super::Options;
use crate::framework::validation::Cursor;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const NO_OPERATOR: &str = "not a valid selector operator";
const NO_SELECTOR: &str = "must not be specified when labelSelector is not set";
const SELECTED_TWICE: &str = "exists in both matchLabelKeys and labelSelector";

/// Checks the affinity of a pod.
pub(super) fn affinity(affinity: &Cursor<'_, '_>, options: &Options) {
    let nodes = affinity.field("nodeAffinity");
    let required = nodes.field(REQUIRED);
    if required.is_set() {
        node_selector(&required, options.allow_invalid_label_value_in_required_node_affinity);
    }
    nodes.field(PREFERRED).each(|term| {
        weight(term);
        // One node that fits is enough for a preference, so its values were never checked.
        node_selector_term(&term.field("preference"), true);
    });
    for kind in ["podAffinity", "podAntiAffinity"] {
        let pods = affinity.field(kind);
        let allow_invalid = options.allow_invalid_label_value_in_selector;
        pods.field(REQUIRED).each(|term| pod_affinity_term(term, allow_invalid));
        pods.field(PREFERRED).each(|term| {
            weight(term);
            pod_affinity_term(&term.field("podAffinityTerm"), allow_invalid);
        });
    }
}

fn weight(term: &Cursor<'_, '_>) {
    let weight = term.field("weight");
    if !(1..=100).contains(&weight.integer()) {
        weight.invalid(weight.integer(), "must be in the range 1-100");
    }
}

/// Checks a node selector that is set.
pub(crate) fn node_selector(selector: &Cursor<'_, '_>, allow_invalid_label_value: bool) {
    let terms = selector.field("nodeSelectorTerms");
    if terms.is_empty() {
        return terms.required("must have at least one node selector term");
    }
    terms.each(|term| node_selector_term(term, allow_invalid_label_value));
}

/// Checks a term of a node selector.
pub(crate) fn node_selector_term(term: &Cursor<'_, '_>, allow_invalid_label_value: bool) {
    term.field("matchExpressions")
        .each(|requirement| label_requirement(requirement, allow_invalid_label_value));
    term.field("matchFields").each(field_requirement);
}

fn label_requirement(requirement: &Cursor<'_, '_>, allow_invalid_label_value: bool) {
    let (operator, values) = (requirement.field("operator"), requirement.field("values"));
    match operator.text() {
        "In" | "NotIn" if values.is_empty() => {
            values.required("must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
        "Gt" | "Lt" if values.len() != 1 => {
            values.required("must be specified single value when `operator` is 'Lt' or 'Gt'");
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => operator.invalid(Printed::json(other), NO_OPERATOR),
    }
    requirement.field("key").text_check(label_name);
    if !allow_invalid_label_value {
        values.each(|value| value.text_format(label_value));
    }
}

/// Checks a requirement about fields of a node, of which only the name can be selected by.
fn field_requirement(requirement: &Cursor<'_, '_>) {
    let (operator, values) = (requirement.field("operator"), requirement.field("values"));
    match operator.text() {
        "In" | "NotIn" if values.len() != 1 => {
            values.required(
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
            );
        }
        "In" | "NotIn" => {}
        other => operator.invalid(Printed::json(other), NO_OPERATOR),
    }
    let key = requirement.field("key");
    if key.text() == "metadata.name" {
        values.each(|value| value.text_format(|name| object_meta::subdomain_name(name, false)));
    } else {
        key.invalid(key.text(), "not a valid field selector key");
    }
}

fn pod_affinity_term(term: &Cursor<'_, '_>, allow_invalid_label_value: bool) {
    let options = ValidationOptions { allow_invalid_values: allow_invalid_label_value, ..Default::default() };
    for selector in ["labelSelector", "namespaceSelector"] {
        let selector = term.field(selector);
        if selector.is_set() {
            selector.label_selector(options);
        }
    }
    let namespace = term.at_as(&["namespaces"], "namespace");
    for name in namespace.texts() {
        for why in object_meta::label_name(name, false) {
            namespace.invalid(name, why);
        }
    }
    label_keys(term);
    let key = term.field("topologyKey");
    if key.is_empty() {
        key.required("can not be empty");
    }
    key.text_check(label_name);
}

/// Checks `matchLabelKeys` and `mismatchLabelKeys` of a term, or of a spread constraint, against its label selector. That has
/// the selected keys already, so a key that it has twice was also given by the client.
pub(super) fn label_keys(term: &Cursor<'_, '_>) {
    let (matching, mismatching) = (term.field("matchLabelKeys"), term.field("mismatchLabelKeys"));
    let selector = term.field("labelSelector");
    for keys in [&matching, &mismatching] {
        if !keys.is_empty() && !selector.is_set() {
            keys.forbidden(NO_SELECTOR);
        } else {
            keys.each(|key| key.text_check(label_name));
        }
    }
    if matching.is_empty() {
        return;
    }
    if selector.is_set() {
        let places: HashMap<&str, usize> =
            matching.texts().into_iter().enumerate().map(|(place, key)| (key, place)).collect();
        let mut seen = selector_labels(selector.value()).collect::<HashSet<_>>();
        for key in selector_expressions(selector.value()) {
            if let Some(place) = places.get(key)
                && seen.contains(key)
            {
                term.index(*place).invalid(key, SELECTED_TWICE);
            }
            seen.insert(key);
        }
    }
    let others: HashSet<&str> = mismatching.texts().into_iter().collect();
    matching.each(|key| {
        if others.contains(key.text()) {
            key.invalid(key.text(), "exists in both matchLabelKeys and mismatchLabelKeys");
        }
    });
}

/// As [`label_keys`], of the time before keys were added to the selector: it may not have any of them.
pub(super) fn unmerged_label_keys(constraint: &Cursor<'_, '_>) {
    let (keys, selector) = (constraint.field("matchLabelKeys"), constraint.field("labelSelector"));
    if keys.is_empty() {
        return;
    }
    if !selector.is_set() {
        keys.forbidden(NO_SELECTOR);
    }
    let selected: HashSet<&str> =
        selector_labels(selector.value()).chain(selector_expressions(selector.value())).collect();
    keys.each(|key| {
        key.text_check(label_name);
        if selected.contains(key.text()) {
            key.invalid(key.text(), SELECTED_TWICE);
        }
    });
}

fn selector_labels(selector: &Value) -> impl Iterator<Item = &str> {
    selector.get("matchLabels").and_then(Value::as_object).into_iter().flat_map(|labels| labels.keys())
}

fn selector_expressions(selector: &Value) -> impl Iterator<Item = &str> {
    selector.items_at(&["matchExpressions"]).iter().map(|expression| expression.text_at(&["key"]))
}

/// Whether a selector of a pod affinity term is not valid, at the spec of a pod.
pub(super) fn has_invalid_selector(spec: &Value) -> bool {
    let is_invalid = |term: &Value| {
        ["labelSelector", "namespaceSelector"].iter().any(|selector| is_invalid_selector(term.get(selector)))
    };
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        spec.items_at(&["affinity", kind, REQUIRED]).iter().any(is_invalid)
            || spec
                .items_at(&["affinity", kind, PREFERRED])
                .iter()
                .any(|term| term.get("podAffinityTerm").is_some_and(is_invalid))
    })
}

pub(super) fn is_invalid_selector(selector: Option<&Value>) -> bool {
    let selector = selector.and_then(|selector| selector.view::<LabelSelector>().ok());
    selector
        .is_some_and(|selector| !selector.validate(ValidationOptions::default(), &Path::NOWHERE).is_empty())
}

/// Whether a required node affinity has a value that is no label's, at the spec of a pod.
pub(super) fn has_invalid_required_node_affinity(spec: &Value) -> bool {
    has_invalid_label_value(spec.items_at(&["affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"]))
}

/// Whether terms of a node selector have a value that is no label's.
pub(crate) fn has_invalid_label_value(terms: &[Value]) -> bool {
    let expressions = terms.iter().flat_map(|term| term.items_at(&["matchExpressions"]));
    let mut values = expressions.flat_map(|expression| expression.items_at(&["values"]));
    values.any(|value| !label_value(value.as_str().unwrap_or_default()).is_empty())
}

#[cfg(test)]
mod tests;
