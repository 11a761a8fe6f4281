//! The API group `apps`.

pub(crate) mod columns;
mod controller_revision;
pub(crate) mod conversion;
mod daemon_set;
pub(crate) mod defaults;
mod deployment;
pub(crate) mod int_or_percent;
mod replica_set;
mod stateful_set;
pub(crate) mod strategy;
pub(crate) mod workload;
