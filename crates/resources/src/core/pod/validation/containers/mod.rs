//! Containers of a pod.

use super::{Facts, Options};
use crate::framework::validation::Cursor;

/// Checks the containers of a pod.
pub(super) fn containers(_containers: &Cursor<'_, '_>, _facts: &Facts<'_>, _options: &Options) {}

/// Checks the init containers of a pod, at its spec.
pub(super) fn init_containers(_spec: &Cursor<'_, '_>, _facts: &Facts<'_>, _options: &Options) {}

/// Checks the ephemeral containers of a pod, at its spec.
pub(super) fn ephemeral_containers(_spec: &Cursor<'_, '_>, _facts: &Facts<'_>, _options: &Options) {}
