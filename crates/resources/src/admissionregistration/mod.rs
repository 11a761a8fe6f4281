//! The API group `admissionregistration.k8s.io`.

pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod defaults;
pub(crate) mod strategy;
