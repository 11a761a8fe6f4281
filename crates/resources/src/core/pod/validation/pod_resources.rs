//! Resources of a pod as a whole.

use super::{Facts, Options};
use crate::framework::validation::Cursor;

/// Checks at the spec the resources of the pod and that its containers fit into them.
pub(super) fn pod_resources(_cursor: &Cursor<'_, '_>, _facts: &Facts<'_>, _options: &Options) {}
