//! Environment variables and their sources.

use super::{Facts, Options};
use crate::framework::validation::Cursor;

/// Checks at the spec that volumes of environment files are there and fit.
pub(super) fn file_volumes(_cursor: &Cursor<'_, '_>, _options: &Options) {}

pub(super) fn env(_: &Cursor<'_, '_>, _: &Cursor<'_, '_>, _: &Facts<'_>, _: &Options) {}

pub(super) fn env_from(_: &Cursor<'_, '_>, _: &Cursor<'_, '_>, _: &Facts<'_>, _: &Options) {}
