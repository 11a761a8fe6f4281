//! The authorizers that the flags name.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use pintle_auth::authorizer::{Abac, AlwaysAllow, AlwaysDeny, PrivilegedGroup, Union};
use pintle_auth::{Authorizer, MeasuredAuthorizer, Metrics};
use pintle_control_plane::ClusterAuthorizers;
use pintle_outbound::ClientOptions;
use pintle_runtime::Spawner;

use super::configured::ConfiguredAuthorizers;
use super::webhooks;
use crate::options::AuthorizationWebhookOptions;

/// `--authorization-mode`, or the file that says more about authorizers.
pub(crate) struct Modes {
    /// In the order in which they are asked.
    pub(crate) names: Vec<String>,
    /// `--authorization-policy-file`.
    pub(crate) policy_file: Option<PathBuf>,
    /// `--authorization-config`.
    pub(crate) config_file: Option<PathBuf>,
    pub(crate) webhook: Option<AuthorizationWebhookOptions>,
    /// Whether reviews carry selectors.
    pub(crate) selectors: bool,
    /// The name of this server in metrics.
    pub(crate) server_id: String,
    pub(crate) metrics: Metrics,
    /// Proxy, clock and randomness of the clients of webhooks.
    pub(crate) client: ClientOptions,
    pub(crate) spawner: Spawner,
}

impl Modes {
    /// Returns the union of the authorizers. `system:masters` comes before all of them, so that no policy can shut the
    /// administrator out.
    pub(crate) fn authorizer(&self, cluster: &ClusterAuthorizers) -> anyhow::Result<Arc<dyn Authorizer>> {
        if let Some(path) = &self.config_file {
            let configured = ConfiguredAuthorizers {
                path: path.clone(),
                selectors: self.selectors,
                metrics: self.metrics.clone(),
                server_id: self.server_id.clone(),
                client: self.client.clone(),
            };
            return configured.start(&|mode| self.named(mode, cluster), &self.spawner);
        }
        let mut union: Vec<Arc<dyn Authorizer>> = vec![Arc::new(PrivilegedGroup)];
        for mode in &self.names {
            let authorizer = self.named(mode, cluster)?;
            union.push(Arc::new(MeasuredAuthorizer::new(
                &self.metrics,
                mode,
                &mode.to_lowercase(),
                authorizer,
            )));
        }
        Ok(Arc::new(Union(union)))
    }

    fn named(&self, mode: &str, cluster: &ClusterAuthorizers) -> anyhow::Result<Arc<dyn Authorizer>> {
        Ok(match mode {
            "AlwaysAllow" => Arc::new(AlwaysAllow),
            "AlwaysDeny" => Arc::new(AlwaysDeny),
            "RBAC" => cluster.rbac(),
            "Node" => cluster.node(),
            "ABAC" => {
                let path = self.policy_file.as_deref().context("--authorization-policy-file is not given")?;
                Arc::new(Abac::load(path).context("--authorization-policy-file")?)
            }
            "Webhook" => {
                let options = self.webhook.as_ref();
                let options = options.context("--authorization-webhook-config-file is not given")?;
                webhooks::authorizer(options, self.selectors, &self.metrics, self.client.clone())?
            }
            mode => bail!("--authorization-mode: {mode} is not known"),
        })
    }
}
