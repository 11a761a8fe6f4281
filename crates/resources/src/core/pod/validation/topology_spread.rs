//! Topology spread constraints.

use std::collections::HashMap;

use pintle_meta::Value;
use pintle_meta::selector::ValidationOptions;

use super::{Options, affinity};
use crate::framework::validation::{Cursor, Errors};

/// Checks the topology spread constraints.
pub(super) fn constraints(constraints: &Cursor<'_, '_>, options: &Options) {
    if constraints.is_empty() {
        return;
    }
    // The last place of each pair; an error is reported at all places before it.
    let values = constraints.values().iter().enumerate();
    let last: HashMap<_, usize> = values.map(|(place, constraint)| (pair(constraint), place)).collect();
    for (place, constraint) in constraints.items().enumerate() {
        constraint.field("maxSkew").positive();
        let key = constraint.field("topologyKey");
        if key.is_empty() {
            key.required("can not be empty");
        }
        let action = constraint.field("whenUnsatisfiable");
        action.one_of(&["DoNotSchedule", "ScheduleAnyway"]);
        if last.get(&pair(constraint.value())).is_some_and(|last| *last > place) {
            let shown = format!("{{{}, {}}}", key.text(), action.text());
            constraint.field("{topologyKey, whenUnsatisfiable}").duplicate(shown);
        }
        min_domains(&constraint.field("minDomains"), action.text());
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            let policy = constraint.field(policy);
            if policy.is_set() {
                policy.one_of(&["Honor", "Ignore"]);
            }
        }
        match_label_keys(&constraint, options);
        let selector = constraint.field("labelSelector");
        if selector.is_set() && !options.allow_invalid_topology_spread_selector {
            selector.label_selector(ValidationOptions::default());
        }
    }
}

/// Returns the fields that name a constraint.
fn pair(constraint: &Value) -> (&str, &str) {
    (constraint.text_at(&["topologyKey"]), constraint.text_at(&["whenUnsatisfiable"]))
}

fn min_domains(domains: &Cursor<'_, '_>, action: &str) {
    if !domains.is_set() {
        return;
    }
    domains.positive();
    if action != "DoNotSchedule" {
        let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        domains.invalid(domains.integer(), why);
    }
}

/// Checks the keys by the rules of the gates, or by the others if the old pod does not keep those: keys cannot change.
fn match_label_keys(constraint: &Cursor<'_, '_>, options: &Options) {
    let is_merged = options.allow_match_label_keys_in_spread
        && if options.merge_match_label_keys_in_spread {
            !options.old_violates_match_label_keys
        } else {
            options.old_violates_legacy_match_label_keys
        };
    if is_merged {
        affinity::label_keys(constraint);
    } else {
        affinity::unmerged_label_keys(constraint);
    }
}

/// Whether a rule about the keys of constraints finds something, at the spec of a pod.
pub(super) fn violates(spec: &Value, rule: fn(&Cursor<'_, '_>)) -> bool {
    let errors = Errors::default();
    let constraints = spec.items_at(&["topologySpreadConstraints"]);
    constraints.iter().for_each(|constraint| rule(&Cursor::root(constraint, None, &errors)));
    errors.len() > 0
}

/// Whether a selector of a constraint is not valid, at the spec of a pod.
pub(super) fn has_invalid_selector(spec: &Value) -> bool {
    let mut constraints = spec.items_at(&["topologySpreadConstraints"]).iter();
    constraints.any(|constraint| affinity::is_invalid_selector(constraint.get("labelSelector")))
}

#[cfg(test)]
mod tests;
