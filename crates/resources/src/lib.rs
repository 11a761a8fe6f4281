//! What is particular to each built-in resource: one folder per group; in it the defaults, conversions and columns of its
//! kinds, what they hold beside themselves, and later all of their validation.

mod admissionregistration;
mod apiextensions;
mod apiregistration;
mod apiserverinternal;
mod apps;
mod authentication;
mod authorization;
pub mod autoscaling;
mod batch;
mod certificates;
mod coordination;
mod core;
mod discovery;
mod events;
mod flowcontrol;
mod framework;
mod networking;
mod node;
mod policy;
mod rbac;
mod resource;
mod scheduling;
mod storage;
mod storagemigration;

pub mod reviews;
pub mod subresources;

pub use self::core::{binding, component_status, service};
pub use self::framework::{
    builtin, columns, conversion, defaults, field_labels, served, strategy, unenforced,
};
