//! Requests for certificates: their approval, signing and removal.
//!
//! ```text
//! CertificateSigningRequest --(approver: kubelets' client certificates, by SubjectAccessReviews; others by an administrator)-->
//!   Approved --(signer: with the key of an authority)--> status.certificate --(cleaner: an hour later)--> deleted
//! ```

mod approver;
mod cleaner;
mod kubelet;
mod pod_requests;
mod signer;
mod trust_bundle;

use std::time::Duration;

use async_trait::async_trait;
use pintle_meta::{Status, Value};
use pintle_registry::Result;

use crate::followed::Followed;
use crate::runtime::{Controller, Key, RateLimits, Requeue, Source};

pub use approver::CertificateApprover;
pub use cleaner::CertificateRequestCleaner;
pub use pod_requests::PodCertificateRequestCleaner;
pub use signer::{AuthoritySource, CertificateSigner, CertificateSigners, SIGNERS};
pub use trust_bundle::TrustBundlePublisher;

/// The service account of the controllers of certificate requests.
pub const CERTIFICATE_ACCOUNT: &str = "certificate-controller";

const GROUP: &str = "certificates.k8s.io";
const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";

/// Begins the errors of requests that are nobody's fault but the requester's, which are not worth more than a debug message.
const NOT_APPROVED: &str = "recognized csr ";

/// A step of certificate requests that have no certificate yet.
#[async_trait]
pub trait CertificateStep: Send + Sync + 'static {
    /// Called for every change of a request without a certificate. An error is retried.
    async fn handle(&self, request: Value) -> Result<()>;
}

/// Takes every request through a step.
pub struct CertificateController<S> {
    requests: Followed,
    step: S,
}

impl<S> CertificateController<S> {
    pub fn new(requests: Followed, step: S) -> CertificateController<S> {
        CertificateController { requests, step }
    }
}

#[async_trait]
impl<S: CertificateStep> Controller for CertificateController<S> {
    fn name(&self) -> &'static str {
        "certificate"
    }

    fn sources(&self) -> Vec<Source> {
        let keys = |entry: &pintle_cache::Entry, deleted: bool| (!deleted).then(|| Key::from(entry.key()));
        vec![Source::informer(self.requests.store().clone(), keys)]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        if let Some(request) = self.requests.find(key).await?.filter(|request| !is_issued(request)) {
            self.step.handle(request).await?;
        }
        Ok(Requeue::Never)
    }

    fn failed(&self, key: &str, status: &Status) {
        if status.message.starts_with(NOT_APPROVED) {
            tracing::debug!(csr = key, "Sync certificate request failed: {}", status.message);
        } else {
            tracing::error!("Sync {key} failed with : {}", status.message);
        }
    }

    fn workers(&self) -> usize {
        5
    }

    fn rate_limits(&self) -> RateLimits {
        RateLimits { base_delay: Duration::from_millis(200), ..RateLimits::default() }
    }
}

/// Returns the conditions of a request.
fn conditions(request: &Value) -> &[Value] {
    request.items_at(&["status", "conditions"])
}

fn has_condition(request: &Value, kind: &str) -> bool {
    conditions(request).iter().any(|condition| condition.text_at(&["type"]) == kind)
}

fn is_issued(request: &Value) -> bool {
    !certificate(request).is_empty()
}

/// Returns the certificate of a request in PEM, if it has one yet.
fn certificate(request: &Value) -> &[u8] {
    request.at(&["status", "certificate"]).and_then(Value::as_bytes).unwrap_or_default()
}

/// Returns the request itself in PEM.
fn pem(request: &Value) -> &[u8] {
    request.at(&["spec", "request"]).and_then(Value::as_bytes).unwrap_or_default()
}

fn usages(request: &Value) -> Vec<&str> {
    request.items_at(&["spec", "usages"]).iter().filter_map(Value::as_str).collect()
}

/// Returns a request whose status has another condition.
fn with_condition(mut request: Value, condition: Value) -> Value {
    let empty = || Value::object(Default::default());
    let status = request.as_object_mut().map(|fields| fields.get_or_insert_with("status", empty));
    let conditions = status
        .and_then(Value::as_object_mut)
        .map(|status| status.get_or_insert_with("conditions", || Value::list(Vec::new())));
    if let Some(conditions) = conditions.and_then(Value::as_list_mut) {
        conditions.push(condition);
    }
    request
}

/// Fails in words of this controller.
fn failure(message: impl std::fmt::Display) -> Box<Status> {
    Box::new(Status::plain(message))
}
