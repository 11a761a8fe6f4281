//! The API group `storagemigration.k8s.io`.

pub(crate) mod columns;
pub(crate) mod strategy;
