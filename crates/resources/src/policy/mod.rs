//! The API group `policy`.

pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod eviction;
mod pod_disruption_budget;
pub(crate) mod strategy;
