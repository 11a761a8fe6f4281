//! The group's kinds.

pub(crate) mod conversion;
pub(crate) mod strategy;
