//! The API group `flowcontrol.apiserver.k8s.io`.

mod bootstrap;
pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod defaults;
mod flow_schema;
mod priority_level_configuration;
pub(crate) mod strategy;
