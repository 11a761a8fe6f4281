//! Endpoints that are not resources, one file each.

mod document;
mod flags;
mod flow_control;
mod health;
mod index;
mod metrics;
mod page;
mod privileged;
mod status;
mod version;

pub use document::PublicDocument;
pub(crate) use flags::FlagsPage;
pub(crate) use flow_control::{DUMPS, FlowControlDump};
pub use health::{Check, HealthCheck, HealthRegistry};
pub use index::Index;
pub use metrics::MetricsEndpoint;
pub use privileged::Privileged;
pub(crate) use status::StatusPage;
pub use version::{Version, VersionEndpoint};
