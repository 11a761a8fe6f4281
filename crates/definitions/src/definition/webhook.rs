//! Where a webhook is: a URL or a service, and whose certificates it has.

use pintle_cel::Url;
use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::{dns1123_subdomain, port_number};
use pintle_schema::go;
use x509_parser::pem::Pem;

use super::errors::Errors;

/// Checks the URL of a webhook.
pub fn url(text: &str, path: &Path<'_>) -> Vec<Error> {
    const FORM: &str = "; desired format: https://host[/path]";
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(why) => {
            return vec![Error::required(path, format!("url must be a valid URL: {why}{FORM}"))];
        }
    };
    let mut errors = Vec::new();
    if url.scheme() != "https" {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        errors.push(Error::invalid(path, url.scheme(), why));
    }
    if url.host().is_empty() {
        errors.push(Error::invalid(path, url.host(), format!("host must be specified{FORM}")));
    }
    if let Some(user) = url.user() {
        errors.push(Error::invalid(path, user, "user information is not permitted in the URL"));
    }
    if !url.fragment().is_empty() {
        errors.push(Error::invalid(path, url.fragment(), "fragments are not permitted in the URL"));
    }
    if !url.query_text().is_empty() {
        errors.push(Error::invalid(path, url.query_text(), "query parameters are not permitted in the URL"));
    }
    errors
}

/// Checks the service of a webhook. One without a name lacks a namespace, says the reference, and the other way around.
pub fn service(service: &Value, path: &Path<'_>) -> Vec<Error> {
    let mut errors = Errors::default();
    for (field, shown) in [("namespace", "name"), ("name", "namespace")] {
        if service.text_at(&[field]).is_empty() {
            errors.push(Error::required(&path.child(shown), ""));
        }
    }
    let port = service.get("port").and_then(Value::as_i64).unwrap_or_default();
    let wrong = port_number(port);
    if !wrong.is_empty() {
        let why = format!("port is not valid: {}", wrong.join(", "));
        errors.push(Error::invalid(&path.child("port"), port, why));
    }
    if let Some(text) = service.get("path").and_then(Value::as_str) {
        url_path(text, &path.child("path"), &mut errors);
    }
    errors.into_vec()
}

fn url_path(text: &str, path: &Path<'_>, errors: &mut Errors) {
    match text {
        "" | "/" => return,
        "//" => return errors.push(Error::invalid(path, text, "segment[0] may not be empty")),
        _ => {}
    }
    let mut characters = text.chars();
    if characters.next() != Some('/') {
        errors.push(Error::invalid(path, text, "must start with a '/'"));
    }
    let rest = characters.as_str();
    for (index, step) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if errors.is_full() {
            return;
        }
        if step.is_empty() {
            errors.push(Error::invalid(path, text, format!("segment[{index}] may not be empty")));
            continue;
        }
        let wrong = dns1123_subdomain(step);
        errors.extend(wrong.iter().map(|why| Error::invalid(path, text, format!("segment[{index}]: {why}"))));
    }
}

/// The certificates of a client's configuration, where there are some.
fn ca_bundle_of(client: &Value) -> Option<&[u8]> {
    client.get("caBundle").and_then(Value::as_bytes).filter(|bundle| !bundle.is_empty())
}

pub(super) fn ca_bundle(client: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(why) = ca_bundle_of(client).and_then(wrong_with_bundle) else { return };
    let shown = go::printed("[]byte", client.get("caBundle").unwrap_or(&Value::NULL));
    errors.push(Error::invalid(path, shown, format!("unable to load root certificates: {why}")));
}

pub(super) fn has_invalid_ca_bundle(spec: &Value) -> bool {
    let client = spec.at(&["conversion", "webhookClientConfig"]);
    client.and_then(ca_bundle_of).is_some_and(|bundle| wrong_with_bundle(bundle).is_some())
}

/// One certificate that can be read is enough.
fn wrong_with_bundle(bundle: &[u8]) -> Option<&'static str> {
    const NO_BLOCK: &str = "unable to parse bytes as PEM block";
    let mut first = None;
    let mut is_some = false;
    for block in Pem::iter_from_buffer(bundle) {
        is_some = true;
        match block {
            Ok(block) if block.label != "CERTIFICATE" => {}
            Ok(block) if block.parse_x509().is_ok() => return None,
            Ok(_) => {
                first.get_or_insert("failed to parse certificate: x509: malformed certificate");
            }
            Err(_) => {
                first.get_or_insert(NO_BLOCK);
                break;
            }
        }
    }
    Some(first.unwrap_or(if is_some { "no valid certificate authority data seen" } else { NO_BLOCK }))
}
