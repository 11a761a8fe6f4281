//! OpenAPI documents of version 2 as version 3, for servers that have only the former. Some of it is lost: what a server of today
//! says in version 3 alone.

use serde_json::{Map, Value, json};

const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// Fields of an operation that are the same in both versions.
const OF_OPERATION: [&str; 6] =
    ["tags", "summary", "description", "externalDocs", "operationId", "deprecated"];

/// Fields of a parameter that are the same in both versions.
const OF_PARAMETER: [&str; 5] = ["name", "description", "in", "required", "allowEmptyValue"];

/// Converts a document.
///
/// Errors: it is not JSON.
pub(super) fn v2_to_v3(document: &[u8]) -> Result<Vec<u8>, String> {
    let v2: Value = serde_json::from_slice(document).map_err(|error| error.to_string())?;
    let mut v3 = json!({"openapi": "3.0.0", "info": v2["info"], "paths": {}, "components": {}});
    if let Some(docs) = v2.get("externalDocs") {
        v3["externalDocs"] = docs.clone();
    }
    for (path, item) in entries(&v2["paths"]) {
        v3["paths"][path] = path_item(item);
    }
    let components = &mut v3["components"];
    for (name, definition) in entries(&v2["definitions"]) {
        components["schemas"][name] = schema(definition);
    }
    for (name, parameter_of_all) in entries(&v2["parameters"]) {
        components["parameters"][name] = parameter(parameter_of_all);
    }
    let produces = &v2["produces"];
    for (name, found) in entries(&v2["responses"]) {
        components["responses"][name] = response(found, produces);
    }
    for (name, found) in entries(&v2["securityDefinitions"]) {
        components["securitySchemes"][name] = security_scheme(found);
    }
    Ok(v3.to_string().into_bytes())
}

