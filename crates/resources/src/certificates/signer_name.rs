//! Names of signers: `example.com/signer-name`.

use pintle_meta::validation::{dns1123_label, dns1123_subdomain};

use crate::framework::validation::Cursor;

const MAX_DOMAIN: usize = 253;
/// A domain, and below it a label and a subdomain.
const MAX_LENGTH: usize = MAX_DOMAIN + 1 + (253 + 63 + 1);

/// Whether a signer is one of Kubernetes'.
pub(super) fn is_kubernetes(name: &str) -> bool {
    let domain = name.split('/').next().unwrap_or_default();
    domain == "kubernetes.io" || domain.ends_with(".kubernetes.io")
}

/// Checks the name of a signer: a domain, and a name below it.
pub(super) fn check(signer: &Cursor<'_, '_>) {
    let name = signer.text();
    if name.is_empty() {
        return signer.required("");
    }
    let Some((domain, own)) = name.split_once('/').filter(|(_, own)| !own.contains('/')) else {
        return signer.invalid(
            name,
            "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        );
    };
    if domain.len() > MAX_DOMAIN {
        signer.too_long(MAX_DOMAIN);
    }
    check_labels(signer, domain, dns1123_label);
    if !domain.contains('.') {
        signer.invalid(domain, "should be a domain with at least two segments separated by dots");
    }
    check_labels(signer, own, dns1123_subdomain);
    if name.len() > MAX_LENGTH {
        signer.too_long(MAX_LENGTH);
    }
}

/// Reports the first label that is wrong; others would lead to the same errors.
fn check_labels(signer: &Cursor<'_, '_>, text: &str, format: fn(&str) -> Vec<String>) {
    let wrong = text.split('.').map(|label| (label, format(label))).find(|(_, wrong)| !wrong.is_empty());
    for (label, why) in wrong.iter().flat_map(|(label, wrong)| wrong.iter().map(move |why| (label, why))) {
        signer.invalid(text, format!("validating label {}: {why}", pintle_meta::quote(label)));
    }
}
