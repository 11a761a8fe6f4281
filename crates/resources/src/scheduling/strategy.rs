//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use super::{pod_group, priority_class, workload};
use crate::framework::strategy::{Entry, Rules, Settings, find};

const TABLE: &[Entry] = &[
    Entry { name: "podgroups", kind: "scheduling/v1alpha2.PodGroup", rules: pod_group::POD_GROUPS },
    Entry { name: "podgroups/status", kind: "scheduling/v1alpha2.PodGroup", rules: pod_group::STATUS },
    Entry {
        name: "priorityclasses",
        kind: "scheduling/v1.PriorityClass",
        rules: priority_class::PRIORITY_CLASSES,
    },
    Entry { name: "workloads", kind: "scheduling/v1alpha2.Workload", rules: workload::WORKLOADS },
];

pub(super) const UNCONDITIONAL: Rules = Rules { unconditional_update: true, ..Rules::NAMESPACED };

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
