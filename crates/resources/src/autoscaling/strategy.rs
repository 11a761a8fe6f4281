//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use super::horizontal_pod_autoscaler::{AUTOSCALER_STATUS, AUTOSCALERS};
use crate::framework::strategy::{Entry, Settings, find};

const TABLE: &[Entry] = &[
    Entry {
        name: "horizontalpodautoscalers",
        kind: "autoscaling/v2.HorizontalPodAutoscaler",
        rules: AUTOSCALERS,
    },
    Entry {
        name: "horizontalpodautoscalers/status",
        kind: "autoscaling/v2.HorizontalPodAutoscaler",
        rules: AUTOSCALER_STATUS,
    },
];

/// Returns the strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
