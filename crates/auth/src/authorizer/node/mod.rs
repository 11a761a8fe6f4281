//! The node authorizer: kubelets may do what their own pods need.
//!
//! Secrets, config maps, claims and volumes are allowed if the [`Graph`] has a path to the node; leases, CSINodes and the Node
//! by their name; pods, slices and certificate requests also by a field selector. The rest is the same for all nodes. The
//! content of written objects is restricted by the admission plugin NodeRestriction.

mod counts;
mod graph;
mod references;

use std::sync::Arc;

use async_trait::async_trait;
use pintle_features::{Feature, Features};
use pintle_meta::quote;
use pintle_meta::selector::field::Operator;

pub use graph::{Graph, Kind};
pub use references::{MIRROR_POD, used_by};

use super::{Attributes, Authorizer, Rules, Selector, Verdict};
use crate::User;

/// Namespace of the leases of nodes.
const LEASES: &str = "kube-node-lease";

/// The relations of nodes and objects.
#[async_trait]
pub trait Relations: Send + Sync + 'static {
    /// Returns whether a path leads from an object to a node, as [`Graph::leads`] does. `false` only after the graph has
    /// caught up with the store. An error if the graph could not be loaded.
    async fn has_path(&self, kind: Kind, namespace: &str, name: &str, node: &str) -> Result<bool, String>;
}

/// Decides about requests of nodes; others are none of its business.
pub struct Node {
    relations: Arc<dyn Relations>,
    features: Features,
}

impl Node {
    pub fn new(relations: Arc<dyn Relations>, features: Features) -> Node {
        Node { relations, features }
    }

    /// For one that has a way to the node.
    async fn related(&self, node: &str, kind: Kind, attributes: &Attributes<'_>) -> Verdict {
        if attributes.name.is_empty() {
            return Verdict::no_opinion("No Object name found");
        }
        self.has_path(node, kind, attributes).await
    }

    async fn has_path(&self, node: &str, kind: Kind, attributes: &Attributes<'_>) -> Verdict {
        match self.relations.has_path(kind, attributes.namespace, attributes.name, node).await {
            Ok(true) => Verdict::allow(""),
            Ok(false) => unrelated(node),
            Err(error) => Verdict { error: Some(error), ..unrelated(node) },
        }
    }

    async fn get(&self, node: &str, kind: Kind, attributes: &Attributes<'_>) -> Verdict {
        match (attributes.verb, attributes.subresource) {
            ("get", "") => self.related(node, kind, attributes).await,
            ("get", _) => Verdict::no_opinion("cannot get subresource"),
            _ => Verdict::no_opinion("can only get individual resources of this type"),
        }
    }

    async fn read(&self, node: &str, kind: Kind, attributes: &Attributes<'_>) -> Verdict {
        if !attributes.is_read_only() {
            return Verdict::no_opinion("can only read resources of this type");
        }
        if !attributes.subresource.is_empty() {
            return Verdict::no_opinion("cannot read subresource");
        }
        if attributes.namespace.is_empty() {
            return Verdict::no_opinion("can only read namespaced object of this type");
        }
        self.related(node, kind, attributes).await
    }

    async fn claim(&self, node: &str, attributes: &Attributes<'_>) -> Verdict {
        match (attributes.subresource, attributes.verb) {
            ("status", "update" | "patch") => {
                self.related(node, Kind::PersistentVolumeClaim, attributes).await
            }
            ("status", _) => Verdict::no_opinion("can only get/update/patch this type"),
            _ => self.get(node, Kind::PersistentVolumeClaim, attributes).await,
        }
    }

    async fn service_account(&self, node: &str, attributes: &Attributes<'_>) -> Verdict {
        match (attributes.verb, attributes.subresource) {
            ("get", "") => {
                if !(self.features.enabled(Feature::KubeletServiceAccountTokenForCredentialProviders)
                    || self.features.enabled(Feature::PodCertificateRequest))
                {
                    return Verdict::no_opinion("not allowed to get service accounts");
                }
                self.read(node, Kind::ServiceAccount, attributes).await
            }
            ("create", _) if attributes.name.is_empty() => only_own_tokens(),
            ("create", "token") => self.has_path(node, Kind::ServiceAccount, attributes).await,
            ("create", _) => Verdict::no_opinion("can only create token subresource of serviceaccount"),
            _ => only_own_tokens(),
        }
    }

