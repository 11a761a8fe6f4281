//! The API group `certificates.k8s.io`.

mod certificate_signing_request;
mod cluster_trust_bundle;
pub(crate) mod columns;
pub(crate) mod defaults;
mod pod_certificate_request;
pub(crate) mod strategy;
