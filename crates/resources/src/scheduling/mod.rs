//! The API group `scheduling.k8s.io`.

pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod strategy;
