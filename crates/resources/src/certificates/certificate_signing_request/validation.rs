//! Validation of a signing request's spec: the request itself, its usages and its signer.

use std::collections::BTreeSet;

use pintle_auth::certificate_request;
use pintle_meta::Value;
use pintle_meta::field_path::{self, Error, MOST_ERRORS, Path};
use pintle_meta::validation::{dns1123_label, dns1123_subdomain};

/// Sorted, as they are told.
const USAGES: [&str; 23] = [
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
const LONGEST_DOMAIN: usize = 253;
/// A domain, and below it a label and a subdomain.
const LONGEST_SIGNER: usize = LONGEST_DOMAIN + 1 + (253 + 63 + 1);

/// Validates a request that is created, or changed through any subresource. Usages and signers that were stored so before may
/// stay so.
pub(in crate::certificates) fn validate(request: &Value, old: Option<&Value>) -> Vec<Error> {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    let content = request.at(&["spec", "request"]).and_then(Value::as_bytes).unwrap_or_default();
    if let Err(wrong) = certificate_request::check(content) {
        errors.push(Error::invalid(&path.child("request"), shown(content), wrong.to_string()));
    }
    errors.extend(usages(request, old, &path.child("usages")));
    let signer_of = |request: &Value| request.text_at(&["spec", "signerName"]).to_owned();
    let signer = signer_of(request);
    let may_be_legacy = old.is_some_and(|old| signer_of(old) == LEGACY_SIGNER);
    if signer == LEGACY_SIGNER && !may_be_legacy {
        let wrong = "the legacy signerName is not allowed via this API version";
        errors.push(Error::invalid(&path.child("signerName"), &signer, wrong));
    } else {
        errors.extend(signer_name(&signer, &path.child("signerName")));
    }
    let seconds = request.at(&["spec", "expirationSeconds"]).and_then(Value::as_i64);
    if let Some(seconds) = seconds.filter(|seconds| *seconds < 600) {
        let wrong = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.push(Error::invalid(&path.child("expirationSeconds"), seconds, wrong));
    }
    errors
}

/// Bytes as Go writes them in JSON: nothing is null.
fn shown(content: &[u8]) -> field_path::Value {
    if content.is_empty() {
        return field_path::Value::null();
    }
    let mut text = Vec::new();
    pintle_codec::json::write::base64(content, &mut text);
    field_path::Value::Printed(String::from_utf8_lossy(&text).into_owned())
}

fn usages(request: &Value, old: Option<&Value>, path: &Path<'_>) -> Vec<Error> {
    let of = |request: &Value| -> Vec<String> {
        let usages = request.items_at(&["spec", "usages"]).iter();
        usages.map(|usage| usage.as_str().unwrap_or_default().to_owned()).collect()
    };
    let (usages, before) = (of(request), old.map(of).unwrap_or_default());
    if usages.is_empty() {
        return vec![Error::required(path, "")];
    }
    let is_unknown = |usage: &&String| !USAGES.contains(&usage.as_str());
    let may_be_unknown = before.iter().any(|usage| is_unknown(&usage));
    let may_repeat = before.iter().collect::<BTreeSet<_>>().len() < before.len();
    let mut errors = Vec::new();
    if !may_be_unknown {
        for (index, usage) in
            usages.iter().enumerate().filter(|(_, usage)| is_unknown(usage)).take(MOST_ERRORS)
        {
            errors.push(Error::not_supported(&path.index(index), usage, &USAGES));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, usage) in usages.iter().enumerate() {
        if !seen.insert(usage) && !may_repeat && errors.len() < MOST_ERRORS {
            errors.push(Error::duplicate(&path.index(index), field_path::Value::json(usage)));
        }
    }
    errors
}

/// `example.com/signer-name`: a domain, and a name below it.
fn signer_name(name: &str, path: &Path<'_>) -> Vec<Error> {
    if name.is_empty() {
        return vec![Error::required(path, "")];
    }
    let Some((domain, own)) = name.split_once('/').filter(|(_, own)| !own.contains('/')) else {
        let wrong = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return vec![Error::invalid(path, name, wrong)];
    };
    let mut errors = Vec::new();
    if domain.len() > LONGEST_DOMAIN {
        errors.push(Error::too_long(path, Some(LONGEST_DOMAIN)));
    }
    // One label that is wrong is enough: others would say the same.
    let first_wrong = |text: &str, check: fn(&str) -> Vec<String>| {
        let wrong = text.split('.').map(|label| (label, check(label))).find(|(_, wrong)| !wrong.is_empty());
        let of_label = |(label, wrong): (&str, Vec<String>)| {
            let told =
                wrong.iter().map(|why| format!("validating label {}: {why}", pintle_meta::quote(label)));
            told.map(|why| Error::invalid(path, text, why)).collect::<Vec<_>>()
        };
        wrong.map(of_label).unwrap_or_default()
    };
    errors.extend(first_wrong(domain, dns1123_label));
    if !domain.contains('.') {
        let wrong = "should be a domain with at least two segments separated by dots";
        errors.push(Error::invalid(path, domain, wrong));
    }
    errors.extend(first_wrong(own, dns1123_subdomain));
    if name.len() > LONGEST_SIGNER {
        errors.push(Error::too_long(path, Some(LONGEST_SIGNER)));
    }
    errors
}
