//! Webhook configurations that are files.

use pintle_meta::{Value, quote};

use super::Type;
use crate::manifests::ManifestRules;

const SCHEME: &str = "pkg/admission/plugin/webhook/manifest/loader/loader.go:41";

static MUTATING: ManifestRules = ManifestRules {
    plugin: "MutatingAdmissionWebhook",
    kinds: &["MutatingWebhookConfiguration"],
    scheme: SCHEME,
    check: check_clients,
    check_all: |_| Ok(()),
};

static VALIDATING: ManifestRules = ManifestRules {
    plugin: "ValidatingAdmissionWebhook",
    kinds: &["ValidatingWebhookConfiguration"],
    ..MUTATING
};

/// Returns the rules for the manifests of a plugin, which has objects of one kind.
pub(super) fn rules(of: Type) -> &'static ManifestRules {
    match of {
        Type::Mutating => &MUTATING,
        Type::Validating => &VALIDATING,
    }
}

/// Refuses webhooks that are services: they are found through the API, which manifests do not depend on.
fn check_clients(_: &str, configuration: &Value, path: &str) -> Result<(), String> {
    for webhook in configuration.items_at(&["webhooks"]) {
        let wrong = |why: &str| {
            let (webhook, configuration) = (quote(webhook.text_at(&["name"])), quote(configuration.name()));
            let file = quote(path);
            Err(format!(
                "webhook {webhook} in {configuration} (file {file}): clientConfig.{why} for static manifests"
            ))
        };
        if webhook.at(&["clientConfig", "service"]).is_some() {
            return wrong("service is not supported")
                .map_err(|why| format!("{why}; use clientConfig.url instead"));
        }
        if webhook.text_at(&["clientConfig", "url"]).is_empty() {
            return wrong("url is required");
        }
    }
    Ok(())
}
