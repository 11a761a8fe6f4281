//! Environment variables and their sources.

use super::Options;
use crate::framework::validation::Cursor;

/// Checks at the spec that volumes of environment files are there and fit.
pub(super) fn file_volumes(_cursor: &Cursor<'_, '_>, _options: &Options) {}
