//! The API group `storage.k8s.io`.

pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod strategy;
