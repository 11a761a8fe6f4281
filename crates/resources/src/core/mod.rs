//! The group's kinds.

pub mod binding;
pub(crate) mod columns;
pub mod component_status;
pub(crate) mod conversion;
pub(crate) mod defaults;
mod key_pair;
pub(crate) mod pod;
pub mod service;
pub(crate) mod strategy;
pub(crate) mod validation;
