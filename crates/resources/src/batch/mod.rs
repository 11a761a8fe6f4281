//! The API group `batch`.

pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod strategy;
