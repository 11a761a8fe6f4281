//! Image pull secrets.

use super::Options;
use crate::framework::validation::Cursor;

/// Checks the image pull secrets.
pub(super) fn image_pull_secrets(_cursor: &Cursor<'_, '_>, _options: &Options) {}
