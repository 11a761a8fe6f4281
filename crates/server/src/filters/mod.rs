//! One filter per file; [`crate::chain`] puts them in order.

mod audit;
mod audit_id;
mod authentication;
mod authorization;
mod cache_control;
mod compression;
mod cors;
mod deadline;
mod goaway;
mod hsts;
mod impersonation;
mod in_flight;
mod limits;
mod logging;
mod measurement;
mod panic_recovery;
mod priority_and_fairness;
mod request_info;
mod retry_after;
mod status_encoding;
mod storage_versions;
mod unsecured;
mod warning_headers;

pub use audit::Audit;
pub use audit_id::AuditId;
pub use authentication::Authentication;
pub use authorization::Authorization;
pub use authorization::forbidden;
pub(crate) use authorization::refusal;
pub use cache_control::CacheControl;
pub use compression::Compression;
pub use cors::Cors;
pub use deadline::Deadline;
pub use goaway::Goaway;
pub use hsts::Hsts;
pub use impersonation::Impersonation;
pub use in_flight::InFlight;
pub use limits::Limits;
pub use logging::Logging;
pub use measurement::Measurement;
pub use panic_recovery::PanicRecovery;
pub use priority_and_fairness::{FlowControlConfig, PriorityAndFairness};
pub use request_info::ParseRequestInfo;
pub use retry_after::RetryAfter;
pub use status_encoding::StatusEncoding;
pub use storage_versions::{StorageVersions, UnpublishedVersions};
pub use unsecured::Unsecured;
pub use warning_headers::{WarningHeaders, warn};

use crate::Request;

/// Requests that are answered to the last: probes and scrapes must see the shutdown, not be turned away by it.
fn is_exempt_from_shutdown(request: &Request) -> bool {
    ["/readyz", "/livez", "/healthz", "/metrics"].iter().any(|prefix| request.info.path.starts_with(prefix))
        || request.user_agent().starts_with("kube-apiserver/")
}
