//! The API group `rbac.authorization.k8s.io`.

pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod defaults;
mod role;
mod role_binding;
pub(crate) mod strategy;
