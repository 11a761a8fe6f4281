//! The texts against those of the reference's published documents. Reads `PINTLE_UPSTREAM` or the folder beside the
//! repository; where there is none, this says so and passes.

use std::fs;

use pintle_discovery::builtin;
use pintle_documentation::Texts;
use pintle_openapi::{Options, v2, v3};
use pintle_published::upstream;
use pintle_schema::Resources;
use serde_json::Value as Json;

/// Texts that are the same, where they are not, and what differs besides.
#[derive(Default)]
struct Count {
    same: usize,
    other: Vec<String>,
    structure: Vec<String>,
}

impl Count {
    fn compare(&mut self, path: &str, ours: &Json, theirs: &Json) {
        match (ours, theirs) {
            (Json::Object(a), Json::Object(b)) => {
                let (mut keys, theirs): (Vec<_>, Vec<_>) = (a.keys().collect(), b.keys().collect());
                keys.retain(|key| *key != "description" || b.contains_key(*key));
                for key in keys.into_iter().chain(theirs.into_iter().filter(|key| !a.contains_key(*key))) {
                    let path = format!("{path}/{key}");
                    match (a.get(key), b.get(key)) {
                        (Some(Json::String(a)), Some(Json::String(b))) if key == "description" => {
                            if a == b {
                                self.same += 1;
                            } else {
                                self.other.push(path);
                            }
                        }
                        (Some(a), Some(b)) => self.compare(&path, a, b),
                        (None, Some(Json::String(_))) if key == "description" => self.other.push(path),
                        (a, b) => self.structure.push(format!("{path}: {a:?} and {b:?}")),
                    }
                }
            }
            (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
                for (a, b) in a.iter().zip(b) {
                    self.compare(path, a, b);
                }
            }
            (a, b) if a != b => self.structure.push(format!("{path}: {a} and {b}")),
            _ => {}
        }
    }
}

#[test]
fn schemas_are_the_references_with_their_texts() {
    let Some(folder) = upstream("texts of OpenAPI documents") else { return };
    let served = builtin(&Resources::builtin().unwrap(), |_| true);
    let options = Options { version: "unversioned", enums: false, cbor: true, documentation: &Texts };
    let mut count = Count::default();
    for served in &served {
        let name = served.path().trim_start_matches('/').replace('/', "__");
        let theirs = fs::read(folder.join(format!("openapi-v3/{name}_openapi.json"))).unwrap();
        let theirs: Json = serde_json::from_slice(&theirs).unwrap();
        let ours: Json = serde_json::from_slice(&v3::group_version(served, &options).json).unwrap();
        let schemas = |document: &Json| document["components"]["schemas"].clone();
        count.compare(&name, &schemas(&ours), &schemas(&theirs));
    }
    assert_eq!(count.structure, [""; 0]);
    // Of lists and events, for which there are none to be had, we say in our own words what they are.
    let ours =
        |path: &String| path.split('/').any(|part| part.ends_with("List") || part.ends_with(".WatchEvent"));
    count.other.retain(|path| !ours(path));
    assert_eq!(count.other, [""; 0]);
    assert!(count.same > 8000, "{}", count.same);
}

/// The parameters of a document of version 2: the shared ones by name, the others by path.
fn parameters(document: &Json) -> Vec<(String, Json)> {
    let shared = document["parameters"].as_object().unwrap().iter();
    let mut found: Vec<(String, Json)> = shared.map(|(name, of)| (name.clone(), of.clone())).collect();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let own = if method == "parameters" { operation } else { &operation["parameters"] };
            let own = own.as_array().into_iter().flatten().cloned();
            found.extend(own.map(|of| (format!("{path} {method}"), of)));
        }
    }
    found.sort_by_key(|(name, of)| (name.clone(), of.to_string()));
    found
}

#[test]
fn query_parameters_are_the_references_with_their_names_and_texts() {
    let Some(folder) = upstream("names and texts of query parameters") else { return };
    let served = builtin(&Resources::builtin().unwrap(), |_| true);
    let options = Options { version: "unversioned", enums: false, cbor: true, documentation: &Texts };
    let ours: Json = serde_json::from_slice(&v2::document(&served, true, &options).json).unwrap();
    let theirs = fs::read(folder.join("openapi-v2.json")).unwrap();
    let (ours, theirs) = (parameters(&ours), parameters(&serde_json::from_slice(&theirs).unwrap()));
    let unlike = |a: &[(String, Json)], b: &[(String, Json)]| -> Vec<String> {
        let texts = a.iter().filter(|(_, of)| !b.iter().any(|(_, known)| known == of));
        texts.map(|(name, of)| format!("{name}: {of}")).take(5).collect()
    };
    assert_eq!((unlike(&ours, &theirs), unlike(&theirs, &ours)), (Vec::new(), Vec::new()));
    assert_eq!(ours, theirs);
}
