//! The API group `node.k8s.io`.

pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod strategy;
