//! The API group `internal.apiserver.k8s.io`.

pub(crate) mod columns;
pub(crate) mod strategy;
mod validation;
