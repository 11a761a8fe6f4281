//! DNS policy and configuration.

use super::{Facts, Options};
use crate::framework::validation::Cursor;

/// Checks the DNS policy.
pub(super) fn policy(_cursor: &Cursor<'_, '_>, _options: &Options) {}

/// Checks the DNS configuration.
pub(super) fn config(_cursor: &Cursor<'_, '_>, _facts: &Facts<'_>, _options: &Options) {}
