//! How objects get from one version to another.

use std::collections::HashSet;

use pintle_meta::Value;
use pintle_meta::field_path::{self, Error, Path};
use pintle_meta::validation::dns1035_label;
use pintle_schema::go;

use super::errors::Errors;
use super::options::Options;
use super::{text_of_choices, webhook};

/// The reviews that a server of the version before understood.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

fn is_recognized(version: &Value) -> bool {
    version.as_str().is_some_and(|version| REVIEW_VERSIONS.contains(&version))
}

/// Whether a spec names a version of reviews that the server sends, or none.
pub(super) fn recognizes_review_version(spec: &Value) -> bool {
    let versions = spec.items_at(&["conversion", "conversionReviewVersions"]);
    versions.is_empty() || versions.iter().any(is_recognized)
}

pub(super) fn validate(spec: &Value, options: &Options<'_>, path: &Path<'_>, errors: &mut Errors) {
    let Some(conversion) = spec.get("conversion").filter(|conversion| !conversion.is_null()) else { return };
    let path = path.child("conversion");
    let strategy = conversion.text_at(&["strategy"]);
    let preserves = spec.get("preserveUnknownFields").and_then(Value::as_bool) != Some(false);
    if strategy != "None" && preserves {
        let why = "must be None if spec.preserveUnknownFields is true";
        errors.push(Error::invalid(&path.child("strategy"), field_path::Value::json(strategy), why));
    }
    text_of_choices(strategy, &["None", "Webhook"], &path.child("strategy"), errors);
    let client = conversion.get("webhookClientConfig").filter(|client| !client.is_null());
    let client_path = path.child("webhookClientConfig");
    let versions = conversion.items_at(&["conversionReviewVersions"]);
    let versions_path = path.child("conversionReviewVersions");
    if strategy != "Webhook" {
        let why = "should not be set when strategy is not set to Webhook";
        if client.is_some() {
            errors.push(Error::forbidden(&client_path, why));
        }
        if !versions.is_empty() {
            errors.push(Error::forbidden(&versions_path, why));
        }
        return;
    }
    match client {
        None => errors.push(Error::required(&client_path, "required when strategy is set to Webhook")),
        Some(client) => {
            let url = client.get("url").and_then(Value::as_str);
            let service = client.get("service").filter(|service| !service.is_null());
            match (url, service) {
                (Some(url), None) => errors.extend(webhook::url(url, &client_path.child("url"))),
                (None, Some(service)) => {
                    errors.extend(webhook::service(service, &client_path.child("service")));
                }
                _ => {
                    let why = "exactly one of url or service is required";
                    errors.push(Error::required(&client_path, why));
                }
            }
            if !options.allow_invalid_ca_bundle {
                webhook::ca_bundle(client, &client_path.child("caBundle"), errors);
            }
        }
    }
    review_versions(versions, options.recognized_review_version, &versions_path, errors);
}

fn review_versions(versions: &[Value], recognized: bool, path: &Path<'_>, errors: &mut Errors) {
    if versions.is_empty() {
        return errors.push(Error::required(path, ""));
    }
    let mut seen = HashSet::new();
    for (index, version) in versions.iter().enumerate() {
        if errors.is_full() {
            return;
        }
        let version = version.as_str().unwrap_or_default();
        let path = path.index(index);
        if seen.insert(version) {
            errors.extend(dns1035_label(version).iter().map(|why| Error::invalid(&path, version, why)));
        } else {
            errors.push(Error::invalid(&path, version, "duplicate version"));
        }
    }
    if recognized && !versions.iter().any(is_recognized) {
        let shown = go::printed("[]string", &Value::list(versions.to_vec()));
        let why = format!("must include at least one of {}", REVIEW_VERSIONS.join(", "));
        errors.push(Error::invalid(path, shown, why));
    }
}
