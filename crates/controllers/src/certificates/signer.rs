//! Signing of approved requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pintle_auth::certificate_authority::{Authority, Terms};
use pintle_auth::certificate_request::Details;
use pintle_meta::time::Time;
use pintle_meta::{Object, Value};
use pintle_registry::Result;
use pintle_runtime::Clock;

use super::{
    CertificateController, CertificateStep, KUBELET_CLIENT, conditions, failure, has_condition, kubelet, pem,
    usages, with_condition,
};
use crate::api::ApiClient;
use crate::followed::Followed;

const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const LEGACY: &str = "kubernetes.io/legacy-unknown";

/// The signers that this controller can be.
pub const SIGNERS: [&str; 4] = [KUBELET_SERVING, KUBELET_CLIENT, CLIENT, LEGACY];

/// Requests that ask for a shorter life get this one.
const SHORTEST: Duration = Duration::from_secs(10 * 60);

/// Has the authority of a signer.
pub trait AuthoritySource: Send + Sync + 'static {
    /// Returns the authority as it is now. Called for every certificate that is signed.
    fn current(&self) -> Arc<Authority>;
}

/// The signers with their authorities.
#[derive(Clone)]
pub struct CertificateSigners {
    /// By the name of the signer, which is one of [`SIGNERS`].
    pub authorities: BTreeMap<&'static str, Arc<dyn AuthoritySource>>,
    /// The longest life of a certificate.
    pub duration: Duration,
}

impl Default for CertificateSigners {
    /// Returns none, with the reference's longest life.
    fn default() -> CertificateSigners {
        CertificateSigners { authorities: BTreeMap::new(), duration: Duration::from_secs(365 * 24 * 60 * 60) }
    }
}

/// Signs requests.
pub struct CertificateSigner {
    requests: Followed,
    api: ApiClient,
    signers: CertificateSigners,
    clock: Clock,
}

impl CertificateSigner {
    pub const NAME: &'static str = "certificatesigningrequest-signing-controller";

    /// Returns the controller.
    pub fn controller(
        requests: Followed,
        api: ApiClient,
        signers: CertificateSigners,
        clock: Clock,
    ) -> CertificateController<CertificateSigner> {
        CertificateController::new(requests.clone(), CertificateSigner { requests, api, signers, clock })
    }

    fn sign(&self, request: &Value, authority: &Authority) -> Result<String> {
        let asked = request.at(&["spec", "expirationSeconds"]).and_then(Value::as_i64);
        let usages = usages(request);
        let lifetime = lifetime(asked, self.signers.duration);
        let terms = Terms { lifetime, usages: &usages, now: self.clock.now() };
        authority
            .sign(pem(request), &terms)
            .map_err(|error| failure(format!("error auto signing csr: {error}")))
    }
}

#[async_trait]
impl CertificateStep for CertificateSigner {
    async fn handle(&self, request: Value) -> Result<()> {
        let signer = request.text_at(&["spec", "signerName"]);
        let Some(authority) = self.signers.authorities.get(signer).filter(|_| is_approved(&request)) else {
            return Ok(());
        };
        let details = Details::read(pem(&request))
            .map_err(|error| failure(format!("unable to parse csr {:?}: {error}", request.name())))?;
        let location = self.requests.location(&request).subresource("status");
        let (new, what) = match check(signer, &details, &usages(&request)) {
            Err(message) => {
                let now = Time::from(self.clock.now()).to_string();
                let failed = with_condition(request, failed_condition(&message, &now));
                (failed, "error adding failure condition for csr")
            }
            Ok(()) => {
                let certificate = self.sign(&request, &authority.current())?;
                let mut signed = request;
                if let Some(status) = signed.get_mut("status").and_then(Value::as_object_mut) {
                    status.insert("certificate", Value::bytes(certificate.as_bytes()));
                }
                (signed, "error updating signature for csr")
            }
        };
        let written = self.api.replace(&location, &new).await;
        written.map(drop).map_err(|status| failure(format!("{what}: {}", status.message)))
    }
}

fn is_approved(request: &Value) -> bool {
    let is_failed = conditions(request).iter().any(|condition| {
        condition.text_at(&["type"]) == "Failed" && ["", "True"].contains(&condition.text_at(&["status"]))
    });
    has_condition(request, "Approved") && !has_condition(request, "Denied") && !is_failed
}

/// Checks a request by the rules of its signer.
fn check(signer: &str, details: &Details, usages: &[&str]) -> std::result::Result<(), String> {
    match signer {
        KUBELET_SERVING => kubelet::check_serving(details, usages),
        KUBELET_CLIENT => kubelet::check_client(details, usages),
        CLIENT => check_client(usages),
        // There are no rules for certificates of this one.
        _ => Ok(()),
    }
}

