//! The API group `events.k8s.io`.

pub(crate) mod conversion;
pub(crate) mod strategy;
