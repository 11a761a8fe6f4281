//! The API group `scheduling.k8s.io`.

pub(crate) mod columns;
pub(crate) mod defaults;
mod pod_group;
mod priority_class;
pub(crate) mod strategy;
mod workload;
