//! Gates, priority, preemption, overhead and scheduling group.

use super::Options;
use crate::framework::validation::Cursor;

/// Checks the readiness gates.
pub(super) fn readiness_gates(_cursor: &Cursor<'_, '_>, _options: &Options) {}

/// Checks the scheduling gates.
pub(super) fn scheduling_gates(_cursor: &Cursor<'_, '_>, _options: &Options) {}

/// Checks the preemption policy.
pub(super) fn preemption_policy(_cursor: &Cursor<'_, '_>, _options: &Options) {}

/// Checks the overhead.
pub(super) fn overhead(_cursor: &Cursor<'_, '_>, _options: &Options) {}

/// Checks the scheduling group.
pub(super) fn scheduling_group(_cursor: &Cursor<'_, '_>, _options: &Options) {}
