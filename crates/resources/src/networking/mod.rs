//! The group's kinds.

pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod defaults;
pub(crate) mod strategy;
mod validation;
