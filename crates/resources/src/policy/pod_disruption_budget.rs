//! Pod disruption budgets.

use pintle_meta::selector::{LabelSelector, ValidationOptions};
use pintle_meta::validation::object_meta;

use crate::apps::int_or_percent;
use crate::apps::workload::non_negative;
use crate::framework::strategy::{MetadataCheck, MetadataRecheck, Rules};
use crate::framework::validation::Cursor;

/// Only the spec has rules, and their errors hide those of the metadata; names are any names.
pub(super) const BUDGETS: Rules = Rules {
    name: object_meta::path_segment_name,
    metadata_check: MetadataCheck::IfOtherwiseValid,
    recheck: MetadataRecheck::None,
    standard_finalizers: false,
    validate: |_, budget| spec(&budget.field("spec")),
    validate_update: |_, budget| spec(&budget.field("spec")),
    ..Rules::NAMESPACED.with_status().counting_spec()
};

pub(super) const BUDGET_STATUS: Rules = Rules {
    recheck: MetadataRecheck::None,
    validate_update: |_, budget| {
        let status = budget.field("status");
        status.field("conditions").conditions();
        let counts = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
        non_negative(&status, &counts);
    },
    ..BUDGETS.of_status()
};

fn spec(spec: &Cursor<'_, '_>) {
    let bounds = [spec.field("minAvailable"), spec.field("maxUnavailable")];
    if bounds.iter().all(Cursor::is_set) {
        let printed = spec.printed_as("policy.PodDisruptionBudgetSpec");
        spec.invalid(printed, "minAvailable and maxUnavailable cannot be both set");
    }
    for bound in bounds.iter().filter(|bound| bound.is_set()) {
        int_or_percent::positive(bound);
        int_or_percent::at_most_100_percent(bound);
    }
    let selector = spec.field("selector");
    selector.label_selector(ValidationOptions {
        allow_invalid_values: is_invalid(&selector.before()),
        ..ValidationOptions::default()
    });
    let policy = spec.field("unhealthyPodEvictionPolicy");
    if policy.is_set() {
        policy.one_of(&["AlwaysAllow", "IfHealthyBudget"]);
    }
}

/// Whether a stored selector has any error.
fn is_invalid(selector: &Cursor<'_, '_>) -> bool {
    let selector = selector.value().view::<LabelSelector>().unwrap_or_default();
    !selector.validate(ValidationOptions::default(), &pintle_meta::field_path::Path::NOWHERE).is_empty()
}

#[cfg(test)]
mod tests;
