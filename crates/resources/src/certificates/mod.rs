//! The group's kinds.

pub(crate) mod columns;
mod conditions;
pub(crate) mod defaults;
mod request;
pub(crate) mod strategy;
