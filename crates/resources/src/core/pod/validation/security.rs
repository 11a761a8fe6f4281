//! The security context of a pod, host namespaces and users.

use super::Options;
use crate::framework::validation::Cursor;

/// Checks at the spec the fields that depend on the host's network.
pub(super) fn host_network(_cursor: &Cursor<'_, '_>, _options: &Options) {}

/// Checks at the spec the security context.
pub(super) fn security_context(_cursor: &Cursor<'_, '_>, _options: &Options) {}

/// Checks at the spec that a pod with its own user namespace shares nothing of the host.
pub(super) fn host_users(_cursor: &Cursor<'_, '_>, _options: &Options) {}
