//! The verbs of a resource, one file each.

pub(super) mod connect;
pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod list;
pub(super) mod patch;
pub(super) mod update;
pub(super) mod watch;