    async fn slice(&self, node: &str, attributes: &Attributes<'_>) -> Verdict {
        if !attributes.subresource.is_empty() {
            return Verdict::no_opinion("cannot authorize ResourceSlice subresources");
        }
        match attributes.verb {
            // NodeRestriction decides by the content.
            "create" => Verdict::allow(""),
            "get" | "update" | "patch" | "delete" => {
                self.related(node, Kind::ResourceSlice, attributes).await
            }
            "watch" | "list" | "deletecollection" if selects(attributes, "spec.nodeName", node) => {
                Verdict::allow("")
            }
            "watch" | "list" | "deletecollection" => Verdict::no_opinion(
                "can only list/watch/deletecollection resourceslices with nodeName field selector",
            ),
            _ => Verdict::no_opinion(
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, \
                 delete, deletecollection",
            ),
        }
    }

    async fn certificate_request(&self, node: &str, attributes: &Attributes<'_>) -> Verdict {
        if !self.features.enabled(Feature::PodCertificateRequest) {
            return Verdict::no_opinion("");
        }
        if !attributes.subresource.is_empty() {
            return Verdict::no_opinion(
                "nodes may not access the status subresource of PodCertificateRequests",
            );
        }
        match attributes.verb {
            "create" => Verdict::allow(""),
            "get" => self.related(node, Kind::PodCertificateRequest, attributes).await,
            "list" | "watch" if selects(attributes, "spec.nodeName", node) => Verdict::allow(""),
            "list" | "watch" => {
                Verdict::no_opinion("can only list/watch podcertificaterequests with nodeName field selector")
            }
            verb => Verdict::no_opinion(format!("nodes may not {verb} podcertificaterequests")),
        }
    }

    async fn pod(&self, node: &str, attributes: &Attributes<'_>) -> Verdict {
        match (attributes.subresource, attributes.verb) {
            ("", "get") => self.get(node, Kind::Pod, attributes).await,
            ("", "list" | "watch") => {
                if selects(attributes, "spec.nodeName", node) {
                    return Verdict::allow("");
                }
                if attributes.name.is_empty() {
                    return Verdict::no_opinion("can only list/watch pods with spec.nodeName field selector");
                }
                self.related(node, Kind::Pod, attributes).await
            }
            // Mirror pods; status and eviction of pods on the node. NodeRestriction decides by the content.
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => {
                Verdict::allow("")
            }
            _ => Verdict::no_opinion(""),
        }
    }

    /// The same for all nodes: what is left of the role `system:node`.
    fn static_rules(&self, attributes: &Attributes<'_>) -> Verdict {
        let found = STATIC_RULES.iter().find(|(group, resource, _)| {
            attributes.is_resource
                && attributes.subresource.is_empty()
                && (*group, *resource) == (attributes.group, attributes.resource)
        });
        let allowed = found.is_some_and(|(_, resource, verbs)| {
            verbs.contains(&attributes.verb)
                && (*resource != "clustertrustbundles" || self.features.enabled(Feature::ClusterTrustBundle))
        });
        if allowed { Verdict::allow("") } else { Verdict::no_opinion("") }
    }
}

#[async_trait]
impl Authorizer for Node {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Verdict {
        let Some(node) = attributes.user.node_name() else { return Verdict::no_opinion("") };
        if node.is_empty() {
            return Verdict::no_opinion(format!("unknown node for user {}", quote(&attributes.user.name)));
        }
        if !attributes.is_resource {
            return Verdict::no_opinion("");
        }
        match (attributes.group, attributes.resource) {
            ("", "secrets") => self.read(node, Kind::Secret, attributes).await,
            ("", "configmaps") => self.read(node, Kind::ConfigMap, attributes).await,
            ("", "persistentvolumeclaims") => self.claim(node, attributes).await,
            ("", "persistentvolumes") => self.get(node, Kind::PersistentVolume, attributes).await,
            ("resource.k8s.io", "resourceclaims") => self.get(node, Kind::ResourceClaim, attributes).await,
            ("storage.k8s.io", "volumeattachments") => {
                self.get(node, Kind::VolumeAttachment, attributes).await
            }
            ("", "serviceaccounts") => self.service_account(node, attributes).await,
            ("coordination.k8s.io", "leases") => lease(node, attributes),
            ("storage.k8s.io", "csinodes") => csi_node(node, attributes),
            ("resource.k8s.io", "resourceslices") => self.slice(node, attributes).await,
            ("", "nodes") => own_node(node, attributes),
            ("", "pods") => self.pod(node, attributes).await,
            ("certificates.k8s.io", "podcertificaterequests") => {
                self.certificate_request(node, attributes).await
            }
            _ => self.static_rules(attributes),
        }
    }

