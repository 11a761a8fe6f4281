//! The core group (`""`): one file or folder per resource that has rules of its own. [`strategy`] is the table of all its
//! resources.

pub(crate) mod columns;
pub mod component_status;
mod config_map;
pub(crate) mod conversion;
mod data;
pub(crate) mod defaults;
mod endpoints;
pub(crate) mod event;
mod key_pair;
mod namespace;
mod node;
mod persistent_volume;
pub(crate) mod persistent_volume_claim;
pub(crate) mod pod;
pub(crate) mod resource_names;
mod resource_quota;
mod secret;
pub mod service;
pub(crate) mod service_account;
pub(crate) mod signer_names;
pub(crate) mod strategy;
pub(crate) mod volume_sources;
