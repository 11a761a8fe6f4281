//! Versions of custom resource definitions, which are stored as `v1beta1`: there, what all versions of a custom resource have in
//! common is said once.

use pintle_codec::json;
use pintle_meta::Value;
use pintle_meta::value::Key;
use pintle_schema::find;

use crate::framework::conversion::{Error, Fields, Fix, Pair, build, by_name, round_trip};

const STORED_VERSION: &str = "apiextensions/v1beta1.CustomResourceDefinitionVersion";
const STORED_COLUMN: &str = "apiextensions/v1beta1.CustomResourceColumnDefinition";
const STORED_CLIENT: &str = "apiextensions/v1beta1.WebhookClientConfig";
const COLUMN: &str = "apiextensions/v1.CustomResourceColumnDefinition";
const CLIENT: &str = "apiextensions/v1.WebhookClientConfig";
const WEBHOOK: &str = "apiextensions/v1.WebhookConversion";

pub(crate) const PAIRS: &[Pair] = &[
    Pair::new(
        "apiextensions/v1.CustomResourceDefinitionSpec",
        "apiextensions/v1beta1.CustomResourceDefinitionSpec",
    )
    .inward(spec_inward)
    .outward(spec_outward),
    Pair::new("apiextensions/v1.CustomResourceConversion", "apiextensions/v1beta1.CustomResourceConversion")
        .inward(conversion_inward)
        .outward(conversion_outward),
    Pair::new(COLUMN, STORED_COLUMN).renamed(&[("jsonPath", "JSONPath")]),
];

pub(crate) const FIXES: &[Fix] = &[
    Fix::new("apiextensions/v1beta1.JSONSchemaProps").change(schema),
    Fix::new("apiextensions/v1beta1.ServiceReference").filled(&["port"]),
];

/// What may be said once: in the definition, and in each version.
const COMMON: &[(&str, &str)] = &[
    ("subresources", "subresources"),
    ("validation", "schema"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
];

fn spec_inward(_: &Value, out: &mut Fields) -> Result<(), Error> {
    let mut versions = out.get("versions").and_then(Value::as_list).unwrap_or_default().to_vec();
    let Some(first) = versions.first() else { return Ok(()) };
    out.set("version", first.text_at(&["name"]));
    // Schemas are compared by what their JSON means.
    if let Some(of) = find(STORED_VERSION) {
        for version in &mut versions {
            round_trip(of, version)?;
        }
    }
    for (once, each) in COMMON {
        let first = versions[0].get(each).cloned();
        if versions.iter().all(|version| version.get(each) == first.as_ref()) {
            out.copy(once, first.as_ref());
            for version in versions.iter_mut().filter(|version| version.get(each).is_some()) {
                if let Some(version) = version.as_object_mut() {
                    version.remove(each);
                }
            }
        }
    }
    out.set("versions", versions);
    Ok(())
}

fn spec_outward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let mut versions = out.get("versions").and_then(Value::as_list).unwrap_or_default().to_vec();
    let name = value.text_at(&["version"]);
    if versions.is_empty() && !name.is_empty() {
        versions.push(only_version(name));
    }
    for (once, each) in COMMON {
        let Some(common) = value.get(once) else { continue };
        let common = if *once == "additionalPrinterColumns" { columns(common)? } else { common.clone() };
        for version in versions.iter_mut().filter_map(Value::as_object_mut) {
            version.insert(Key::new_static(each), common.clone());
        }
    }
    if !versions.is_empty() {
        out.set("versions", versions);
    }
    Ok(())
}

fn columns(stored: &Value) -> Result<Value, Error> {
    let columns = stored.as_list().unwrap_or_default().iter();
    Ok(columns.map(|column| by_name(STORED_COLUMN, COLUMN, column)).collect::<Result<Vec<_>, _>>()?.into())
}

/// The oldest definitions name their version and say nothing more of it.
fn only_version(name: &str) -> Value {
    let fields = [("name", Some(name.into())), ("served", Some(true.into())), ("storage", Some(true.into()))];
    build("apiextensions/v1.CustomResourceDefinitionVersion", fields)
}

fn conversion_inward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    if let Some(webhook) = value.get("webhook") {
        out.copy("conversionReviewVersions", webhook.get("conversionReviewVersions"));
        if let Some(client) = webhook.get("clientConfig") {
            out.set("webhookClientConfig", by_name(CLIENT, STORED_CLIENT, client)?);
        }
    }
    Ok(())
}

fn conversion_outward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let (client, versions) = (value.get("webhookClientConfig"), value.get("conversionReviewVersions"));
    if client.is_some() || versions.is_some() {
        let client = client.map(|client| by_name(STORED_CLIENT, CLIENT, client)).transpose()?;
        let fields = [("conversionReviewVersions", versions.cloned()), ("clientConfig", client)];
        out.set("webhook", build(WEBHOOK, fields));
    }
    Ok(())
}

/// JSON in a schema is read and written again; a null is no default and no example.
fn schema(value: &Value) -> Result<Option<Value>, Error> {
    let mut changed: Option<Value> = None;
    for field in ["default", "example"] {
        let Some(found) = value.get(field) else { continue };
        let new = rewritten(found)?;
        let Some(new) = new.or_else(|| found.is_null().then_some(Value::NULL)) else { continue };
        let Some(schema) = changed.get_or_insert_with(|| value.clone()).as_object_mut() else { continue };
        if new.is_null() {
            schema.remove(field);
        } else {
            schema.insert(Key::new_static(field), new);
        }
    }
    let choices = value.items_at(&["enum"]);
    let mut new: Option<Vec<Value>> = None;
    for (place, choice) in choices.iter().enumerate() {
        if let Some(rewritten) = rewritten(choice)? {
            new.get_or_insert_with(|| choices.to_vec())[place] = rewritten;
        }
    }
    if let Some(new) = new
        && let Some(schema) = changed.get_or_insert_with(|| value.clone()).as_object_mut()
    {
        schema.insert(Key::new_static("enum"), new);
    }
    Ok(changed)
}

/// The JSON as the reference writes it, if it was written otherwise.
fn rewritten(value: &Value) -> Result<Option<Value>, Error> {
    let Some(raw) = value.as_raw() else { return Ok(None) };
    if raw.is_empty() || raw == b"null" {
        return Ok(Some(Value::NULL));
    }
    let decoded = json::decode_any(raw).map_err(|error| Error::Invalid(error.to_string()))?;
    if decoded.value.is_null() {
        return Ok(Some(Value::NULL));
    }
    let mut written = Vec::with_capacity(raw.len());
    json::encode(&decoded.value, &mut written);
    Ok((written != raw).then(|| Value::raw(written)))
}
