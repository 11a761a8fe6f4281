//! The API group `certificates.k8s.io`.

mod certificate_signing_request;
pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod strategy;
