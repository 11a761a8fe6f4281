//! The API group `apps`.

pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod defaults;
pub(crate) mod strategy;
