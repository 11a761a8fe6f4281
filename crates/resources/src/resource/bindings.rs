//! Conditions that must hold, or must not, before a pod is bound to the node of a device.

use pintle_meta::validation::qualified_name;

use super::collections::list;
use crate::framework::validation::{Cursor, Seen};

const MOST_CONDITIONS: usize = 4;

/// Checks the conditions of a device or of an allocation result.
pub(super) fn validate(of: &Cursor<'_, '_>) {
    let (conditions, failures) = (of.field("bindingConditions"), of.field("bindingFailureConditions"));
    list(&conditions, MOST_CONDITIONS, |name| name.text_format(qualified_name));
    list(&failures, MOST_CONDITIONS, |name| name.text_format(qualified_name));
    let mut known = Seen::new();
    for condition in conditions.items() {
        if !known.insert(condition.text()) {
            condition.duplicate(condition.text());
        }
    }
    let mut seen = Seen::new();
    for failure in failures.items() {
        let name = failure.text();
        if !seen.insert(name) {
            failure.duplicate(name);
        }
        if known.contains(name) {
            failure.invalid(name, "bindingFailureConditions must not overlap with bindingConditions");
        }
    }
    match (conditions.is_empty(), failures.is_empty()) {
        (true, false) => conditions.invalid(
            conditions.printed_as("[]string"),
            "bindingConditions are required to use bindingFailureConditions",
        ),
        (false, true) => failures.invalid(
            failures.printed_as("[]string"),
            "bindingFailureConditions are required to use bindingConditions",
        ),
        _ => {}
    }
}
