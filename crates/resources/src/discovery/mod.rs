//! The API group `discovery.k8s.io`.

pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod defaults;
mod endpoint_slice;
pub(crate) mod strategy;
