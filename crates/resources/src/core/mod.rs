//! The group's kinds.

pub mod binding;
pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod defaults;
pub(crate) mod pod;
pub(crate) mod strategy;
pub(crate) mod validation;
