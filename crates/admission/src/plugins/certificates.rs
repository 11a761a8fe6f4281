//! Who may approve, sign and attest for which signer of certificates, and what may not be asked for.
//!
//! Signers are no objects: `signers` is a resource that only permissions speak of, by the signer's name or by its domain
//! with `/*`.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::{Authorizer, PRIVILEGED_GROUP, User, authorizer, certificate_request};
use pintle_meta::{Value, quote};

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::plugin::Plugin;

const GROUP: &str = "certificates.k8s.io";
/// Signs certificates that the server itself believes.
const CLIENTS_OF_THE_SERVER: &str = "kubernetes.io/kube-apiserver-client";

/// `CertificateApproval`: whoever says yes or no to a request needs `approve` on its signer.
pub(crate) struct Approval(Arc<dyn Authorizer>);

/// `CertificateSigning`: whoever brings the certificate needs `sign`.
pub(crate) struct Signing(Arc<dyn Authorizer>);

/// `CertificateSubjectRestriction`: nobody gets a certificate of `system:masters` for the asking.
pub(crate) struct SubjectRestriction;

/// `ClusterTrustBundleAttest`: whoever says what a signer's roots are needs `attest`.
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

/// Whether a user may do something for a signer, or for all of its domain.
async fn may(authorizer: &dyn Authorizer, user: &User, verb: &str, signer: &str) -> bool {
    let domain = signer.split('/').next().unwrap_or_default();
    for name in [signer, &format!("{domain}/*")] {
        let attributes = authorizer::Attributes {
            name,
            version: "*",
            ..authorizer::Attributes::of_resource(user, verb, GROUP, "signers")
        };
        let verdict = authorizer.authorize(&attributes).await;
        if verdict.is_allowed() && verdict.error.is_none() {
            return true;
        }
    }
    false
}

#[async_trait]
impl Plugin for Approval {
    fn name(&self) -> &'static str {
        "CertificateApproval"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Update && is_request(target, "approval")
    }

    /// By the signer of what there is: that of the new object is not to be believed.
    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let signer = signer(attributes.old_object.as_ref());
        if may(&*self.0, &attributes.request.user, "approve", signer).await {
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
            let at = |object: &Option<Value>| {
                let value = object.as_ref().and_then(|object| object.at(&["status", field])).cloned();
                value.filter(|value| !is_empty(value))
            };
            at(&attributes.object) == at(&attributes.old_object)
        };
        let signer = signer(attributes.old_object.as_ref());
        if (same("certificate") && same("conditions"))
            || may(&*self.0, &attributes.request.user, "sign", signer).await
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
        let request = attributes.object.as_ref();
        if signer(request) != CLIENTS_OF_THE_SERVER {
            return Ok(());
        }
        let pem = request.and_then(|request| request.at(&["spec", "request"])).and_then(Value::as_bytes);
        let subject = certificate_request::subject(pem.unwrap_or_default())
            .map_err(|error| attributes.forbidden(&format!("failed to parse CSR: {error}")))?;
        if subject.organizations.iter().any(|group| group == PRIVILEGED_GROUP) {
            let why =
                format!("use of {CLIENTS_OF_THE_SERVER} signer with {PRIVILEGED_GROUP} group is not allowed");
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
        let signer = signer(attributes.object.as_ref());
        if signer.is_empty() || says_the_same(attributes) {
            return Ok(());
        }
        if may(&*self.0, &attributes.request.user, "attest", signer).await {
            return Ok(());
        }
        let why = format!("user not permitted to attest for signerName {}", quote(signer));
        Err(attributes.forbidden(&why))
    }
}

/// Whether an update only changes what garbage collection and the server note about an object.
fn says_the_same(attributes: &Attributes<'_>) -> bool {
    let rest = |object: &Option<Value>| {
        let mut object = object.clone()?;
        if let Some(metadata) = object.metadata_mut() {
            for field in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
                metadata.remove(field);
            }
        }
        Some(object)
    };
    attributes.operation == Operation::Update && rest(&attributes.object) == rest(&attributes.old_object)
}

fn is_empty(value: &Value) -> bool {
    value.is_null()
        || value.as_list().is_some_and(<[Value]>::is_empty)
        || value.as_bytes().is_some_and(<[u8]>::is_empty)
}

#[cfg(test)]
#[path = "certificates_tests.rs"]
mod tests;
