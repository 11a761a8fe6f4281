//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use crate::framework::strategy::{Entry, Rules, Settings, find};

const TABLE: &[Entry] = &[
    Entry {
        name: "horizontalpodautoscalers",
        kind: "autoscaling/v2.HorizontalPodAutoscaler",
        rules: AUTOSCALERS,
    },
    Entry {
        name: "horizontalpodautoscalers/status",
        kind: "autoscaling/v2.HorizontalPodAutoscaler",
        rules: AUTOSCALERS.of_status(),
    },
];

const AUTOSCALERS: Rules = Rules { unconditional_update: true, ..Rules::NAMESPACED.with_status() };

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
