//! The API group `authentication.k8s.io`.

pub(crate) mod conversion;
pub(crate) mod defaults;
pub(crate) mod self_review;
pub(crate) mod token_review;
