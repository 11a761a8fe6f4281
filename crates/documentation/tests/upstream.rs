//! The texts against those of the reference's published documents. Reads `PINTLE_UPSTREAM` or the folder beside the
//! repository; where there is none, this passes without having looked.

use std::fs;

use pintle_discovery::builtin;
use pintle_documentation::Texts;
use pintle_openapi::{Options, v3};
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
    let Some(folder) = upstream() else { return };
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
