//! Claims of a pod for dynamic resources.

use super::{Facts, Options};
use crate::framework::validation::Cursor;

/// Checks the resource claims of a pod.
pub(super) fn claims(_cursor: &Cursor<'_, '_>, _facts: &Facts<'_>, _options: &Options) {}
