//! The API group `coordination.k8s.io`.

pub(crate) mod columns;
pub(crate) mod strategy;
