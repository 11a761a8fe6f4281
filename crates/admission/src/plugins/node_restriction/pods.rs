//! Pods: a node creates and deletes mirror pods, and updates the status of pods that it runs.

use pintle_auth::authorizer::node::{Kind, MIRROR_POD, used_by};
use pintle_meta::{Value, quote};

use super::{NodeRestriction, or_null};
use crate::Result;
use crate::attributes::{Attributes, Operation};
use crate::objects::Resource;

/// Volume sources that refer to no API object.
const PLAIN_VOLUMES: [&str; 22] = [
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];

/// Volume sources that refer to an API object, and its resource.
const USING_VOLUMES: [(&str, &str); 7] = [
    ("configMap", "configmaps (via configmap volumes)"),
    ("secret", "secrets (via secret volumes)"),
    ("csi", "csidrivers (via CSI volumes)"),
    ("glusterfs", "endpoints (via glusterFS volumes)"),
    ("persistentVolumeClaim", "persistentvolumeclaims"),
    ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
    ("azureFile", "secrets (via azureFile volumes)"),
];

/// Sources of projected volumes that refer to an API object, and its resource.
const USING_PROJECTIONS: [(&str, &str); 5] = [
    ("configMap", "configmaps (via projected volumes)"),
    ("secret", "secrets (via projected volumes)"),
    ("serviceAccountToken", "serviceaccounts (via projected volumes)"),
    ("clusterTrustBundle", "clustertrustbundles"),
    ("podCertificate", "podcertificates"),
];

impl NodeRestriction {
    pub(super) async fn pod(&self, node: &str, attributes: &Attributes<'_>) -> Result<()> {
        let shown = quote(node);
        match attributes.operation {
            Operation::Create => self.create_pod(node, attributes).await,
            Operation::Delete => {
                if node_of(or_null(attributes.old_object())) == node {
                    Ok(())
                } else {
                    Err(attributes.forbidden(&format!(
                        "node {shown} can only delete pods with spec.nodeName set to itself"
                    )))
                }
            }
            operation => Err(attributes.forbidden(&format!(
                "unexpected operation {}, node {shown} can only create and delete mirror pods",
                quote(operation.as_str())
            ))),
        }
    }

    async fn create_pod(&self, node: &str, attributes: &Attributes<'_>) -> Result<()> {
        let (pod, shown) = (or_null(attributes.object()), quote(node));
        let forbidden = |why: String| Err(attributes.forbidden(&why));
        if pod.annotation(MIRROR_POD).is_none() {
            let mark = quote(MIRROR_POD);
            return forbidden(format!(
                "pod does not have {mark} annotation, node {shown} can only create mirror pods"
            ));
        }
        if node_of(pod) != node {
            return forbidden(format!("node {shown} can only create pods with spec.nodeName set to itself"));
        }
        let owner = match pod.owner_references() {
            [] => {
                return forbidden(format!(
                    "node {shown} can only create pods with an owner reference set to itself"
                ));
            }
            [owner] => owner,
            _ => {
                return forbidden(format!(
                    "node {shown} can only create pods with a single owner reference set to itself"
                ));
            }
        };
        let is = |field: &str| owner.get(field).and_then(Value::as_bool) == Some(true);
        let named = (owner.text_at(&["apiVersion"]), owner.text_at(&["kind"]), owner.text_at(&["name"]));
        if named != ("v1", "Node", node) {
            return forbidden(format!(
                "node {shown} can only create pods with an owner reference set to itself"
            ));
        }
        if !is("controller") {
            return forbidden(format!(
                "node {shown} can only create pods with a controller owner reference set to itself"
            ));
        }
        if is("blockOwnerDeletion") {
            return forbidden(format!("node {shown} must not set blockOwnerDeletion on an owner reference"));
        }
        let found = match self.objects.object(Resource::Node, "", node).await {
            Ok(found) => found.ok_or_else(|| Resource::Node.not_found(node))?,
            Err(status) => {
                return forbidden(format!("error looking up node {node} to verify uid: {}", status.message));
            }
        };
        let uid = owner.text_at(&["uid"]);
        if uid != found.uid() {
            return forbidden(format!("node {node} UID mismatch: expected {uid} got {}", found.uid()));
        }
        match used_objects(pod) {
            Ok(None) => Ok(()),
            Ok(Some(resource)) => {
                forbidden(format!("node {shown} can not create pods that reference {resource}"))
            }
            Err(error) => forbidden(format!("error checking mirror pod for API references: {error}")),
        }
    }

