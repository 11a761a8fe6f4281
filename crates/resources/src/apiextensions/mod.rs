//! The API group `apiextensions.k8s.io`.

pub(crate) mod conversion;
pub(crate) mod defaults;
pub(crate) mod strategy;
