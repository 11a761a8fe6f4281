//! Values in recorded messages of the reference. Each is parsed into an object of the storage version and printed
//! again, which checks names, order and unset fields.

use std::collections::BTreeSet;

use pintle_meta::Object;
use serde_json::Value as Json;

use super::facts::{self, Field, Internal, Shape, Source};
use super::*;

/// Collects all texts of a document that contain a struct with Go's field names.
fn values(document: &Json, found: &mut BTreeSet<String>) {
    match document {
        Json::String(text) => {
            for (start, _) in text.match_indices(" value: ") {
                let rest = &text[start + " value: ".len()..];
                let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Json>();
                let Some(Ok(_)) = stream.next() else { continue };
                let json = &rest[..stream.byte_offset()];
                // Recordings replace ids and times by placeholders in angle brackets, which Go would have escaped.
                found.insert(json.replace(['<', '>'], ""));
            }
        }
        Json::Array(items) => items.iter().for_each(|item| values(item, found)),
        Json::Object(map) => map.values().for_each(|value| values(value, found)),
        _ => {}
    }
}

fn keys(of: &'static [Field], out: &mut BTreeSet<&'static str>) {
    for field in of {
        match (&field.shape, field.embedded) {
            (Shape::Internal(name), true) => {
                if let Some(Internal::Struct(fields)) = facts::find(name) {
                    keys(fields, out);
                }
            }
            (_, true) => {}
            _ => {
                out.insert(field.name);
            }
        }
    }
}

/// Returns the structs that have the value's fields.
fn types_of(json: &Json) -> Vec<String> {
    if let Json::Array(items) = json {
        let items = items.first().map(types_of).unwrap_or_default();
        return items.into_iter().map(|item| format!("[]{item}")).collect();
    }
    let present = json.as_object().into_iter().flat_map(|map| map.keys()).map(String::as_str);
    // The fields of an embedded ObjectMeta are optional.
    let present: BTreeSet<&str> = present.filter(|key| key.starts_with(char::is_uppercase)).collect();
    let mut types = Vec::new();
    for (name, found) in facts::all() {
        let Internal::Struct(fields) = found else { continue };
        let mut declared = BTreeSet::new();
        keys(fields, &mut declared);
        if !present.is_empty() && declared == present {
            types.push((*name).to_owned());
        }
    }
    types
}

fn invert(shape: &Shape, json: &Json, outer: &mut Object) -> Value {
    match (shape, json) {
        (Shape::Pointer(of), json) => invert(of, json, outer),
        (Shape::List(of), Json::Array(items)) => {
            Value::list(items.iter().map(|item| invert(of, item, &mut Object::new())).collect())
        }
        (Shape::Map(_, of), Json::Object(map)) => map
            .iter()
            .map(|(key, value)| (key, invert(of, value, &mut Object::new())))
            .collect::<Object>()
            .into(),
        (Shape::Internal(name), json) => match (facts::find(name), json) {
            (Some(Internal::Alias(of)), json) => invert(of, json, outer),
            (Some(Internal::Struct(fields)), Json::Object(map)) => {
                let mut object = Object::new();
                let itself = invert_fields(fields, map, &mut object, outer);
                itself.unwrap_or_else(|| object.into())
            }
            _ => Value::NULL,
        },
        (_, json) => plain(json),
    }
}

fn invert_fields(
    fields: &'static [Field],
    map: &serde_json::Map<String, Json>,
    object: &mut Object,
    outer: &mut Object,
) -> Option<Value> {
    let mut itself = None;
    for field in fields {
        if field.embedded {
            match &field.shape {
                Shape::Internal(name) => {
                    let Some(Internal::Struct(fields)) = facts::find(name) else { continue };
                    invert_fields(fields, map, object, outer);
                }
                _ => {
                    let tagged = map.iter().filter(|(key, _)| key.starts_with(char::is_lowercase));
                    let metadata: Object = tagged.map(|(key, value)| (key, plain(value))).collect();
                    object.insert("metadata", metadata);
                }
            }
            continue;
        }
        let value = invert(&field.shape, map.get(field.name).unwrap_or(&Json::Null), object);
        match field.source {
            _ if value.is_null() => {}
            Source::Name(name) => {
                object.insert(name, value);
            }
            Source::Outer(name) => {
                outer.insert(name, value);
            }
            Source::Itself(_) => itself = itself.filter(|_| value.as_bool().is_some()).or(Some(value)),
            Source::Same | Source::Nowhere => {}
        }
    }
    itself
}

fn plain(json: &Json) -> Value {
    match json {
        Json::Null => Value::NULL,
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => number.as_i64().map_or_else(|| number.as_f64().unwrap().into(), Value::from),
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Value::list(items.iter().map(plain).collect()),
        Json::Object(map) => map.iter().map(|(key, value)| (key, plain(value))).collect::<Object>().into(),
    }
}

#[test]
fn recorded_values_are_printed_as_recorded() {
    let mut found = BTreeSet::new();
    for (_, golden) in pintle_published::recorded::exchanges() {
        values(&serde_json::from_str(&golden).unwrap(), &mut found);
    }
    let mut seen = BTreeSet::new();
    for text in found {
        let parsed: Json = serde_json::from_str(&text).unwrap();
        let types = types_of(&parsed);
        if types.is_empty() {
            continue;
        }
        let print = |of: &String| json(of, &invert(&facts::shape(of).unwrap(), &parsed, &mut Object::new()));
        let of = types.iter().find(|of| print(of) == text);
        let of = of.unwrap_or_else(|| panic!("{text}\nis {types:?}, and the first\n{}", print(&types[0])));
        seen.insert(of.clone());
    }
    assert!(seen.len() >= 8, "{seen:?}");
}
