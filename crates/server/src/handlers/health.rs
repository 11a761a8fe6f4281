//! `/healthz`, `/livez`, `/readyz` and one path below each for every check.
//!
//! The overview is public, so it names the checks that failed and not the reasons; the path of a single check gives the
//! reason to users that may read it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use http::StatusCode;
use http::header::X_CONTENT_TYPE_OPTIONS;
use pintle_meta::quote;
use pintle_runtime::Clock;

use crate::filter::Handler;
use crate::lifecycle::{HookDone, Signal};
use crate::metrics::Metrics;
use crate::router::Router;
use crate::{Request, Response, respond};

/// Something that can be well or not.
#[async_trait]
pub trait Check: Send + Sync + 'static {
    /// Called for every request to a health endpoint: must be cheap. The error says what is wrong.
    async fn check(&self) -> Result<(), String>;
}

/// A check with the name it is shown under.
#[derive(Clone)]
pub struct HealthCheck {
    name: String,
    /// `?exclude=` of this name leaves out all checks of the group.
    group: Option<String>,
    check: Arc<dyn Check>,
    /// Passes until then, on the clock.
    not_before: Option<(Clock, Instant)>,
}

impl HealthCheck {
    pub fn new(name: &str, check: impl Check) -> HealthCheck {
        HealthCheck { name: name.into(), group: None, check: Arc::new(check), not_before: None }
    }

    /// The check of a post-start hook.
    pub(crate) fn post_start_hook(name: &str, done: HookDone) -> HealthCheck {
        HealthCheck::new(&format!("poststarthook/{name}"), PostStartHook(done))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn in_group(mut self, group: &str) -> HealthCheck {
        self.group = Some(group.into());
        self
    }

    async fn run(&self) -> Result<(), String> {
        match &self.not_before {
            Some((clock, start)) if clock.instant() < *start => Ok(()),
            _ => self.check.check().await,
        }
    }
}

/// Answers as long as the process does.
struct Ping;

#[async_trait]
impl Check for Ping {
    async fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

struct PostStartHook(HookDone);

#[async_trait]
impl Check for PostStartHook {
    async fn check(&self) -> Result<(), String> {
        if self.0.is_done() { Ok(()) } else { Err("not finished".into()) }
    }
}

struct NotShuttingDown(Signal);

#[async_trait]
impl Check for NotShuttingDown {
    async fn check(&self) -> Result<(), String> {
        if self.0.is_set() { Err("process is shutting down".into()) } else { Ok(()) }
    }
}

/// Collects checks for the three endpoints.
pub struct HealthRegistry {
    healthz: Vec<HealthCheck>,
    livez: Vec<HealthCheck>,
    readyz: Vec<HealthCheck>,
    livez_grace: Duration,
    clock: Clock,
}

impl HealthRegistry {
    /// `livez_grace`: for so long from now, checks of the boot sequence count as well on `/livez`.
    pub fn new(livez_grace: Duration) -> HealthRegistry {
        let ping = vec![HealthCheck::new("ping", Ping)];
        let clock = Clock::system();
        HealthRegistry { healthz: ping.clone(), livez: ping.clone(), readyz: ping, livez_grace, clock }
    }

    /// The same with another clock than the machine's.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> HealthRegistry {
        self.clock = clock;
        self
    }

    /// A check of all three endpoints.
    pub fn add(&mut self, check: HealthCheck) {
        for checks in [&mut self.healthz, &mut self.livez, &mut self.readyz] {
            checks.push(check.clone());
        }
    }

    pub fn add_readyz(&mut self, check: HealthCheck) {
        self.readyz.push(check);
    }

    /// A check of `/healthz` and `/readyz`.
    pub fn add_without_livez(&mut self, check: HealthCheck) {
        self.healthz.push(check.clone());
        self.readyz.push(check);
    }

    /// A check of `/healthz` and `/livez`.
    pub fn add_livez(&mut self, check: HealthCheck) {
        self.healthz.push(check.clone());
        self.livez.push(check);
    }