fn check_client(usages: &[&str]) -> std::result::Result<(), String> {
    let optional = ["digital signature", "key encipherment", "client auth"];
    if let Some(other) = usages.iter().find(|usage| !optional.contains(usage)) {
        return Err(format!("invalid usage for client certificate: {other}"));
    }
    match usages.contains(&"client auth") {
        true => Ok(()),
        false => Err("missing required usage for client certificate: client auth".into()),
    }
}

/// Returns the life of a certificate, of which a request may ask for less than the longest.
fn lifetime(asked: Option<i64>, longest: Duration) -> Duration {
    let Some(asked) = asked else { return longest };
    let asked = Duration::from_secs(u64::try_from(asked).unwrap_or_default());
    if asked > longest { longest } else { asked.max(SHORTEST) }
}

fn failed_condition(message: &str, now: &str) -> Value {
    Value::object(Object::from_iter([
        ("type", "Failed"),
        ("status", "True"),
        ("reason", "SignerValidationFailure"),
        ("message", message),
        ("lastUpdateTime", now),
    ]))
}

#[cfg(test)]
mod tests {
    use pintle_auth::certificate_request::Subject;

    use super::*;

    fn kubelet(name: &str, organizations: &[&str]) -> Details {
        let organizations = organizations.iter().map(|name| (*name).to_owned()).collect();
        Details { subject: Subject { common_name: name.into(), organizations }, ..Details::default() }
    }

    fn node() -> Details {
        kubelet("system:node:n", &["system:nodes"])
    }

    fn refusal(signer: &str, details: &Details, usages: &[&str]) -> String {
        check(signer, details, usages).expect_err("a refusal")
    }

    #[test]
    fn kubelet_clients_are_nodes_without_other_names() {
        let usages = ["digital signature", "client auth"];
        assert_eq!(check(KUBELET_CLIENT, &node(), &usages), Ok(()));
        assert_eq!(
            check(KUBELET_CLIENT, &node(), &["client auth", "key encipherment", "digital signature"]),
            Ok(())
        );
        let is = |details: Details, message: &str| {
            assert_eq!(refusal(KUBELET_CLIENT, &details, &usages), message);
        };
        is(kubelet("system:node:n", &[]), "subject organization is not system:nodes");
        is(kubelet("system:node:n", &["system:nodes", "b"]), "subject organization is not system:nodes");
        is(kubelet("n", &["system:nodes"]), "subject common name does not begin with system:node:");
        is(Details { dns_names: vec!["a".into()], ..node() }, "DNS subjectAltNames are not allowed");
        is(Details { email_addresses: vec!["a".into()], ..node() }, "Email subjectAltNames are not allowed");
        is(Details { ip_addresses: vec![vec![0; 4]], ..node() }, "IP subjectAltNames are not allowed");
        is(Details { uris: vec!["a".into()], ..node() }, "URI subjectAltNames are not allowed");
        assert_eq!(
            refusal(KUBELET_CLIENT, &node(), &["client auth"]),
            "usages did not match [client auth digital signature key encipherment]"
        );
    }

    #[test]
    fn kubelets_serve_under_names() {
        let usages = ["digital signature", "key encipherment", "server auth"];
        assert_eq!(refusal(KUBELET_SERVING, &node(), &usages), "DNS or IP subjectAltName is required");
        let named = || Details { dns_names: vec!["n".into()], ..node() };
        assert_eq!(check(KUBELET_SERVING, &named(), &usages), Ok(()));
        assert_eq!(
            check(KUBELET_SERVING, &Details { ip_addresses: vec![vec![0; 4]], ..node() }, &usages),
            Ok(())
        );
        assert_eq!(
            refusal(KUBELET_SERVING, &named(), &["client auth"]),
            "usages did not match [digital signature key encipherment server auth]"
        );
        let uri = Details { uris: vec!["a".into()], ..named() };
        assert_eq!(refusal(KUBELET_SERVING, &uri, &usages), "URI subjectAltNames are not allowed");
    }

    #[test]
    fn other_signers_look_at_usages_or_at_nothing() {
        let any = Details::default();
        assert_eq!(check(CLIENT, &any, &["client auth", "digital signature"]), Ok(()));
        assert_eq!(
            refusal(CLIENT, &any, &["client auth", "server auth"]),
            "invalid usage for client certificate: server auth"
        );
        assert_eq!(
            refusal(CLIENT, &any, &["key encipherment"]),
            "missing required usage for client certificate: client auth"
        );
        assert_eq!(check(LEGACY, &any, &["cert sign"]), Ok(()));
    }

    #[test]
    fn a_request_may_ask_for_a_shorter_life() {
        let hour = Duration::from_secs(3600);
        assert_eq!(lifetime(None, hour), hour);
        assert_eq!(lifetime(Some(1800), hour), hour / 2);
        assert_eq!(lifetime(Some(7200), hour), hour);
        assert_eq!([lifetime(Some(1), hour), lifetime(Some(-1), hour)], [SHORTEST; 2]);
    }
}
