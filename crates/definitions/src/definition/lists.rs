//! `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and `x-kubernetes-map-type`: what lists and maps are taken for when
//! they are merged.

use std::collections::HashSet;

use pintle_meta::Value;
use pintle_meta::field_path::{self, Error, Path};
use pintle_schema::go;

use super::errors::Errors;
use super::node::{Items, Schema};

/// The types of a node, except for what [`items`] looks at.
pub(super) fn validate(schema: Schema<'_>, atomic_sets: bool, path: &Path<'_>, errors: &mut Errors) {
    let list = schema.optional("x-kubernetes-list-type");
    let map = schema.optional("x-kubernetes-map-type");
    if map.is_some() {
        must_be("object", schema, "x-kubernetes-map-type", path, errors);
    }
    if let Some(map) = map.filter(|map| !matches!(*map, "atomic" | "granular")) {
        let path = path.child("x-kubernetes-map-type");
        errors.push(Error::not_supported(&path, map, &["atomic", "granular"]));
    }
    let list_path = path.child("x-kubernetes-list-type");
    if list.is_some() && schema.kind() != "array" {
        must_be("array", schema, "x-kubernetes-list-type", path, errors);
    } else if let Some((field, shown)) = non_atomic_item(schema).filter(|_| atomic_sets) {
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        errors.push(Error::invalid(&path.child("items").child(field), shown, why));
    }
    if let Some(list) = list.filter(|list| !matches!(*list, "atomic" | "set" | "map")) {
        errors.push(Error::not_supported(&list_path, list, &["atomic", "set", "map"]));
    }
    if !schema.list("x-kubernetes-list-map-keys").is_empty() {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list {
            None => errors.push(Error::required(&list_path, why)),
            Some("map") => {}
            Some(list) => errors.push(Error::invalid(&list_path, list, why)),
        }
    }
    if list == Some("map") {
        map_list(schema, path, errors);
    }
}

fn must_be(kind: &str, schema: Schema<'_>, field: &str, path: &Path<'_>, errors: &mut Errors) {
    let why = || format!("must be {kind} if {field} is specified");
    let path = path.child("type");
    match schema.kind() {
        is if is == kind => {}
        "" => errors.push(Error::required(&path, why())),
        is => errors.push(Error::invalid(&path, is, why())),
    }
}

/// Of a set whose items are not compared as a whole: which field says so, and what shows of it.
pub(super) fn non_atomic_item(schema: Schema<'_>) -> Option<(&'static str, field_path::Value)> {
    if schema.optional("x-kubernetes-list-type") != Some("set") {
        return None;
    }
    let item = schema.item()?;
    let list = item.optional("x-kubernetes-list-type");
    // The reference shows the type of lists also where that of maps is wrong.
    let shown = || list.map_or_else(field_path::Value::null, Into::into);
    match item.kind() {
        "array" if list.is_some_and(|list| list != "atomic") => Some(("x-kubernetes-list-type", shown())),
        "object" if item.optional("x-kubernetes-map-type") != Some("atomic") => {
            Some(("x-kubernetes-map-type", shown()))
        }
        _ => None,
    }
}

fn map_list(schema: Schema<'_>, path: &Path<'_>, errors: &mut Errors) {
    const KEYS: &str = "x-kubernetes-list-map-keys";
    let keys = schema.list(KEYS);
    let (items, keys_path) = (path.child("items"), path.child(KEYS));
    if keys.is_empty() {
        errors.push(Error::required(&keys_path, "must not be empty if x-kubernetes-list-type is map"));
    }
    let item = match schema.items() {
        None => {
            let why = "must have a schema if x-kubernetes-list-type is map";
            return errors.push(Error::required(&items, why));
        }
        Some(Items::Many(_)) => {
            let shown = go::printed(
                "apiextensions.JSONSchemaPropsOrArray",
                schema.get("items").unwrap_or(&Value::NULL),
            );
            let why = "must only have a single schema if x-kubernetes-list-type is map";
            return errors.push(Error::invalid(&items, shown, why));
        }
        Some(Items::One(item)) => item,
    };
    if item.kind() != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        return errors.push(Error::invalid(&items.child("type"), item.kind(), why));
    }
    let properties = items.child("properties");
    let shown = || go::printed("[]string", schema.get(KEYS).unwrap_or(&Value::NULL));
    let mut seen = HashSet::new();
    for key in schema.texts(KEYS) {
        if errors.is_full() {
            return;
        }
        match item.property(key).map(Schema::kind) {
            // The message shows the type of the item.
            Some("array" | "object") => {
                let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(Error::invalid(&properties.key(key).child("type"), item.kind(), why));
            }
            Some(_) => {}
            None => {
                let why = "entries must all be names of item properties";
                errors.push(Error::invalid(&keys_path, shown(), why));
            }
        }
        if !seen.insert(key) {
            errors.push(Error::invalid(&keys_path, shown(), "must not contain duplicate entries"));
        }
    }
}

/// Items of sets and maps are something, and the keys of maps are always there.
pub(super) fn items(schema: Schema<'_>, path: &Path<'_>, errors: &mut Errors) {
    let Some(item) = schema.item() else { return };
    let Some(list @ ("set" | "map")) = schema.optional("x-kubernetes-list-type") else { return };
    let path = path.child("items");
    if item.flag("nullable") {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {list}");
        errors.push(Error::forbidden(&path.child("nullable"), why));
    }
    if list != "map" {
        return;
    }
    let required: HashSet<&str> = item.texts("required").collect();
    let path = path.child("properties");
    for key in schema.texts("x-kubernetes-list-map-keys") {
        let Some(property) = item.property(key) else { continue };
        if errors.is_full() {
            return;
        }
        let path = path.key(key);
        if !required.contains(key) && !property.has("default") {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(Error::required(&path.child("default"), why));
        }
        if property.flag("nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(Error::forbidden(&path.child("nullable"), why));
        }
    }
}
