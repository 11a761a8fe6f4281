//! Gates, preemption, overhead and scheduling group.

use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::{object_meta, qualified_name};

use super::containers::resources::requirements;
use super::{Facts, Options};
use crate::core::resource_names;
use crate::framework::conversion::build;
use crate::framework::validation::{Cursor, Seen};

/// Checks the readiness gates.
pub(super) fn readiness_gates(gates: &Cursor<'_, '_>) {
    gates.each(|gate| gate.field("conditionType").text_format(qualified_name));
}

/// Checks the scheduling gates.
pub(super) fn scheduling_gates(gates: &Cursor<'_, '_>) {
    let mut seen = Seen::new();
    gates.each(|gate| {
        let name = gate.value().text_at(&["name"]);
        for why in qualified_name(name) {
            gate.invalid(name, why);
        }
        if !seen.insert(name) {
            gate.duplicate(name);
        }
    });
}

/// Checks the preemption policy, if there is one.
pub(crate) fn preemption_policy(policy: &Cursor<'_, '_>) {
    if policy.is_set() {
        policy.required_one_of(&["PreemptLowerPriority", "Never"]);
    }
}

/// Checks the overhead of a pod or of a RuntimeClass, if there is one: by the rules of a container's limits, and by that name.
pub(crate) fn overhead(overhead: &Cursor<'_, '_>, options: &Options) {
    if !overhead.is_set() {
        return;
    }
    let limits = build("core/v1.ResourceRequirements", [("limits", Some(overhead.value().clone()))]);
    let check_name = resource_names::check_container_name;
    requirements(&overhead.with_value(&limits), check_name, &Facts::default(), options);
}

/// Checks the scheduling group, if there is one.
pub(super) fn scheduling_group(group: &Cursor<'_, '_>) {
    if !group.is_set() {
        return;
    }
    let name = group.field("podGroupName");
    if name.is_set() {
        name.text_format(|name| object_meta::subdomain_name(name, false));
    } else {
        name.invalid(Printed::null(), "must specify one of: `podGroupName`");
    }
}

#[cfg(test)]
mod tests;
