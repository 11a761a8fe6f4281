//! Decodes static manifests of admission plugins: the kinds of their API group, with the validation of the API.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use pintle_admission::{Manifest, ManifestDecoder};
use pintle_codec::negotiate::Encoding;
use pintle_codec::{json, kind, yaml};
use pintle_features::Feature;
use pintle_meta::field_path::aggregate;
use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::{Value, quote};
use pintle_registry::{Context, Served, Strategy};
use pintle_resources::strategy::{self, Settings};
use pintle_schema::find_kind;

use crate::stores::Stores;

const GROUP: &str = "admissionregistration.k8s.io";

/// The resources whose objects may be files.
const RESOURCES: [&str; 6] = [
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
];

/// Decodes and validates manifests.
pub(crate) struct Manifests {
    kinds: HashMap<String, Kind>,
}

/// Version v1 of a kind.
struct Kind {
    served: Arc<dyn Served>,
    rules: Arc<dyn Strategy>,
}

impl Manifests {
    pub(crate) fn new(stores: &Stores, settings: &Settings) -> Manifests {
        let mut settings = settings.clone();
        // With the feature, the API refuses the names that manifests must have.
        settings.features = settings.features.with(Feature::ManifestBasedAdmissionControlConfig, false);
        let kind = |name: &str| {
            let served = stores.served(GROUP, "v1", name)?;
            let rules = strategy::of(GROUP, name, &settings)?;
            Some((served.kind().kind.clone(), Kind { served, rules }))
        };
        Manifests { kinds: RESOURCES.into_iter().filter_map(kind).collect() }
    }
}

impl ManifestDecoder for Manifests {
    fn decode(&self, document: &[u8], scheme: &str) -> Result<Manifest, String> {
        let encoding = if document.starts_with(b"{") { Encoding::Json } else { Encoding::Yaml };
        let (text, mut strict) = match encoding {
            Encoding::Json => (document.to_vec(), Vec::new()),
            _ => yaml::to_json_strict(document).map_err(|error| error.to_string())?,
        };
        let kind = kind::of_json(&text).map_err(|error| error.to_string())?;
        check_kind(&kind, document, scheme)?;
        let manifest = if kind.kind == "List" {
            let (items, unknown) = items(&text)?;
            strict.extend(unknown);
            Manifest::List(items)
        } else {
            let typed = kind::decode(encoding, document, None).map_err(|error| error.to_string())?;
            strict = typed.decoded.strict;
            Manifest::Object { kind: typed.kind, object: typed.decoded.value }
        };
        if strict.is_empty() { Ok(manifest) } else { Err(kind::strict_error(&strict).to_string()) }
    }

    fn complete(&self, kind: &str, object: Value) -> Result<Value, String> {
        let Kind { served, rules } =
            self.kinds.get(kind).ok_or_else(|| format!("{} is not served", quote(kind)))?;
        let stored = served.to_stored(object)?;
        let errors = rules.validate(&Context::default(), &stored);
        if errors.is_empty() { Ok(stored) } else { Err(aggregate(&errors)) }
    }
}

/// Checks that a document is of a kind that the reference's decoder knows.
fn check_kind(kind: &GroupVersionKind, document: &[u8], scheme: &str) -> Result<(), String> {
    let missing = |what: &str| {
        let document = String::from_utf8_lossy(document);
        Err(format!("Object '{what}' is missing in '{document}'"))
    };
    if kind.kind.is_empty() {
        return missing("Kind");
    }
    if kind.version.is_empty() {
        return missing("apiVersion");
    }
    // A list is known by its kind alone.
    let is_known = kind.kind == "List"
        || kind.group == GROUP && find_kind(&kind.group, &kind.version, &kind.kind).is_some();
    if is_known {
        return Ok(());
    }
    let (name, version) = (quote(&kind.kind), quote(&kind.api_version()));
    Err(format!("no kind {name} is registered for version {version} in scheme {}", quote(scheme)))
}

/// Returns the JSON of the items of a `List`, and its unknown fields.
fn items(text: &[u8]) -> Result<(Vec<Bytes>, Vec<String>), String> {
    let opened = json::open(text).map_err(|error| error.to_string())?;
    let Some(list) = opened.as_object() else { return Ok((Vec::new(), Vec::new())) };
    let is_unknown = |field: &str| !matches!(field, "apiVersion" | "kind" | "metadata" | "items");
    let unknown = list.iter().map(|(field, _)| field).filter(|field| is_unknown(field));
    let unknown = unknown.map(|field| format!("unknown field {}", quote(field))).collect();
    let Some(raw) = opened.get("items").and_then(Value::as_raw) else { return Ok((Vec::new(), unknown)) };
    let items = json::open(raw).map_err(|error| error.to_string())?;
    let Some(items) = items.as_list() else {
        return Err(
            "json: cannot unmarshal object into Go struct field List.items of type []runtime.RawExtension"
                .to_owned(),
        );
    };
    let item = |item: &Value| Bytes::copy_from_slice(item.as_raw().unwrap_or_default());
    Ok((items.iter().map(item).collect(), unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_opened_strictly() {
        let opened = |text: &str| {
            let (items, unknown) = items(text.as_bytes())?;
            let items = items.iter().map(|item| String::from_utf8_lossy(item).into_owned()).collect();
            Ok::<(Vec<String>, Vec<String>), String>((items, unknown))
        };
        let list = r#"{"kind":"List","apiVersion":"v1","metadata":{},"items":[{"kind": "A"},null]}"#;
        assert_eq!(opened(list), Ok((vec![r#"{"kind": "A"}"#.to_owned(), String::new()], Vec::new())));
        assert_eq!(opened(r#"{"kind":"List"}"#), Ok((Vec::new(), Vec::new())));
        let unknown = opened(r#"{"kind":"List","item":[]}"#);
        assert_eq!(unknown, Ok((Vec::new(), vec!["unknown field \"item\"".to_owned()])));
        assert!(opened(r#"{"kind":"List","items":{}}"#).is_err());
    }

    #[test]
    fn only_kinds_of_the_group_and_lists_are_known() {
        let check = |version: &str, kind: &str| {
            let kind = GroupVersionKind::from_api_version(version, kind);
            check_kind(&kind, b"text", "loader.go:1").err()
        };
        for (version, kind) in [
            ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
            ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfigurationList"),
            ("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicy"),
            ("v1", "List"),
        ] {
            assert_eq!(check(version, kind), None, "{version} {kind}");
        }
        let unknown = "no kind \"Pod\" is registered for version \"v1\" in scheme \"loader.go:1\"";
        assert_eq!(check("v1", "Pod").as_deref(), Some(unknown));
        assert_eq!(check("v1", "").as_deref(), Some("Object 'Kind' is missing in 'text'"));
        assert_eq!(check("", "List").as_deref(), Some("Object 'apiVersion' is missing in 'text'"));
    }
}
