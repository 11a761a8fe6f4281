//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use super::endpoint_slice::ENDPOINT_SLICES;
use crate::framework::strategy::{Entry, Settings, find};

const TABLE: &[Entry] =
    &[Entry { name: "endpointslices", kind: "discovery/v1.EndpointSlice", rules: ENDPOINT_SLICES }];

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
