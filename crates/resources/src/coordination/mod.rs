//! The API group `coordination.k8s.io`.

pub(crate) mod columns;
mod lease;
mod lease_candidate;
mod semantic_version;
pub(crate) mod strategy;
