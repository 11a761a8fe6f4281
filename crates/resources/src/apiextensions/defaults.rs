//! Defaults of CustomResourceDefinitions.

use pintle_meta::Value;

use crate::defaults::Fill::Int;
use crate::defaults::{Place, Rule};

pub(crate) const RULES: &[Rule] = &[
    Rule::code(&["apiextensions/v1.CustomResourceDefinition"], |definition| {
        definition.within("spec", |spec| {
            names(spec);
            conversion(spec);
        });
        stored_versions(definition);
    }),
    Rule::code(&["apiextensions/v1beta1.CustomResourceDefinition"], |definition| {
        definition.within("spec", |spec| {
            spec.default("scope", "Namespaced");
            names(spec);
            versions(spec);
            conversion(spec);
            spec.within("conversion", |conversion| {
                if conversion.text("strategy") == "Webhook"
                    && conversion.items("conversionReviewVersions").is_empty()
                {
                    conversion.set("conversionReviewVersions", vec![Value::literal("v1beta1")]);
                }
            });
            spec.default("preserveUnknownFields", true);
        });
        stored_versions(definition);
    }),
    Rule::table(
        &["apiextensions/v1.ServiceReference", "apiextensions/v1beta1.ServiceReference"],
        &[("port", Int(443))],
    ),
];

fn names(spec: &mut Place<'_>) {
    spec.within("names", |names| {
        if names.unset("singular") {
            // One character for one, as Go has it.
            let singular: String =
                names.text("kind").chars().filter_map(|letter| letter.to_lowercase().next()).collect();
            names.set("singular", singular);
        }
        if names.unset("listKind") && !names.text("kind").is_empty() {
            let list = format!("{}List", names.text("kind"));
            names.set("listKind", list);
        }
    });
}

/// The first version of the kind had a single version of the resource, which is the first of several.
fn versions(spec: &mut Place<'_>) {
    if spec.items("versions").is_empty() && !spec.text("version").is_empty() {
        let name = Value::string(spec.text("version"));
        let fields = [("name", name), ("served", true.into()), ("storage", true.into())];
        let version = spec.build("versions", fields);
        spec.set("versions", vec![version]);
    }
    if spec.unset("version")
        && let Some(first) = spec.items("versions").first()
    {
        let name = Value::string(first.text_at(&["name"]));
        spec.set("version", name);
    }
}

fn conversion(spec: &mut Place<'_>) {
    if spec.unset("conversion") {
        spec.make("conversion", |conversion| conversion.set("strategy", "None"));
    }
}

/// What is stored first is what is stored at all.
fn stored_versions(definition: &mut Place<'_>) {
    let versions = definition.get("spec").map(|spec| spec.items_at(&["versions"])).unwrap_or_default();
    let stored =
        versions.iter().find(|version| version.get("storage").and_then(Value::as_bool) == Some(true));
    let Some(name) = stored.map(|version| Value::string(version.text_at(&["name"]))) else { return };
    definition.within("status", |status| {
        if status.items("storedVersions").is_empty() {
            status.set("storedVersions", vec![name.clone()]);
        }
    });
}
