//! The group's kinds.

pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod eviction;
pub(crate) mod strategy;
