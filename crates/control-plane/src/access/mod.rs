//! Authenticators and authorizers over the stores of the control plane.

pub(crate) mod claims;
pub(crate) mod escalation;
mod node;
pub(crate) mod params;
pub(crate) mod pod_certificates;
pub(crate) mod rbac;
pub(crate) mod rest_mapper;
mod service_accounts;
mod tokens;

use std::sync::Arc;

use pintle_auth::Authorizer;
use pintle_auth::Metrics;
use pintle_auth::authorizer::Rbac;
use pintle_auth::authorizer::node::Node;
use pintle_features::Features;

use self::node::NodeGraph;
use self::rbac::Roles;
pub(crate) use self::service_accounts::{StoredAccounts, find};
pub(crate) use self::tokens::{Tokens, authenticator};
use crate::stores::Stores;

/// The authorizers that read the objects of the cluster.
pub struct ClusterAuthorizers {
    rbac: Arc<dyn Authorizer>,
    node: Arc<dyn Authorizer>,
}

impl ClusterAuthorizers {
    pub(crate) fn new(
        stores: &Stores,
        roles: &Roles,
        features: Features,
        metrics: &Metrics,
    ) -> ClusterAuthorizers {
        let graph = NodeGraph::new(|path| stores.store(path), metrics.clone());
        ClusterAuthorizers {
            rbac: Arc::new(Rbac::new(roles.clone())),
            node: Arc::new(Node::new(Arc::new(graph), features)),
        }
    }

    pub fn rbac(&self) -> Arc<dyn Authorizer> {
        self.rbac.clone()
    }

    pub fn node(&self) -> Arc<dyn Authorizer> {
        self.node.clone()
    }
}
