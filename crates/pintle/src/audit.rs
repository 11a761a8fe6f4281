//! Opens what `--audit-*` name: the policy, the log and the webhook.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;

use pintle_audit::backend::{
    self, Backend, LogBackend, Output, RotatingFile, Surroundings, WebhookBackend, create_private,
};
use pintle_audit::policy::Policy;
use pintle_audit::{Auditor, AuditorConfig, Error, Metrics};
use pintle_control_plane::Config;
use pintle_outbound::egress::Selector;
use pintle_outbound::{ClientOptions, Kubeconfig};
use pintle_runtime::Tasks;

use crate::egress;
use crate::options::{AuditLogOptions, AuditLogTarget, AuditOptions, AuditWebhookOptions};

/// Returns the auditor; `None` without a policy, or without a backend.
pub(crate) fn open(
    options: &AuditOptions,
    defaults: &Config,
    egress: Option<&Selector>,
) -> Result<Option<Arc<Auditor>>, Error> {
    let metrics = Metrics::new(&defaults.registry)?;
    let policy = options.policy_file.as_deref().map(Policy::load).transpose().map_err(Error::Policy)?;
    let tasks = Tasks::new();
    let clock = defaults.clock.clone();
    let surroundings =
        Surroundings { metrics: metrics.clone(), clock: clock.clone(), spawner: tasks.spawner() };
    let mut backends = Vec::new();
    if let Some(options) = &options.log {
        let output = output(&options.target, &surroundings)?;
        match &policy {
            None => unused("log"),
            Some(_) => backends.push(log(options, output, &surroundings)),
        }
    }
    if let Some(options) = &options.webhook {
        match &policy {
            None => unused("webhook"),
            Some(_) => backends.push(webhook(options, defaults, egress, &surroundings)?),
        }
    }
    let (Some(policy), Some(backend)) = (policy, backend::union(backends)) else { return Ok(None) };
    Ok(Some(Auditor::new(AuditorConfig { policy, backend, metrics, clock, tasks })))
}

fn unused(backend: &str) {
    tracing::warn!("No audit policy file provided, no events will be recorded for {backend} backend");
}

fn output(target: &AuditLogTarget, surroundings: &Surroundings) -> Result<Output, Error> {
    let append = |path: &Path| {
        create_private(path)?;
        OpenOptions::new().append(true).open(path)
    };
    Ok(match target {
        AuditLogTarget::Stdout => Output::Stdout,
        AuditLogTarget::File(path) => Output::File(append(path).map_err(Error::LogFile)?),
        AuditLogTarget::Rotating(config) => {
            let file = RotatingFile::new(config.clone(), surroundings.clock.clone());
            Output::Rotating(file.map_err(Error::LogFile)?)
        }
    })
}

fn log(options: &AuditLogOptions, output: Output, surroundings: &Surroundings) -> Arc<dyn Backend> {
    let log = LogBackend::new(output, options.format, surroundings.metrics.clone());
    backend::delivering(Arc::new(log), &options.delivery, surroundings)
}

fn webhook(
    options: &AuditWebhookOptions,
    defaults: &Config,
    egress: Option<&Selector>,
    surroundings: &Surroundings,
) -> Result<Arc<dyn Backend>, Error> {
    let kubeconfig =
        Kubeconfig::load(&options.kubeconfig).map_err(|error| Error::Webhook(error.to_string()))?;
    let client = ClientOptions {
        egress: egress::control_plane(egress),
        clock: defaults.clock.clone(),
        random: defaults.random.clone(),
        ..ClientOptions::default()
    };
    let metrics = surroundings.metrics.clone();
    let webhook = WebhookBackend::new(&kubeconfig, options.initial_backoff, client, metrics)?;
    Ok(backend::delivering(Arc::new(webhook), &options.delivery, surroundings))
}
