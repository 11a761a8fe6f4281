//! The API group `authorization.k8s.io`.

pub(crate) mod access_review;
pub(crate) mod conversion;
pub(crate) mod rules_review;
mod selectors;
mod validation;