    /// A check of the boot sequence.
    pub fn add_boot(&mut self, check: HealthCheck) {
        self.healthz.push(check.clone());
        self.readyz.push(check.clone());
        let not_before = (!self.livez_grace.is_zero())
            .then(|| (self.clock.clone(), self.clock.instant() + self.livez_grace));
        self.livez.push(HealthCheck { not_before, ..check });
    }

    pub fn add_shutdown(&mut self, shutdown_initiated: Signal) {
        self.readyz.push(HealthCheck::new("shutdown", NotShuttingDown(shutdown_initiated)));
    }

    /// Puts all paths onto the router. `has_been_ready` is set when `/readyz` first succeeds.
    pub(crate) fn install(self, router: &mut Router, metrics: &Metrics, has_been_ready: Signal) {
        for (name, checks, first_success) in [
            ("healthz", self.healthz, None),
            ("livez", self.livez, None),
            ("readyz", self.readyz, Some(has_been_ready)),
        ] {
            for check in &checks {
                router.uncounted(&format!("/{name}/{}", check.name), SingleCheck(check.clone()));
            }
            let endpoint = Health { name, checks, metrics: metrics.clone(), first_success };
            router.route(&format!("/{name}"), endpoint);
        }
    }
}

struct SingleCheck(HealthCheck);

#[async_trait]
impl Handler for SingleCheck {
    async fn handle(&self, _: Box<Request>) -> Response {
        match self.0.run().await {
            Ok(()) => respond::text(StatusCode::OK, "ok"),
            Err(reason) => {
                let message = format!("internal server error: {reason}");
                respond::text_error(StatusCode::INTERNAL_SERVER_ERROR, &message)
            }
        }
    }
}

/// One of the three overviews.
struct Health {
    name: &'static str,
    checks: Vec<HealthCheck>,
    metrics: Metrics,
    first_success: Option<Signal>,
}

#[async_trait]
impl Handler for Health {
    async fn handle(&self, request: Box<Request>) -> Response {
        let excluded: BTreeSet<String> = request.query("exclude").collect();
        let mut unmatched = excluded.clone();
        let mut report = String::new();
        let mut failed = Vec::new();
        for check in &self.checks {
            let name = &check.name;
            if excluded.contains(name) {
                unmatched.remove(name);
                report.push_str(&format!("[+]{name} excluded: ok\n"));
                continue;
            }
            if let Some(group) = check.group.as_ref().filter(|group| excluded.contains(*group)) {
                unmatched.remove(group);
                report.push_str(&format!("[+]{name} excluded with {group}: ok\n"));
                continue;
            }
            let result = check.run().await;
            self.metrics.health_checked(name, self.name, result.is_ok());
            match result {
                Ok(()) => report.push_str(&format!("[+]{name} ok\n")),
                Err(reason) => {
                    report.push_str(&format!("[-]{name} failed: reason withheld\n"));
                    failed.push(format!("{name} failed: {reason}"));
                }
            }
        }
        if !unmatched.is_empty() {
            let names: Vec<String> = unmatched.iter().map(|name| quote(name)).collect();
            let names = names.join(",");
            report
                .push_str(&format!("warn: some health checks cannot be excluded: no matches for {names}\n"));
        }
        if !failed.is_empty() {
            tracing::info!(endpoint = self.name, failed = failed.join("; "), "health check failed");
            let message = format!("{report}{} check failed", self.name);
            return respond::text_error(StatusCode::INTERNAL_SERVER_ERROR, &message);
        }
        if let Some(first_success) = &self.first_success {
            first_success.set();
        }
        let body = match request.query("verbose").next() {
            Some(_) => format!("{report}{} check passed\n", self.name),
            None => "ok".to_owned(),
        };
        let mut response = respond::text(StatusCode::OK, body);
        response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, respond::NOSNIFF);
        response
    }
}
