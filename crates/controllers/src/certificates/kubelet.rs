//! The rules of kubelets' certificates.

use std::collections::BTreeSet;

use pintle_auth::certificate_request::Details;

const NODES: &str = "system:nodes";
const NODE_PREFIX: &str = "system:node:";

/// Checks a request for the certificate that a kubelet serves. The error is the message of its condition.
pub(super) fn check_serving(details: &Details, usages: &[&str]) -> Result<(), String> {
    check_organization(details)?;
    if details.dns_names.is_empty() && details.ip_addresses.is_empty() {
        return Err("DNS or IP subjectAltName is required".into());
    }
    refuse(&details.email_addresses, "Email")?;
    refuse(&details.uris, "URI")?;
    check_usages(usages, "server auth")?;
    check_name(details)
}

/// Checks a request for the certificate by which a kubelet is a client.
pub(super) fn check_client(details: &Details, usages: &[&str]) -> Result<(), String> {
    check_organization(details)?;
    refuse(&details.dns_names, "DNS")?;
    refuse(&details.email_addresses, "Email")?;
    refuse(&details.ip_addresses, "IP")?;
    refuse(&details.uris, "URI")?;
    check_name(details)?;
    check_usages(usages, "client auth")
}

fn check_organization(details: &Details) -> Result<(), String> {
    match &details.subject.organizations[..] {
        [only] if only == NODES => Ok(()),
        _ => Err("subject organization is not system:nodes".into()),
    }
}

fn check_name(details: &Details) -> Result<(), String> {
    match details.subject.common_name.starts_with(NODE_PREFIX) {
        true => Ok(()),
        false => Err("subject common name does not begin with system:node:".into()),
    }
}

fn refuse<T>(names: &[T], kind: &str) -> Result<(), String> {
    if names.is_empty() { Ok(()) } else { Err(format!("{kind} subjectAltNames are not allowed")) }
}

/// Keys that are not of RSA encipher nothing.
fn check_usages(usages: &[&str], own: &str) -> Result<(), String> {
    let mut required = BTreeSet::from(["digital signature", "key encipherment", own]);
    let found: BTreeSet<&str> = usages.iter().copied().collect();
    let with_rsa: Vec<&str> = required.iter().copied().collect();
    let message = format!("usages did not match [{}]", with_rsa.join(" "));
    if found == required {
        return Ok(());
    }
    required.remove("key encipherment");
    if found == required { Ok(()) } else { Err(message) }
}
