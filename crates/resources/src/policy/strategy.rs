//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_meta::validation::object_meta;
use pintle_registry::Strategy;

use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find};

const TABLE: &[Entry] = &[
    Entry { name: "poddisruptionbudgets", kind: "policy/v1.PodDisruptionBudget", rules: BUDGETS },
    Entry {
        name: "poddisruptionbudgets/status",
        kind: "policy/v1.PodDisruptionBudget",
        rules: Rules { recheck: MetadataRecheck::None, ..BUDGETS.of_status() },
    },
];

/// The kind looks at its spec only; names are what all names are.
const BUDGETS: Rules = Rules {
    name: object_meta::path_segment_name,
    recheck: MetadataRecheck::None,
    standard_finalizers: false,
    ..Rules::NAMESPACED.with_status().counting_spec()
};

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
