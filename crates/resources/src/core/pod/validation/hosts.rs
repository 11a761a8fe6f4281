//! Host names and host aliases.

use super::Options;
use crate::framework::validation::Cursor;

/// Checks at the spec the override of the host name.
pub(super) fn hostname_override(_cursor: &Cursor<'_, '_>, _options: &Options) {}

/// Checks the host aliases.
pub(super) fn aliases(_cursor: &Cursor<'_, '_>, _options: &Options) {}
