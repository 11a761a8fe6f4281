//! Volumes of a pod: names, and sources of every type.

use super::Options;
use crate::framework::validation::Cursor;

/// Checks the volumes of a pod. `pod_name` is empty in a template.
pub(super) fn volumes(_volumes: &Cursor<'_, '_>, _pod_name: &str, _options: &Options) {}
