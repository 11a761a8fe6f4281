//! The metrics of auditing, and what the server's log says of events that were lost.

use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use pintle_metrics::{Counter, Counters, Error, Registry};

use crate::event::{Event, Level};

/// Limit on the events that one message shows.
const MOST_SHOWN: usize = 10;

/// The metrics of this crate. Clones are the same metrics.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    events: Counter,
    errors: Counters,
    levels: Counters,
    /// The counters of levels that were decided, looked up once.
    known: [OnceLock<Counter>; 4],
    rejected: Counter,
}

impl Metrics {
    /// Registers all families.
    pub fn new(registry: &Registry) -> Result<Metrics, Error> {
        let levels = registry.counters(
            "apiserver_audit_level_total",
            "[ALPHA] Counter of policy levels for audit events (1 per request).",
            &["level"],
        )?;
        Ok(Metrics(Arc::new(Inner {
            events: registry.counter(
                "apiserver_audit_event_total",
                "[ALPHA] Counter of audit events generated and sent to the audit backend.",
            )?,
            errors: registry.counters(
                "apiserver_audit_error_total",
                "[ALPHA] Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by \
                 the error.",
                &["plugin"],
            )?,
            levels,
            known: Default::default(),
            rejected: registry.counter(
                "apiserver_audit_requests_rejected_total",
                "[ALPHA] Counter of apiserver requests rejected due to an error in audit logging backend.",
            )?,
        })))
    }

    pub(crate) fn decided(&self, level: Level) {
        let count = || self.0.levels.with(&[level.as_str()]);
        self.0.known[level as usize].get_or_init(count).inc();
    }

    pub(crate) fn event(&self) {
        self.0.events.inc();
    }

    /// Counts a request that was refused since it could not be recorded.
    pub fn rejected(&self) {
        self.0.rejected.inc();
    }

    /// Counts events that a backend could not record.
    pub(crate) fn failed(&self, plugin: &str, events: usize) {
        self.0.errors.with(&[plugin]).inc_by(events as u64);
    }

    /// Counts and logs events that a backend could not record.
    pub(crate) fn lost(&self, plugin: &str, error: &dyn std::fmt::Display, events: &[Arc<Event>]) {
        self.failed(plugin, events.len());
        log_lost(plugin, error, events.len(), events);
    }
}

/// Logs lost events: all of them by number, a few of them by what they say.
pub(crate) fn log_lost(plugin: &str, error: &dyn std::fmt::Display, count: usize, events: &[Arc<Event>]) {
    let mut shown = String::new();
    for event in events.iter().take(MOST_SHOWN) {
        let _ = writeln!(shown, "{event}");
    }
    tracing::error!(
        "Error in audit plugin '{plugin}' affecting {count} audit events: {error}\nImpacted events:\n{shown}"
    );
}
