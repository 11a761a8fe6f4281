//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use crate::strategy::{Entry, Settings, find};

const TABLE: &[Entry] = &[];

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
