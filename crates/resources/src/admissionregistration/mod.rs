//! The API group `admissionregistration.k8s.io`.

mod builtin_types;
pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod defaults;
mod expressions;
mod mutating_admission_policy;
mod policy;
mod rules;
pub(crate) mod strategy;
#[cfg(test)]
mod tests;
pub(crate) mod type_checking;
mod validating_admission_policy;
mod webhook_configuration;
