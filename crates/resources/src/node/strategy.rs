//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use super::runtime_class::RUNTIME_CLASSES;
use crate::framework::strategy::{Entry, Settings, find};

const TABLE: &[Entry] =
    &[Entry { name: "runtimeclasses", kind: "node/v1.RuntimeClass", rules: RUNTIME_CLASSES }];

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