    async fn add_rules(&self, user: &User, _namespace: &str, rules: &mut Rules) {
        if user.node_name().is_some() {
            rules.incomplete = true;
            rules.errors.push("node authorizer does not support user rule resolution".into());
        }
    }
}

const READ: &[&str] = &["get", "list", "watch"];

/// Returns whether the role `system:node` allows a request, for resources without a rule of their own here.
const STATIC_RULES: [(&str, &str, &[&str]); 11] = [
    ("authentication.k8s.io", "tokenreviews", &["create"]),
    ("authorization.k8s.io", "subjectaccessreviews", &["create"]),
    ("authorization.k8s.io", "localsubjectaccessreviews", &["create"]),
    ("", "services", READ),
    ("", "events", &["create", "update", "patch"]),
    ("events.k8s.io", "events", &["create", "update", "patch"]),
    ("", "endpoints", &["get"]),
    ("certificates.k8s.io", "certificatesigningrequests", &["create", "get", "list", "watch"]),
    ("storage.k8s.io", "csidrivers", READ),
    ("node.k8s.io", "runtimeclasses", READ),
    ("certificates.k8s.io", "clustertrustbundles", READ),
];

fn unrelated(node: &str) -> Verdict {
    Verdict::no_opinion(format!("no relationship found between node '{node}' and this object"))
}

fn only_own_tokens() -> Verdict {
    Verdict::no_opinion("can only create tokens for individual service accounts")
}

/// Returns whether the field selector requires this value of the field.
fn selects(attributes: &Attributes<'_>, field: &str, value: &str) -> bool {
    let (Selector::Requirements(requirements) | Selector::Invalid { understood: requirements, .. }) =
        attributes.field_selector
    else {
        return false;
    };
    requirements.iter().any(|requirement| {
        requirement.operator == Operator::Equals && requirement.field == field && requirement.value == value
    })
}

fn lease(node: &str, attributes: &Attributes<'_>) -> Verdict {
    if !matches!(attributes.verb, "get" | "create" | "update" | "patch" | "delete") {
        return Verdict::no_opinion("can only get, create, update, patch, or delete a node lease");
    }
    if attributes.namespace != LEASES {
        return Verdict::no_opinion(format!(
            "can only access leases in the {} system namespace",
            quote(LEASES)
        ));
    }
    if attributes.verb != "create" && attributes.name != node {
        return Verdict::no_opinion("can only access node lease with the same name as the requesting node");
    }
    Verdict::allow("")
}

fn csi_node(node: &str, attributes: &Attributes<'_>) -> Verdict {
    if !matches!(attributes.verb, "get" | "create" | "update" | "patch" | "delete") {
        return Verdict::no_opinion("can only get, create, update, patch, or delete a CSINode");
    }
    if !attributes.subresource.is_empty() {
        return Verdict::no_opinion("cannot authorize CSINode subresources");
    }
    if attributes.verb != "create" && attributes.name != node {
        return Verdict::no_opinion("can only access CSINode with the same name as the requesting node");
    }
    Verdict::allow("")
}

/// By name, not by the graph: a kubelet looks for its Node before it makes it.
fn own_node(node: &str, attributes: &Attributes<'_>) -> Verdict {
    match (attributes.subresource, attributes.verb) {
        ("", "create" | "update" | "patch") | ("status", "update" | "patch") => Verdict::allow(""),
        ("", "get" | "list" | "watch") => match attributes.name {
            name if name == node => Verdict::allow(""),
            "" => {
                Verdict::no_opinion(format!("node '{node}' cannot read all nodes, only its own Node object"))
            }
            name => {
                Verdict::no_opinion(format!("node '{node}' cannot read '{name}', only its own Node object"))
            }
        },
        _ => Verdict::no_opinion(""),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
