//! Endpoints that are not resources, one file each.

mod document;
mod health;
mod index;
mod metrics;
mod version;

pub use document::PublicDocument;
pub use health::{Check, HealthCheck, HealthRegistry};
pub use index::Index;
pub use metrics::{IndicatorsEndpoint, MetricsEndpoint};
pub use version::{Version, VersionEndpoint};
