//! The API group `autoscaling`.

pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod defaults;
mod horizontal_pod_autoscaler;
mod metrics;
pub mod scale;
pub(crate) mod strategy;
