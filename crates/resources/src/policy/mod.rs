//! The API group `policy`.

pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod eviction;
pub(crate) mod strategy;
