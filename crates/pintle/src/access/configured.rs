//! `--authorization-config`: the authorizers of a file, exchanged when it changes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use pintle_auth::authorizer::webhook::{Conditions, MatchConditions};
use pintle_auth::authorizer::{PrivilegedGroup, Replaceable, Union, WebhookAuthorizer, WebhookOptions};
use pintle_auth::configuration::AuthorizationConfiguration;
use pintle_auth::configuration::authorization::WebhookConfiguration;
use pintle_auth::{Authorizer, Configuration, MeasuredAuthorizer, Metrics};

use pintle_outbound::webhook::Backoff;
use pintle_outbound::{ClientOptions, Kubeconfig, Webhook};
use pintle_runtime::Spawner;
use pintle_server::WatchedFiles;

/// Makes an authorizer that needs nothing but its type.
pub(super) type Factory<'a> = &'a dyn Fn(&str) -> anyhow::Result<Arc<dyn Authorizer>>;

/// Authorizers by their type: those that the file named when the server started.
type BuiltIn = BTreeMap<String, Arc<dyn Authorizer>>;

/// The authorizers of a file.
pub(super) struct ConfiguredAuthorizers {
    pub(super) path: PathBuf,
    /// Whether reviews carry selectors.
    pub(super) selectors: bool,
    pub(super) metrics: Metrics,
    /// The name of this server in metrics.
    pub(super) server_id: String,
    /// Proxy, clock and randomness of the clients of webhooks.
    pub(super) client: ClientOptions,
}

impl ConfiguredAuthorizers {
    /// Reads the file, and follows its changes with a task of `spawner`.
    pub(super) fn start(
        self,
        factory: Factory<'_>,
        spawner: &Spawner,
    ) -> anyhow::Result<Arc<dyn Authorizer>> {
        let watched = WatchedFiles::new(vec![self.path.clone()]);
        let flag = || format!("--authorization-config: {}", self.path.display());
        let content = std::fs::read(&self.path).with_context(flag)?;
        let configuration = AuthorizationConfiguration::read(&content, &[]).with_context(flag)?;
        let types = configuration.authorizers.iter().map(|authorizer| &authorizer.kind);
        let built_in = types.filter(|kind| *kind != "Webhook").map(|kind| Ok((kind.clone(), factory(kind)?)));
        let built_in = built_in.collect::<anyhow::Result<_>>()?;
        let authorizer = self.build(&built_in, &configuration).with_context(flag)?;
        let current = Arc::new(Replaceable::new(authorizer));
        self.metrics.configured(Configuration::Authorization, &content, &self.server_id);
        let (exchanged, mut last) = (current.clone(), content);
        spawner.spawn_until_stop(watched.watch(move || match self.reload(&built_in, &last, &exchanged) {
            Ok(None) => {}
            Ok(Some(fresh)) => {
                tracing::info!("reloaded authz config");
                self.metrics.reloaded(Configuration::Authorization, true, &self.server_id);
                self.metrics.configured(Configuration::Authorization, &fresh, &self.server_id);
                last = fresh;
            }
            Err(error) => {
                self.metrics.reloaded(Configuration::Authorization, false, &self.server_id);
                let error = format!("{error:#}");
                tracing::error!(
                    error,
                    "the authorization config changed and cannot be used, the old one stays"
                );
            }
        }));
        Ok(current)
    }

    /// Returns the new content of the file, if it has changed.
    fn reload(
        &self,
        built_in: &BuiltIn,
        last: &[u8],
        current: &Replaceable,
    ) -> anyhow::Result<Option<Vec<u8>>> {
        let fresh = std::fs::read(&self.path)?;
        if fresh == last {
            return Ok(None);
        }
        let required: Vec<String> = built_in.keys().cloned().collect();
        let configuration = AuthorizationConfiguration::read(&fresh, &required)?;
        current.replace(self.build(built_in, &configuration)?);
        Ok(Some(fresh))
    }

    fn build(
        &self,
        built_in: &BuiltIn,
        configuration: &AuthorizationConfiguration,
    ) -> anyhow::Result<Arc<dyn Authorizer>> {
        let mut union: Vec<Arc<dyn Authorizer>> = vec![Arc::new(PrivilegedGroup)];
        for authorizer in &configuration.authorizers {
            let (kind, name) = (&authorizer.kind, &authorizer.name);
            let inner = match &authorizer.webhook {
                Some(webhook) => self.webhook(name, webhook)?,
                None => built_in.get(kind).cloned().ok_or_else(|| {
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
        let options = ClientOptions { timeout: webhook.timeout(), ..self.client.clone() };
        let client = Webhook::from_kubeconfig(&kubeconfig, options, Backoff::default())?;
        let conditions = webhook.conditions();
        let conditions: Option<Arc<dyn MatchConditions>> = if conditions.is_empty() {
            None
        } else {
            Some(Arc::new(Conditions::new(&conditions).map_err(|error| anyhow!(error))?))
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
        Ok(Arc::new(WebhookAuthorizer::new(
            client,
            options,
            conditions,
            Some(events),
            self.client.clock.clone(),
        )))
    }
}
