//! Parts of objects whose fields depend on each other so that few random ones are valid.

use serde_json::{Map, Value as Json, json};

use crate::author::Author;

/// How deep schemas of custom resources are nested.
const DEEPEST: usize = 4;

/// Returns the whole value of some structs.
pub(crate) fn whole(author: &Author<'_>, of: &str) -> Option<Json> {
    match of {
        "meta/v1.LabelSelector" => Some(selector(author)),
        "apiextensions/v1.JSONSchemaProps" => Some(schema(author, 0)),
        _ => None,
    }
}

/// Returns a selector that the labels of every random object match.
fn selector(author: &Author<'_>) -> Json {
    let expressions = [
        json!([{"key": "app", "operator": "Exists"}]),
        json!([{"key": "app", "operator": "In", "values": ["web"]}]),
        json!([{"key": "other", "operator": "DoesNotExist"}, {"key": "app", "operator": "NotIn", "values": ["a"]}]),
    ];
    let expressions = &expressions[author.below(3)];
    match author.below(3) {
        0 => json!({"matchLabels": {"app": "web"}}),
        1 => json!({ "matchExpressions": expressions }),
        _ => json!({"matchLabels": {"app": "web"}, "matchExpressions": expressions}),
    }
}

/// Returns a structural schema; that of a whole object at depth 0.
fn schema(author: &Author<'_>, depth: usize) -> Json {
    let types = if depth < DEEPEST { 6 } else { 4 };
    let kind = if depth == 0 {
        "object"
    } else {
        ["string", "integer", "boolean", "number", "array", "object"][author.below(types)]
    };
    let mut own = Map::new();
    let mut maybe = |name: &str, value: Json| {
        if author.below(3) == 0 {
            own.insert(name.into(), value);
        }
    };
    maybe("description", "a".into());
    maybe("title", "a".into());
    if depth > 0 {
        maybe("nullable", true.into());
    }
    match kind {
        "string" => {
            maybe("minLength", 0.into());
            maybe("maxLength", 80.into());
            maybe("pattern", "^[a-z]*$".into());
            maybe("format", "date".into());
            maybe("enum", json!(["a", "b"]));
            maybe(
                "x-kubernetes-validations",
                json!([{"rule": "self != ''", "message": "a", "reason": "FieldValueInvalid"}]),
            );
        }
        "integer" | "number" => {
            maybe("minimum", 1.into());
            maybe("exclusiveMinimum", true.into());
            maybe("maximum", 100.into());
            maybe("exclusiveMaximum", true.into());
            maybe("multipleOf", 1.into());
            maybe("default", 7.into());
        }
        "array" => {
            maybe("minItems", 0.into());
            maybe("maxItems", 10.into());
            own.insert("items".into(), schema(author, DEEPEST));
            if author.below(2) == 0 {
                own.insert("x-kubernetes-list-type".into(), "atomic".into());
            }
        }
        "object" => {
            maybe("maxProperties", 10.into());
            maybe("minProperties", 0.into());
            maybe("x-kubernetes-map-type", if depth == 0 { "granular" } else { "atomic" }.into());
            maybe("x-kubernetes-preserve-unknown-fields", true.into());
            if depth > 0 && author.below(3) == 0 {
                own.insert("additionalProperties".into(), schema(author, depth + 1));
            } else {
                let names = ["a", "b", "spec"];
                let properties: Map<String, Json> = names[..1 + author.below(3)]
                    .iter()
                    .map(|name| ((*name).into(), schema(author, depth + 1)))
                    .collect();
                own.insert("properties".into(), properties.into());
                if author.below(3) == 0 {
                    own.insert("required".into(), json!(["a"]));
                }
            }
        }
        _ => {}
    }
    own.insert("type".into(), kind.into());
    own.into()
}

/// Changes the fields of a struct to fit each other.
pub(crate) fn fit(of: &str, fields: &mut Map<String, Json>) {
    // A claim in a stateful set is a volume by its name.
    if of == "core/v1.PersistentVolumeClaim" {
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        metadata["name"] = "claim".into();
        fields.remove("status");
    }
    if of == "apiextensions/v1.CustomResourceDefinitionSpec" {
        fields.remove("preserveUnknownFields");
        let versions = fields.get_mut("versions").and_then(Json::as_array_mut);
        for (place, version) in versions.into_iter().flatten().enumerate() {
            version["name"] = format!("v{}", place + 1).into();
            version["storage"] = (place == 0).into();
        }
    }
}
