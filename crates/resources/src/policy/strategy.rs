//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use super::pod_disruption_budget::{BUDGET_STATUS, BUDGETS};
use crate::framework::strategy::{Entry, Settings, find};

const TABLE: &[Entry] = &[
    Entry { name: "poddisruptionbudgets", kind: "policy/v1.PodDisruptionBudget", rules: BUDGETS },
    Entry {
        name: "poddisruptionbudgets/status",
        kind: "policy/v1.PodDisruptionBudget",
        rules: BUDGET_STATUS,
    },
];

/// Returns the strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
