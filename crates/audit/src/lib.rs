//! Auditing: a record of requests, as the policy of `--audit-policy-file` wants it, for a log file, a webhook, or both.
//!
//! ```text
//! request -> Auditor::begin   the policy's first rule that matches decides on level and stages; level None ends here
//!         -> AuditContext     filters, handlers and plugins add what they know: the request carries it
//!         -> stage            an Event is made, and encoded at most once for all backends
//!         -> backend          truncate -> (batch | blocking | blocking-strict) -> log file or webhook
//! ```
//!
//! This crate knows neither HTTP serving nor storage. What an event shows of objects comes as JSON that exists already.

mod auditor;
pub mod backend;
mod context;
mod event;
mod latency;
mod metrics;
pub mod policy;

pub use auditor::{Auditor, AuditorConfig, RequestFacts};
pub use context::{AnnotationSource, AuditContext};
pub use event::{
    Event, Level, ObjectReference, RequestPart, ResponseStatus, Stage, json_of, without_managed_fields,
};
pub use latency::Layer;
pub use metrics::Metrics;

/// An error of the configuration, which keeps a server from starting.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("loading audit policy file: {0}")]
    Policy(policy::Error),
    #[error("ensureLogFile: {0}")]
    LogFile(std::io::Error),
    #[error("initializing audit webhook: {0}")]
    Webhook(String),
    #[error("{0}")]
    Metrics(#[from] pintle_metrics::Error),
}
