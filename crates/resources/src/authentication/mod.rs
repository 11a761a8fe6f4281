//! The API group `authentication.k8s.io`.

pub(crate) mod conversion;
pub(crate) mod defaults;
