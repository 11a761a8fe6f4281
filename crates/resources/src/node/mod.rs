//! The API group `node.k8s.io`.

pub(crate) mod columns;
pub(crate) mod conversion;
mod runtime_class;
pub(crate) mod strategy;
