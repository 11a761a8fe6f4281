//! Rules that depend on the operating system.

use super::Options;
use crate::framework::validation::Cursor;

/// Checks at the spec the operating system and the fields it allows.
pub(super) fn operating_system(_cursor: &Cursor<'_, '_>, _options: &Options) {}

/// Checks at the spec that all containers of a Windows pod agree on host processes.
pub(super) fn windows_host_process(_cursor: &Cursor<'_, '_>, _options: &Options) {}
