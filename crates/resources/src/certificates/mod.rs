//! The group's kinds.

pub(crate) mod columns;
mod conditions;
pub(crate) mod defaults;
pub(crate) mod strategy;
