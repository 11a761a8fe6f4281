//! The authorizers that the flags ask for.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use pintle_auth::Authorizer;
use pintle_auth::authorizer::node::{self, Node};
use pintle_auth::authorizer::{Abac, AlwaysAllow, AlwaysDeny, PrivilegedGroup, Rbac, Union};
use pintle_server::Metrics;

use super::node::NodeGraph;
use super::rbac::Roles;
use super::webhooks;
use crate::options::AuthorizationWebhookOptions;

/// What authorizers go by.
pub(crate) struct Sources<'a> {
    pub(crate) roles: &'a Roles,
    pub(crate) nodes: NodeGraph,
    pub(crate) node_gates: node::Gates,
    /// `--authorization-policy-file`.
    pub(crate) policy_file: Option<&'a Path>,
    pub(crate) webhook: Option<&'a AuthorizationWebhookOptions>,
    pub(crate) metrics: &'a Metrics,
}

/// Everyone who can allow something, in the order of `--authorization-mode`. `system:masters` comes before all of them: no
/// policy can shut the administrator out.
pub(crate) fn authorizer(modes: &[String], sources: Sources<'_>) -> anyhow::Result<Arc<dyn Authorizer>> {
    let mut union: Vec<Arc<dyn Authorizer>> = vec![Arc::new(PrivilegedGroup)];
    let node = Arc::new(Node::new(Arc::new(sources.nodes), sources.node_gates));
    for mode in modes {
        match mode.as_str() {
            "AlwaysAllow" => union.push(Arc::new(AlwaysAllow)),
            "AlwaysDeny" => union.push(Arc::new(AlwaysDeny)),
            "RBAC" => union.push(Arc::new(Rbac::new(sources.roles.clone()))),
            "Node" => union.push(node.clone()),
            "ABAC" => {
                let path = sources.policy_file.context("--authorization-policy-file is not given")?;
                union.push(Arc::new(Abac::load(path).context("--authorization-policy-file")?));
            }
            "Webhook" => {
                let options = sources.webhook.context("--authorization-webhook-config-file is not given")?;
                union.push(webhooks::authorizer(options, sources.metrics)?);
            }
            mode => bail!("--authorization-mode: {mode} is not known"),
        }
    }
    Ok(Arc::new(Union(union)))
}
