//! Machinery that the resources of all groups share: how strategies, defaults, conversions, columns and validation are
//! declared, and how they make a stored kind ([`builtin`]) and its served versions ([`served`]).
//!
//! Nothing here names a resource, except the tables that collect what the groups declare.

pub mod builtin;
pub mod columns;
pub mod conversion;
pub mod defaults;
mod deprecation;
pub mod field_labels;
pub(crate) mod review;
pub(crate) mod semantic;
pub mod served;
pub mod strategy;
pub(crate) mod validation;
