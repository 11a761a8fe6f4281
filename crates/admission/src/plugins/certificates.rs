//! The plugins of certificates.k8s.io: permissions to approve, sign and attest for a signer, and a restriction of subjects.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::signers::is_allowed;
use pintle_auth::{Authorizer, PRIVILEGED_GROUP, certificate_request};
use pintle_meta::{Value, quote};

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::plugin::Plugin;

const GROUP: &str = "certificates.k8s.io";
/// Signer of client certificates that the API server accepts.
const API_SERVER_CLIENT: &str = "kubernetes.io/kube-apiserver-client";

/// `CertificateApproval`: updates of `approval` need the verb `approve` on the signer.
pub(crate) struct Approval(Arc<dyn Authorizer>);

/// `CertificateSigning`: updates of the certificate in `status` need the verb `sign` on the signer.
pub(crate) struct Signing(Arc<dyn Authorizer>);

/// `CertificateSubjectRestriction`: rejects requests for client certificates of the group `system:masters`.
pub(crate) struct SubjectRestriction;

/// `ClusterTrustBundleAttest`: writes of the trust bundle of a signer need the verb `attest` on it.
pub(crate) struct BundleAttest(Arc<dyn Authorizer>);

impl Approval {
    pub(crate) fn new(cluster: &Cluster) -> Approval {
        Approval(cluster.authorizer.clone())
    }
}

impl Signing {
    pub(crate) fn new(cluster: &Cluster) -> Signing {
        Signing(cluster.authorizer.clone())
    }
}

impl BundleAttest {
    pub(crate) fn new(cluster: &Cluster) -> BundleAttest {
        BundleAttest(cluster.authorizer.clone())
    }
}

fn is_request(target: &Target, subresource: &str) -> bool {
    target.resource.group == GROUP
        && target.resource.resource == "certificatesigningrequests"
        && target.subresource == subresource
}

fn signer(object: Option<&Value>) -> &str {
    object.map_or("", |object| object.text_at(&["spec", "signerName"]))
}

#[async_trait]
impl Plugin for Approval {
    fn name(&self) -> &'static str {
        "CertificateApproval"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Update && is_request(target, "approval")
    }

    /// The signer is that of the stored object: the client may have changed it in the new one.
    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let signer = signer(attributes.old_object());
        if is_allowed(&*self.0, &attributes.request.user, "approve", signer).await {
            return Ok(());
        }
        let why = format!("user not permitted to approve requests with signerName {}", quote(signer));
        Err(attributes.forbidden(&why))
    }
}

#[async_trait]
impl Plugin for Signing {
    fn name(&self) -> &'static str {
        "CertificateSigning"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Update && is_request(target, "status")
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let same = |field: &str| {
            let at = |object: Option<&Value>| {
                let value = object.and_then(|object| object.at(&["status", field])).cloned();
                value.filter(|value| !is_empty(value))
            };
            at(attributes.object()) == at(attributes.old_object())
        };
        let signer = signer(attributes.old_object());
        if (same("certificate") && same("conditions"))
            || is_allowed(&*self.0, &attributes.request.user, "sign", signer).await
        {
            return Ok(());
        }
        let why = format!("user not permitted to sign requests with signerName {}", quote(signer));
        Err(attributes.forbidden(&why))
    }
}

#[async_trait]
impl Plugin for SubjectRestriction {
    fn name(&self) -> &'static str {
        "CertificateSubjectRestriction"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Create && is_request(target, "")
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let request = attributes.object();
        if signer(request) != API_SERVER_CLIENT {
            return Ok(());
        }
        let pem = request.and_then(|request| request.at(&["spec", "request"])).and_then(Value::as_bytes);
        let subject = certificate_request::subject(pem.unwrap_or_default())
            .map_err(|error| attributes.forbidden(&format!("failed to parse CSR: {error}")))?;
        if subject.organizations.iter().any(|group| group == PRIVILEGED_GROUP) {
            let why =
                format!("use of {API_SERVER_CLIENT} signer with {PRIVILEGED_GROUP} group is not allowed");
            return Err(attributes.forbidden(&why));
        }
        Ok(())
    }
}

#[async_trait]
impl Plugin for BundleAttest {
    fn name(&self) -> &'static str {
        "ClusterTrustBundleAttest"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
            && target.resource.group == GROUP
            && target.resource.resource == "clustertrustbundles"
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let signer = signer(attributes.object());
        if signer.is_empty() || is_unchanged(attributes) {
            return Ok(());
        }
        if is_allowed(&*self.0, &attributes.request.user, "attest", signer).await {
            return Ok(());
        }
        let why = format!("user not permitted to attest for signerName {}", quote(signer));
        Err(attributes.forbidden(&why))
    }
}

/// Returns whether an update changes only fields that garbage collection and the server write.
fn is_unchanged(attributes: &Attributes<'_>) -> bool {
    let rest = |object: Option<&Value>| {
        let mut object = object?.clone();
        if let Some(metadata) = object.metadata_mut() {
            for field in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
                metadata.remove(field);
            }
        }
        Some(object)
    };
    attributes.operation == Operation::Update && rest(attributes.object()) == rest(attributes.old_object())
}

fn is_empty(value: &Value) -> bool {
    value.is_null()
        || value.as_list().is_some_and(<[Value]>::is_empty)
        || value.as_bytes().is_some_and(<[u8]>::is_empty)
}

#[cfg(test)]
#[path = "certificates_tests.rs"]
mod tests;