fn entries(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

/// Returns the fields of an object that have these names, and the extensions.
fn kept(of: &Value, names: &[&str]) -> Map<String, Value> {
    let is_kept = |name: &str| names.contains(&name) || name.starts_with("x-");
    entries(of).filter(|(name, _)| is_kept(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns a reference into another section of the document.
fn referred(of: &Value, from: &str, to: &str) -> Option<Value> {
    let reference = of.get("$ref")?.as_str()?;
    Some(json!({"$ref": reference.replacen(from, to, 1)}))
}

fn path_item(item: &Value) -> Value {
    let mut converted = kept(item, &["$ref"]);
    for method in METHODS {
        if let Some(found) = item.get(method) {
            converted.insert(method.to_owned(), operation(found));
        }
    }
    if let Some(parameters) = item["parameters"].as_array() {
        converted.insert("parameters".into(), parameters.iter().map(parameter).collect());
    }
    converted.into()
}

fn operation(found: &Value) -> Value {
    let mut converted = Value::Object(kept(found, &OF_OPERATION));
    let mut parameters = Vec::new();
    for one in found["parameters"].as_array().into_iter().flatten() {
        if one["name"] == "body" && one.get("schema").is_some() {
            converted["requestBody"] = json!({});
            if let Some(content) = content(&found["consumes"], &one["schema"]) {
                converted["requestBody"]["content"] = content;
            }
        } else {
            parameters.push(parameter(one));
        }
    }
    if !parameters.is_empty() {
        converted["parameters"] = parameters.into();
    }
    converted["responses"] = json!({});
    for (code, one) in entries(&found["responses"]) {
        converted["responses"][code] = response(one, &found["produces"]);
    }
    converted
}

/// Returns a schema for each of these media types.
fn content(media_types: &Value, of: &Value) -> Option<Value> {
    let media_types = media_types.as_array()?.iter().filter_map(Value::as_str);
    let all: Map<String, Value> =
        media_types.map(|name| (name.to_owned(), json!({"schema": schema(of)}))).collect();
    Some(all.into())
}

fn response(found: &Value, produces: &Value) -> Value {
    if let Some(reference) = referred(found, "#/responses/", "#/components/responses/") {
        return reference;
    }
    let mut converted = Value::Object(kept(found, &["description"]));
    if let Some(content) = found.get("schema").and_then(|of| content(produces, of)) {
        converted["content"] = content;
    }
    converted
}

fn parameter(found: &Value) -> Value {
    if let Some(reference) = referred(found, "#/parameters/", "#/components/parameters/") {
        return reference;
    }
    let mut converted = Value::Object(kept(found, &OF_PARAMETER));
    converted["schema"] = match found.get("schema") {
        Some(of) => schema(of),
        None => {
            let simple = ["type", "format", "uniqueItems"].into_iter();
            let simple = simple.filter_map(|name| Some((name.to_owned(), found.get(name)?.clone())));
            simple.collect::<Map<String, Value>>().into()
        }
    };
    converted
}

fn schema(of: &Value) -> Value {
    let Some(fields) = of.as_object() else { return of.clone() };
    let mut converted: Map<String, Value> = Map::new();
    for (name, value) in fields {
        let value = match name.as_str() {
            "properties" => {
                entries(value).map(|(name, of)| (name.clone(), schema(of))).collect::<Map<_, _>>().into()
            }
            "items" | "additionalProperties" | "additionalItems" => match value.as_array() {
                Some(all) => all.iter().map(schema).collect(),
                None => schema(value),
            },
            _ => value.clone(),
        };
        converted.insert(name.clone(), value);
    }
    let Some(reference) = referred(of, "#/definitions/", "#/components/schemas/") else {
        return converted.into();
    };
    converted.remove("$ref");
    if converted.is_empty() {
        return reference;
    }
    // In version 3, nothing counts beside a reference.
    converted.insert("allOf".into(), json!([reference]));
    converted.into()
}

fn security_scheme(found: &Value) -> Value {
    let mut converted = Value::Object(kept(found, &["description", "type", "name", "in"]));
    if let Some(flow) = found["flow"].as_str() {
        converted["flows"][flow] = json!({
            "authorizationUrl": found["authorizationUrl"],
            "tokenUrl": found["tokenUrl"],
            "scopes": found["scopes"],
        });
    }
    converted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_responses_and_references_move() {
        let v2 = json!({"swagger": "2.0", "info": {"title": "boats", "version": "1"}, "paths": {"/apis/g/v1/boats": {
            "parameters": [{"$ref": "#/parameters/pretty"}],
            "post": {"operationId": "create", "consumes": ["application/json"], "produces": ["application/json"],
                "x-kubernetes-action": "post",
                "parameters": [
                    {"name": "body", "in": "body", "schema": {"$ref": "#/definitions/Boat"}},
                    {"name": "dryRun", "in": "query", "type": "string", "uniqueItems": true}],
                "responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/Boat"}}, "401": {"description": "No"}}}}},
            "definitions": {"Boat": {"type": "object", "properties": {
                "spec": {"$ref": "#/definitions/Spec", "default": {}},
                "parts": {"type": "array", "items": {"$ref": "#/definitions/Part"}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}}}}},
            "parameters": {"pretty": {"name": "pretty", "in": "query", "type": "string"}},
            "securityDefinitions": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}}});
        let v3: Value = serde_json::from_slice(&v2_to_v3(v2.to_string().as_bytes()).unwrap()).unwrap();
        let boat = json!({"$ref": "#/components/schemas/Boat"});
        let path = &v3["paths"]["/apis/g/v1/boats"];
        let post = &path["post"];
        assert_eq!(v3["openapi"], "3.0.0");
        assert_eq!(path["parameters"], json!([{"$ref": "#/components/parameters/pretty"}]));
        assert_eq!((&post["operationId"], &post["x-kubernetes-action"]), (&json!("create"), &json!("post")));
        assert_eq!(post["requestBody"]["content"]["application/json"]["schema"], boat);
        let query =
            json!([{"name": "dryRun", "in": "query", "schema": {"type": "string", "uniqueItems": true}}]);
        assert_eq!(post["parameters"], query);
        assert_eq!(post["responses"]["200"]["content"]["application/json"]["schema"], boat);
        assert_eq!(post["responses"]["401"], json!({"description": "No"}));
        let properties = &v3["components"]["schemas"]["Boat"]["properties"];
        assert_eq!(
            properties["spec"],
            json!({"allOf": [{"$ref": "#/components/schemas/Spec"}], "default": {}})
        );
        assert_eq!(properties["parts"]["items"], json!({"$ref": "#/components/schemas/Part"}));
        assert_eq!(properties["labels"]["additionalProperties"], json!({"type": "string"}));
        assert_eq!(v3["components"]["securitySchemes"]["BearerToken"]["in"], "header");
        assert_eq!(v3["components"]["parameters"]["pretty"]["schema"], json!({"type": "string"}));
    }

    #[test]
    fn anything_is_converted_or_refused() {
        assert!(v2_to_v3(b"<html>").is_err());
        for document in
            ["null", "[]", "{}", r#"{"paths":7,"definitions":{"a":[],"b":{"properties":3,"$ref":5}}}"#]
        {
            assert!(v2_to_v3(document.as_bytes()).is_ok(), "{document}");
        }
    }
}
