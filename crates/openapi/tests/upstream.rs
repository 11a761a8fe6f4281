//! Documents against the reference's published ones, which show all versions, speak CBOR and leave out enums. Reads
//! `PINTLE_UPSTREAM` or the folder beside the repository; where there is none, these say so and pass.

use std::fs;

use pintle_discovery::{GroupVersion, builtin};
use pintle_openapi::{Options, Undocumented, v2, v3};
use pintle_published::upstream;
use pintle_schema::Resources;
use serde_json::Value as Json;

fn all() -> Vec<GroupVersion> {
    builtin(&Resources::builtin().unwrap(), |_| true)
}

fn options() -> Options<'static> {
    Options { version: "unversioned", enums: false, cbor: true, documentation: &Undocumented }
}

/// Without texts, and references that were wrapped because of their texts alone unwrapped.
fn bare(value: Json) -> Json {
    match value {
        Json::Object(object) => {
            let mut object: serde_json::Map<String, Json> = object
                .into_iter()
                .filter(|(key, value)| key != "description" || !value.is_string())
                .map(|(key, value)| (key, bare(value)))
                .collect();
            if object.len() == 1
                && let Some(Json::Array(all)) = object.get_mut("allOf")
                && all.len() == 1
            {
                return all.remove(0);
            }
            Json::Object(object)
        }
        Json::Array(items) => Json::Array(items.into_iter().map(bare).collect()),
        other => other,
    }
}

fn differences(path: &str, ours: &Json, theirs: &Json, out: &mut Vec<String>) {
    match (ours, theirs) {
        (Json::Object(a), Json::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => differences(&format!("{path}/{key}"), a, b, out),
                    (Some(a), None) => out.push(format!("{path}/{key}: only ours: {a}")),
                    (None, b) => out.push(format!("{path}/{key}: only theirs: {b:?}")),
                }
            }
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            for (place, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}/{place}"), a, b, out);
            }
        }
        (a, b) if a != b => out.push(format!("{path}: ours {a}, theirs {b}")),
        _ => {}
    }
}

fn check(ours: Json, theirs: Json, name: &str) -> Vec<String> {
    let mut out = Vec::new();
    differences(name, &bare(ours), &bare(theirs), &mut out);
    out
}

#[test]
fn documents_of_version_3_are_the_references() {
    let Some(folder) = upstream("OpenAPI documents") else { return };
    let served = all();
    let mut names = v3::names(&served, true);
    names.retain(|name| !name.starts_with('.'));
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in fs::read_dir(folder.join("openapi-v3")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let name = name.strip_suffix("_openapi").unwrap().replace("__", "/");
        let Some(document) = v3::document(&served, true, &name, &options()) else { panic!("no {name}") };
        let theirs = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let ours = serde_json::from_slice(&document.json).unwrap();
        wrong.extend(check(ours, theirs, &name));
        names.retain(|found| *found != name);
        count += 1;
    }
    assert!(count >= 60, "only {count} documents");
    assert_eq!(names, [""; 0]);
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// With the shared parameters in the places that refer to them.
fn resolved(value: Json, parameters: &Json) -> Json {
    match value {
        Json::Object(object) => {
            let reference = object.get("$ref").and_then(Json::as_str);
            if let Some(name) = reference.and_then(|text| text.strip_prefix("#/parameters/")) {
                return parameters[name].clone();
            }
            Json::Object(object.into_iter().map(|(key, value)| (key, resolved(value, parameters))).collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(|item| resolved(item, parameters)).collect()),
        other => other,
    }
}

#[test]
fn the_document_of_version_2_is_the_references() {
    let Some(folder) = upstream("OpenAPI documents") else { return };
    let resolved = |text: &[u8]| {
        let mut value: Json = serde_json::from_slice(text).unwrap();
        // Their names are hashes of their texts.
        let parameters = value.as_object_mut().unwrap().remove("parameters").unwrap();
        resolved(value, &parameters)
    };
    let ours = resolved(&v2::document(&all(), true, &options()).json);
    let theirs = resolved(&fs::read(folder.join("openapi-v2.json")).unwrap());
    let wrong = check(ours, theirs, "");
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}
