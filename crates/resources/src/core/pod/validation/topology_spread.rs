//! Topology spread constraints.

use super::Options;
use crate::framework::validation::Cursor;

/// Checks the topology spread constraints.
pub(super) fn constraints(_cursor: &Cursor<'_, '_>, _options: &Options) {}
