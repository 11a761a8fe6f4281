//! The API group `networking.k8s.io`.

pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod defaults;
mod ingress;
mod ingress_class;
mod ip_address;
mod network_policy;
mod service_cidr;
pub(crate) mod strategy;
