//! Certificates: CertificateSigningRequests for the node itself, PodCertificateRequests for pods that it runs.

use pintle_auth::authorizer::node::MIRROR_POD;
use pintle_auth::certificate_request;
use pintle_features::{Feature, Features};
use pintle_meta::{Status, Value, quote};

use super::pods::node_of;
use super::{NodeRestriction, or_null};
use crate::Result;
use crate::attributes::{Attributes, Operation};
use crate::objects::Resource;

/// Signers of certificates with a node's identity.
const SIGNERS: [&str; 2] = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];

pub(super) fn signing_request(node: &str, attributes: &Attributes<'_>, features: Features) -> Result<()> {
    if attributes.operation != Operation::Create
        || features.enabled(Feature::AllowInsecureKubeletCertificateSigningRequests)
    {
        return Ok(());
    }
    let request = or_null(attributes.object());
    if !SIGNERS.contains(&request.text_at(&["spec", "signerName"])) {
        return Ok(());
    }
    let pem = request.at(&["spec", "request"]).and_then(Value::as_bytes).unwrap_or_default();
    let subject = certificate_request::subject(pem)
        .map_err(|error| attributes.forbidden(&format!("unable to parse csr: {error}")))?;
    let expected = format!("system:node:{node}");
    if subject.common_name != expected {
        return Err(attributes.forbidden(&format!("can only create a node CSR with CN={expected}")));
    }
    Ok(())
}

impl NodeRestriction {
    /// A UID that differs may come from a cache that lags behind, so it is an error to try again and not a `Forbidden`.
    pub(super) async fn pod_certificate_request(
        &self,
        node: &str,
        attributes: &Attributes<'_>,
    ) -> Result<()> {
        if !self.features.enabled(Feature::PodCertificateRequest) {
            return Err(attributes.forbidden("PodCertificateRequest feature gate is disabled"));
        }
        if attributes.operation != Operation::Create {
            let operation = attributes.operation.as_str();
            return Err(attributes.forbidden(&format!("unexpected operation {operation}")));
        }
        if !attributes.target().subresource.is_empty() {
            let subresource = &attributes.target().subresource;
            return Err(attributes.forbidden(&format!("unexpected subresource {subresource}")));
        }
        let spec = or_null(attributes.object().and_then(|object| object.get("spec")));
        let text = |field: &str| spec.text_at(&[field]);
        let (named, pod_name, account_name) = (text("nodeName"), text("podName"), text("serviceAccountName"));
        let within = |name: &str| quote(&format!("{}/{name}", attributes.namespace()));
        let (shown, pod_shown) = (quote(named), within(pod_name));
        if named != node {
            return Err(attributes.forbidden(&format!(
                "PodCertificateRequest.Spec.NodeName={shown}, which is not the requesting node {}",
                quote(node)
            )));
        }

        let found = self.retrieved(Resource::Node, "node", &shown, named, attributes).await?;
        if found.uid() != text("nodeUID") {
            return Err(plain(format!(
                "PodCertificateRequest for pod {pod_shown} names node UID {}, inconsistent with the running node ({})",
                quote(text("nodeUID")),
                quote(found.uid())
            )));
        }

        let pod = self.retrieved(Resource::Pod, "pod", &pod_shown, pod_name, attributes).await?;
        if pod.uid() != text("podUID") {
            return Err(plain(format!(
                "PodCertificateRequest for pod {pod_shown} contains pod UID ({}) which differs from running pod {}",
                quote(text("podUID")),
                quote(pod.uid())
            )));
        }
        if node_of(&pod) != named {
            return Err(attributes.forbidden(&format!(
                "pod {pod_shown} is not running on node {shown} named in the PodCertificateRequest"
            )));
        }
        if pod.annotation(MIRROR_POD).is_some() {
            return Err(attributes.forbidden(&format!("pod {pod_shown} is a mirror pod")));
        }

        let of_pod = pod.text_at(&["spec", "serviceAccountName"]);
        if account_name != of_pod {
            return Err(attributes.forbidden(&format!(
                "PodCertificateRequest for pod {pod_shown} contains serviceAccountName ({}) that differs from running \
                 pod ({})",
                quote(account_name),
                quote(of_pod)
            )));
        }
        let account_shown = within(account_name);
        let account = self
            .retrieved(Resource::ServiceAccount, "service account", &account_shown, account_name, attributes)
            .await?;
        if account.uid() != text("serviceAccountUID") {
            return Err(plain(format!(
                "PodCertificateRequest for pod {pod_shown} names service account UID {}, which differs from the running \
                 service account ({})",
                quote(text("serviceAccountUID")),
                quote(account.uid())
            )));
        }
        Ok(())
    }

    async fn retrieved(
        &self,
        resource: Resource,
        what: &str,
        shown: &str,
        name: &str,
        attributes: &Attributes<'_>,
    ) -> Result<Value> {
        let namespace = if resource == Resource::Node { "" } else { attributes.namespace() };
        let while_ = |error: &str| {
            format!("while retrieving {what} {shown} named in the PodCertificateRequest: {error}")
        };
        match self.objects.object(resource, namespace, name).await {
            Ok(Some(object)) => Ok(object),
            Ok(None) => Err(plain(while_(&resource.not_found(name).message))),
            Err(status) => Err(attributes.forbidden(&while_(&status.message))),
        }
    }
}

fn plain(error: String) -> Box<Status> {
    Box::new(Status::plain(error))
}
