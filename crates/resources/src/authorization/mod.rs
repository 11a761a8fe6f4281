//! The API group `authorization.k8s.io`.

pub(crate) mod conversion;
