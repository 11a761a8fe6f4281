//! The strategies of the group's resources: events by their newer name, which are stored as those of the core group.

use std::sync::Arc;

use pintle_registry::Strategy;

use crate::core::strategy::EVENTS;
use crate::strategy::{Entry, Settings, find};

const TABLE: &[Entry] = &[Entry { name: "events", kind: "core/v1.Event", rules: EVENTS }];

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
