//! Validation of a signing request: the request itself, its usages and its signer, and then its status.

use std::collections::HashSet;

use pintle_auth::certificate_request;
use pintle_meta::field_path::Value as Printed;

use super::conditions;
use crate::core::signer_names;
use crate::framework::validation::Cursor;

/// Sorted, as errors list them.
const USAGES: &[&str] = &[
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];
const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
const MIN_SECONDS: i64 = 600;

/// Validates a request that is created, or changed through any subresource. Values that were stored so before may stay so.
pub(super) fn validate(request: &Cursor<'_, '_>) {
    let spec = request.field("spec");
    let content = spec.field("request");
    if let Err(wrong) = certificate_request::check(content.value().as_bytes().unwrap_or_default()) {
        content.invalid(content.printed_as("[]byte"), wrong.to_string());
    }
    usages(&spec.field("usages"));
    let signer = spec.field("signerName");
    if signer.text() == LEGACY_SIGNER && signer.before().text() != LEGACY_SIGNER {
        signer.invalid(signer.text(), "the legacy signerName is not allowed via this API version");
    } else {
        signer_names::check(&signer);
    }
    let seconds = spec.field("expirationSeconds");
    if seconds.optional_integer().is_some_and(|seconds| seconds < MIN_SECONDS) {
        let why = "may not specify a duration less than 600 seconds (10 minutes)";
        seconds.invalid(seconds.integer(), why);
    }
    conditions::validate(&request.at(&["status", "conditions"]));
    certificate(&request.at(&["status", "certificate"]));
}

fn usages(usages: &Cursor<'_, '_>) {
    if usages.is_empty() {
        usages.required("");
    }
    let before = usages.before().texts();
    if before.iter().all(|usage| USAGES.contains(usage)) {
        usages.each(|usage| usage.one_of(USAGES));
    }
    let repeats = |usages: &[&str]| usages.iter().collect::<HashSet<_>>().len() < usages.len();
    if repeats(&before) {
        return;
    }
    let mut seen = HashSet::new();
    for usage in usages.items() {
        if !seen.insert(usage.text()) {
            usage.duplicate(Printed::json(usage.text()));
        }
    }
}

/// Checks a certificate that was set. A stored one that is invalid may be replaced by another invalid one.
fn certificate(certificate: &Cursor<'_, '_>) {
    let wrong = |content: &Cursor<'_, '_>| {
        certificate_request::check_certificates(content.value().as_bytes().unwrap_or_default()).err()
    };
    if !certificate.changed() || certificate.is_update() && wrong(&certificate.before()).is_some() {
        return;
    }
    if let Some(why) = wrong(certificate) {
        certificate.invalid("<certificate data>", why);
    }
}
