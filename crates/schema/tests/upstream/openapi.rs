//! List semantics, patch strategies, unions, requiredness and defaults, as published in OpenAPI.

use std::collections::{BTreeMap, BTreeSet};

use pintle_schema::{Field, ListType, Scalar, Shape, Struct, TypeKind};
use serde_json::{Value as Json, json};

use super::{document, documents, none, type_of};

/// Returns all types described in OpenAPI by their name there.
fn definitions() -> BTreeMap<String, Json> {
    let mut all = BTreeMap::new();
    for (_, document) in documents("openapi-v3") {
        let schemas = document["components"]["schemas"].as_object().cloned().unwrap_or_default();
        all.extend(schemas);
    }
    all
}

fn each(definitions: &BTreeMap<String, Json>, mut check: impl FnMut(&'static Struct, &Json) -> Vec<String>) {
    let (mut differences, mut checked) = (Vec::new(), 0);
    for (name, definition) in definitions {
        let Some(found) = type_of(name) else {
            assert!(name.ends_with(".version.Info"), "{name} is missing");
            continue;
        };
        let TypeKind::Struct(of) = &found.kind else { continue };
        checked += 1;
        differences
            .extend(check(of, definition).into_iter().map(|difference| format!("{name}: {difference}")));
    }
    none(&differences);
    assert!(definitions.is_empty() || checked > 700, "{checked}");
}

/// Compares facts of each field, and that the fields are the same.
fn each_field(definitions: &BTreeMap<String, Json>, facts: impl Fn(&Field, &Json) -> (Json, Json)) {
    each(definitions, |of, definition| {
        let properties = definition["properties"].as_object().cloned().unwrap_or_default();
        let declared: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        let have: BTreeSet<&str> = of.flat.iter().map(|field| field.name).collect();
        if declared != have {
            return vec![format!("want {declared:?}, have {have:?}")];
        }
        let mut differences = Vec::new();
        for field in of.flat {
            let (want, have) = facts(field, &properties[field.name]);
            if want != have {
                differences.push(format!("{}: want {want}, have {have}", field.name));
            }
        }
        differences
    });
}

fn merge_facts(field: &Field, property: &Json) -> (Json, Json) {
    let keys = ["list-type", "list-map-keys", "map-type", "patch-strategy", "patch-merge-key"];
    let want = keys.iter().map(|key| property[format!("x-kubernetes-{key}")].clone()).collect();
    let list = field.list.map(|list| match list {
        ListType::Atomic => "atomic",
        ListType::Set => "set",
        ListType::Map => "map",
    });
    let list_keys = (!field.keys().is_empty()).then_some(field.keys());
    let atomic = field.atomic.then_some("atomic").or(field.granular.then_some("granular"));
    let strategies = field.patch().map(|patch| patch.strategies.join(","));
    let key = field.patch().and_then(|patch| patch.merge_key);
    (want, json!([list, list_keys, atomic, strategies, key]))
}

#[test]
fn lists_maps_and_patches_merge_as_version_2_says() {
    let Some(document) = document("openapi-v2.json") else { return };
    let definitions = document["definitions"].as_object().unwrap().clone().into_iter().collect();
    each_field(&definitions, merge_facts);
}

#[test]
fn lists_maps_and_patches_merge_as_version_3_says() {
    each_field(&definitions(), merge_facts);
}

#[test]
fn atomic_structs_and_unions_are_those_of_openapi() {
    each(&definitions(), |of, definition| {
        let atomic = definition["x-kubernetes-map-type"] == "atomic";
        let mut differences = Vec::new();
        if atomic != of.atomic {
            differences.push(format!("want atomic {atomic}"));
        }
        let (want, have) = (&definition["x-kubernetes-unions"], union(of));
        if *want != have {
            differences.push(format!("want union {want}, have {have}"));
        }
        differences
    });
}

fn union(of: &Struct) -> Json {
    if !of.union {
        return Json::Null;
    }
    let capitalised = |name: &str| name[..1].to_uppercase() + &name[1..];
    let discriminator = of.flat.iter().find(|field| field.discriminator);
    let others = of.flat.iter().filter(|field| !field.discriminator);
    let fields: BTreeMap<&str, String> = others.map(|field| (field.name, capitalised(field.name))).collect();
    let mut union = json!({ "fields-to-discriminateBy": fields });
    if let Some(field) = discriminator {
        union["discriminator"] = json!(field.name);
    }
    json!([union])
}

#[test]
fn defaults_are_those_of_openapi() {
    each_field(&definitions(), |field, property| (property["default"].clone(), default(field)));
}

/// Returns the default in OpenAPI: the declared one, else the zero value of a field that Go always writes.
fn default(field: &Field) -> Json {
    if let Some(default) = field.default() {
        return serde_json::from_str(default).unwrap();
    }
    match field.shape.underlying() {
        Shape::Named(_) if field.shape.structure().is_some() => json!({}),
        Shape::Named(_) => Json::Null,
        Shape::Scalar(_) if field.omit_empty => Json::Null,
        Shape::Scalar(scalar) => match scalar {
            Scalar::String => json!(""),
            Scalar::Bool => json!(false),
            Scalar::Int32 | Scalar::Int64 => json!(0),
            Scalar::Float64 => json!(0.0),
            Scalar::Any => Json::Null,
        },
        Shape::Bytes | Shape::Pointer(_) | Shape::List(_) | Shape::Map(..) => Json::Null,
    }
}

#[test]
fn required_fields_are_those_of_openapi() {
    each(&definitions(), |of, definition| {
        let list = definition["required"].as_array().cloned().unwrap_or_default();
        let want: BTreeSet<&str> = list.iter().filter_map(Json::as_str).collect();
        let required = of.flat.iter().filter(|field| field.required);
        let have: BTreeSet<&str> = required.map(|field| field.name).collect();
        if want == have { Vec::new() } else { vec![format!("want {want:?}, have {have:?}")] }
    });
}
