//! `--authorization-config`: the authorizers of a file, exchanged when it changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use pintle_auth::authorizer::webhook::{Conditions, Matches};
use pintle_auth::authorizer::{Exchangeable, PrivilegedGroup, Union, WebhookAuthorizer, WebhookOptions};
use pintle_auth::configuration::AuthorizationConfiguration;
use pintle_auth::configuration::authorization::WebhookConfiguration;
use pintle_auth::{Authorizer, Configuration, MeasuredAuthorizer, Metrics};
use pintle_outbound::egress::Egress;
use pintle_outbound::webhook::Backoff;
use pintle_outbound::{Kubeconfig, Webhook};
use pintle_runtime::Clock;
use pintle_server::WatchedFiles;

/// Makes an authorizer that needs nothing but its type.
pub(crate) type Factory<'a> = &'a dyn Fn(&str) -> anyhow::Result<Arc<dyn Authorizer>>;

/// What is kept over changes of the file.
struct Parts {
    path: PathBuf,
    /// By type: those that were asked for when the server began.
    built_in: BTreeMap<String, Arc<dyn Authorizer>>,
    selectors: bool,
    metrics: Metrics,
    /// Who we are, in figures.
    server: String,
    /// The way to webhooks.
    egress: Option<Egress>,
}

/// The authorizers of a file, which follows its changes.
pub(crate) fn authorizer(
    path: &Path,
    factory: Factory<'_>,
    selectors: bool,
    metrics: &Metrics,
    server: &str,
    egress: Option<Egress>,
) -> anyhow::Result<Arc<dyn Authorizer>> {
    let watched = WatchedFiles::new(vec![path.to_owned()]);
    let flag = || format!("--authorization-config: {}", path.display());
    let content = std::fs::read(path).with_context(flag)?;
    let configuration = AuthorizationConfiguration::read(&content, &[]).with_context(flag)?;
    let types = configuration.authorizers.iter().map(|authorizer| &authorizer.kind);
    let built_in = types.filter(|kind| *kind != "Webhook").map(|kind| Ok((kind.clone(), factory(kind)?)));
    let built_in = built_in.collect::<anyhow::Result<_>>()?;
    let parts = Parts {
        path: path.to_owned(),
        built_in,
        selectors,
        metrics: metrics.clone(),
        server: server.to_owned(),
        egress,
    };
    let current = Arc::new(Exchangeable::new(parts.build(&configuration).with_context(flag)?));
    metrics.configured(Configuration::Authorization, &content, server);
    let exchanged = current.clone();
    let mut last = content;
    tokio::spawn(watched.watch(move || match parts.reload(&last, &exchanged) {
        Ok(None) => {}
        Ok(Some(fresh)) => {
            tracing::info!("reloaded authz config");
            parts.metrics.reloaded(Configuration::Authorization, true, &parts.server);
            parts.metrics.configured(Configuration::Authorization, &fresh, &parts.server);
            last = fresh;
        }
        Err(error) => {
            parts.metrics.reloaded(Configuration::Authorization, false, &parts.server);
            let error = format!("{error:#}");
            tracing::error!(error, "the authorization config changed and cannot be used, the old one stays");
        }
    }));
    Ok(current)
}

impl Parts {
    fn reload(&self, last: &[u8], current: &Exchangeable) -> anyhow::Result<Option<Vec<u8>>> {
        let fresh = std::fs::read(&self.path)?;
        if fresh == last {
            return Ok(None);
        }
        let required: Vec<String> = self.built_in.keys().cloned().collect();
        let configuration = AuthorizationConfiguration::read(&fresh, &required)?;
        current.replace(self.build(&configuration)?);
        Ok(Some(fresh))
    }

    fn build(&self, configuration: &AuthorizationConfiguration) -> anyhow::Result<Arc<dyn Authorizer>> {
        let mut union: Vec<Arc<dyn Authorizer>> = vec![Arc::new(PrivilegedGroup)];
        for authorizer in &configuration.authorizers {
            let (kind, name) = (&authorizer.kind, &authorizer.name);
            let inner = match &authorizer.webhook {
                Some(webhook) => self.webhook(name, webhook)?,
                None => self.built_in.get(kind).cloned().ok_or_else(|| {
                    anyhow!("authorizer type {kind} is not allowed if it was not enabled at initial server startup")
                })?,
            };
            union.push(Arc::new(MeasuredAuthorizer::new(&self.metrics, kind, name, inner)));
        }
        Ok(Arc::new(Union(union)))
    }

    fn webhook(&self, name: &str, webhook: &WebhookConfiguration) -> anyhow::Result<Arc<dyn Authorizer>> {
        let path = webhook.kubeconfig().context("the webhook has no kubeconfig")?;
        let kubeconfig = Kubeconfig::load(&path)?;
        let egress = self.egress.clone();
        let client = Webhook::new(&kubeconfig, webhook.timeout(), Backoff::default(), egress)?;
        let conditions = webhook.conditions();
        let conditions: Option<Arc<dyn Matches>> = match conditions.is_empty() {
            true => None,
            false => Some(Arc::new(Conditions::new(&conditions).map_err(|error| anyhow!(error))?)),
        };
        let options = WebhookOptions {
            name: name.to_owned(),
            version: webhook.version().context("the webhook has no version")?,
            allowed_ttl: webhook.allowed_ttl(),
            denied_ttl: webhook.denied_ttl(),
            on_error: webhook.on_error(),
            selectors: self.selectors,
        };
        let events = Arc::new(self.metrics.clone());
        Ok(Arc::new(WebhookAuthorizer::new(client, options, conditions, Some(events), Clock::system())))
    }
}
