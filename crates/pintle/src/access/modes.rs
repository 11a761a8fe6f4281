//! The authorizers that the flags ask for.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use pintle_auth::authorizer::node::Node;
use pintle_auth::authorizer::{Abac, AlwaysAllow, AlwaysDeny, PrivilegedGroup, Rbac, Union};
use pintle_auth::{Authorizer, MeasuredAuthorizer, Metrics};
use pintle_features::Features;
use pintle_outbound::egress::Egress;

use super::node::NodeGraph;
use super::rbac::Roles;
use super::{configured, webhooks};
use crate::options::PeerOptions;

/// What authorizers go by.
pub(crate) struct Sources<'a> {
    pub(crate) roles: &'a Roles,
    pub(crate) nodes: NodeGraph,
    pub(crate) features: Features,
    /// `--authorization-policy-file`.
    pub(crate) policy_file: Option<&'a Path>,
    pub(crate) peers: &'a PeerOptions,
    pub(crate) metrics: &'a Metrics,
    /// The way to webhooks.
    pub(crate) egress: Option<Egress>,
}

/// Everyone who can allow something, in the order of `--authorization-mode` or of the file that says more about them.
/// `system:masters` comes before all of them: no policy can shut the administrator out.
pub(crate) fn authorizer(modes: &[String], sources: Sources<'_>) -> anyhow::Result<Arc<dyn Authorizer>> {
    let Sources { roles, nodes, features, policy_file, peers, metrics, egress } = sources;
    let node: Arc<dyn Authorizer> = Arc::new(Node::new(Arc::new(nodes), features));
    let factory = |mode: &str| -> anyhow::Result<Arc<dyn Authorizer>> {
        Ok(match mode {
            "AlwaysAllow" => Arc::new(AlwaysAllow),
            "AlwaysDeny" => Arc::new(AlwaysDeny),
            "RBAC" => Arc::new(Rbac::new(roles.clone())),
            "Node" => node.clone(),
            "ABAC" => {
                let path = policy_file.context("--authorization-policy-file is not given")?;
                Arc::new(Abac::load(path).context("--authorization-policy-file")?)
            }
            "Webhook" => {
                let options = peers.authorization_webhook.as_ref();
                let options = options.context("--authorization-webhook-config-file is not given")?;
                webhooks::authorizer(options, peers.selectors, metrics, egress.clone())?
            }
            mode => bail!("--authorization-mode: {mode} is not known"),
        })
    };
    if let Some(path) = &peers.authorization_config {
        let server = &peers.server_id;
        return configured::authorizer(path, &factory, peers.selectors, metrics, server, egress.clone());
    }
    let mut union: Vec<Arc<dyn Authorizer>> = vec![Arc::new(PrivilegedGroup)];
    for mode in modes {
        union.push(Arc::new(MeasuredAuthorizer::new(metrics, mode, &mode.to_lowercase(), factory(mode)?)));
    }
    Ok(Arc::new(Union(union)))
}
