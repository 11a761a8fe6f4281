//! Tolerations.

use super::Options;
use crate::framework::validation::Cursor;

/// Checks tolerations.
pub(super) fn tolerations(_cursor: &Cursor<'_, '_>, _options: &Options) {}
