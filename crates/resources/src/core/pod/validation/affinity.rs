//! Affinity: node selectors, and terms about other pods.

use super::Options;
use crate::framework::validation::Cursor;

/// Checks the affinity of a pod.
pub(super) fn affinity(_cursor: &Cursor<'_, '_>, _options: &Options) {}
