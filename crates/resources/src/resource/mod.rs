//! The API group `resource.k8s.io`.

mod bindings;
mod claim_spec;
mod collections;
pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod defaults;
mod device_class;
mod device_taint_rule;
mod names;
mod resource_claim;
mod resource_claim_template;
mod resource_pool_status_request;
mod resource_slice;
mod selectors;
pub(crate) mod strategy;
mod taints;
