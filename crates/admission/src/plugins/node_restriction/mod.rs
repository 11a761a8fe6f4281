//! `NodeRestriction`: kubelets change only their own Node, Lease and CSINode, and objects of pods that run there.
//!
//! The node authorizer decides by verb and name; this plugin decides by the content of objects. Without it, a node could label
//! itself, or create pods that use secrets, and so get secrets of other nodes' pods.

mod certificates;
mod claims;
mod nodes;
mod pods;
mod tokens;

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::Authorizer;
use pintle_features::Features;
use pintle_meta::{Value, quote};

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::objects::{ObjectLister, Resource};
use crate::plugin::Plugin;

/// Namespace of the leases of nodes.
const LEASES: &str = "kube-node-lease";

pub(crate) struct NodeRestriction {
    objects: Arc<dyn ObjectLister>,
    authorizer: Arc<dyn Authorizer>,
    features: Features,
}

impl NodeRestriction {
    pub(crate) fn new(cluster: &Cluster) -> NodeRestriction {
        NodeRestriction {
            objects: cluster.objects.clone(),
            authorizer: cluster.authorizer.clone(),
            features: cluster.features,
        }
    }

    /// Returns an object that must exist; rejects the request if it does not or cannot be read.
    async fn find(&self, resource: Resource, name: &str, attributes: &Attributes<'_>) -> Result<Value> {
        let namespace = match resource {
            Resource::Node => "",
            _ => attributes.namespace(),
        };
        match self.objects.object(resource, namespace, name).await {
            Ok(Some(object)) => Ok(object),
            Ok(None) => Err(resource.not_found(name)),
            Err(status) => Err(attributes.forbidden(&status.message)),
        }
    }
}

#[async_trait]
impl Plugin for NodeRestriction {
    fn name(&self) -> &'static str {
        "NodeRestriction"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        operation != Operation::Connect
            && matches!(
                (target.resource.group.as_str(), target.resource.resource.as_str()),
                ("", "pods" | "nodes" | "persistentvolumeclaims" | "serviceaccounts")
                    | ("certificates.k8s.io", "podcertificaterequests" | "certificatesigningrequests")
                    | ("coordination.k8s.io", "leases")
                    | ("storage.k8s.io", "csinodes")
                    | ("resource.k8s.io", "resourceslices")
            )
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let request = attributes.request;
        let Some(node) = request.user.node_name() else { return Ok(()) };
        let attributes = &*attributes;
        if node.is_empty() {
            let user = quote(&request.user.name);
            return Err(attributes.forbidden(&format!("could not determine node from user {user}")));
        }
        let subresource = attributes.target().subresource.as_str();
        match (attributes.target().resource.resource.as_str(), subresource) {
            ("pods", "") => self.pod(node, attributes).await,
            ("pods", "status") => pods::status(node, attributes),
            ("pods", "eviction") => self.eviction(node, attributes).await,
            ("pods", other) => {
                let other = quote(other);
                let why =
                    format!("unexpected pod subresource {other}, only 'status' and 'eviction' are allowed");
                Err(attributes.forbidden(&why))
            }
            ("nodes", _) => nodes::node(node, attributes),
            ("persistentvolumeclaims", "status") => claims::status(node, attributes, self.features),
            ("persistentvolumeclaims", _) => Err(attributes.forbidden("may only update PVC status")),
            ("serviceaccounts", "token") => self.token(node, attributes).await,
            ("podcertificaterequests", _) => self.pod_certificate_request(node, attributes).await,
            ("certificatesigningrequests", _) => {
                certificates::signing_request(node, attributes, self.features)
            }
            ("leases", _) => lease(node, attributes),
            ("csinodes", _) => csi_node(node, attributes),
            ("resourceslices", _) => slice(node, attributes),
            _ => Ok(()),
        }
    }
}

fn lease(node: &str, attributes: &Attributes<'_>) -> Result<()> {
    if attributes.namespace() != LEASES {
        let why = format!("can only access leases in the {} system namespace", quote(LEASES));
        return Err(attributes.forbidden(&why));
    }
    named_as_node(node, attributes, "can only access node lease with the same name as the requesting node")
}

fn csi_node(node: &str, attributes: &Attributes<'_>) -> Result<()> {
    named_as_node(node, attributes, "can only access CSINode with the same name as the requesting node")
}

/// Rejects an object that is not named like the node. A new object's name is the one in its metadata.
fn named_as_node(node: &str, attributes: &Attributes<'_>, why: &str) -> Result<()> {
    let name = match (attributes.operation, attributes.object()) {
        (Operation::Create, Some(object)) => object.name(),
        _ => attributes.name(),
    };
    if name == node { Ok(()) } else { Err(attributes.forbidden(why)) }
}

/// Creations, and deletions of collections, which the node authorizer cannot decide by the name of a slice. It decides about
/// updates.
fn slice(node: &str, attributes: &Attributes<'_>) -> Result<()> {
    let (object, what) = match attributes.operation {
        Operation::Create => (attributes.object(), "create"),
        Operation::Delete => (attributes.old_object(), "delete"),
        _ => return Ok(()),
    };
    if object.is_some_and(|slice| slice.text_at(&["spec", "nodeName"]) == node) {
        return Ok(());
    }
    let why = format!("can only {what} ResourceSlice with the same NodeName as the requesting node");
    Err(attributes.forbidden(&why))
}

/// Returns an absent object as null.
fn or_null(object: Option<&Value>) -> &Value {
    const NOTHING: &Value = &Value::NULL;
    object.unwrap_or(NOTHING)
}

#[cfg(test)]
mod tests;