    pub(super) async fn eviction(&self, node: &str, attributes: &Attributes<'_>) -> Result<()> {
        if attributes.operation != Operation::Create {
            let operation = attributes.operation.as_str();
            return Err(attributes.forbidden(&format!("unexpected operation {operation}")));
        }
        if attributes.name().is_empty() {
            return Err(attributes.forbidden("could not determine pod from request data"));
        }
        let pod = self.find(Resource::Pod, attributes.name(), attributes).await?;
        if node_of(&pod) != node {
            let why = format!("node {node} can only evict pods with spec.nodeName set to itself");
            return Err(attributes.forbidden(&why));
        }
        Ok(())
    }
}

/// Returns the node that a pod is bound to.
pub(super) fn node_of(pod: &Value) -> &str {
    pod.text_at(&["spec", "nodeName"])
}

pub(super) fn status(node: &str, attributes: &Attributes<'_>) -> Result<()> {
    let shown = quote(node);
    if attributes.operation != Operation::Update {
        let operation = quote(attributes.operation.as_str());
        return Err(attributes.forbidden(&format!("unexpected operation {operation}")));
    }
    let (old, new) = (or_null(attributes.old_object()), or_null(attributes.object()));
    let why = if node_of(old) != node {
        format!("node {shown} can only update pod status for pods with spec.nodeName set to itself")
    } else if !old.labels().eq(new.labels()) {
        format!("node {shown} cannot update labels through pod status")
    } else if !same(old, new, &["status", "resourceClaimStatuses"]) {
        format!("node {shown} cannot update resource claim statues")
    } else if !same(old, new, &["status", "extendedResourceClaimStatus"]) {
        format!("node {shown} cannot update extended resource claim status")
    } else {
        return Ok(());
    };
    Err(attributes.forbidden(&why))
}

fn same(old: &Value, new: &Value, path: &[&str]) -> bool {
    let at = |object: &Value| object.at(path).filter(|value| !is_empty(value)).cloned();
    at(old) == at(new)
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_list().is_some_and(<[Value]>::is_empty)
}

/// Returns the resource of an API object that a pod refers to; an error for an unknown kind of volume.
fn used_objects(pod: &Value) -> std::result::Result<Option<&'static str>, String> {
    if !pod.text_at(&["spec", "serviceAccountName"]).is_empty() {
        return Ok(Some("serviceaccounts"));
    }
    let used = used_by(pod);
    let uses = |kind: Kind| used.iter().any(|(used, _)| *used == kind);
    if uses(Kind::Secret) {
        return Ok(Some("secrets"));
    }
    if uses(Kind::ConfigMap) {
        return Ok(Some("configmaps"));
    }
    if !pod.items_at(&["spec", "resourceClaims"]).is_empty() {
        return Ok(Some("resourceclaims"));
    }
    for volume in pod.items_at(&["spec", "volumes"]) {
        if PLAIN_VOLUMES.iter().any(|source| has(volume, source)) {
            continue;
        }
        if let Some((_, resource)) = USING_VOLUMES.iter().find(|(source, _)| has(volume, source)) {
            return Ok(Some(resource));
        }
        let name = quote(volume.text_at(&["name"]));
        if !has(volume, "projected") {
            return Err(format!("unknown volume type for volume  {name}"));
        }
        for projection in volume.items_at(&["projected", "sources"]) {
            if let Some((_, resource)) = USING_PROJECTIONS.iter().find(|(source, _)| has(projection, source))
            {
                return Ok(Some(resource));
            }
            if !has(projection, "downwardAPI") {
                return Err(format!("unknown source for projected volume {name}"));
            }
        }
    }
    Ok(None)
}

fn has(volume: &Value, source: &str) -> bool {
    volume.get(source).is_some_and(|source| !source.is_null())
}
