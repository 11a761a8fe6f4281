//! Objects that a reference server stored, read here, are the objects it listed; where its data is present.

use std::collections::BTreeMap;

use pintle_codec::{json, kind};
use pintle_published::upstream;
use pintle_registry::Stored;
use pintle_resources::builtin::Builtin;
use pintle_schema::Resources;

/// Keys with their values.
fn dump(folder: &std::path::Path) -> BTreeMap<String, Vec<u8>> {
    let text = std::fs::read_to_string(folder.join("etcd-dump/keys.jsonl")).unwrap();
    let line = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        (line["key"].as_str().unwrap().to_owned(), base64(line["value"].as_str().unwrap()))
    };
    text.lines().map(line).collect()
}

fn base64(text: &str) -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

/// Where defaults depend on something that the server itself sets after it has defaulted: those are added when the object
/// is read, and listed so, but were not stored.
const DEFAULTED_LATER: &[(&str, &str)] =
    &[("/registry/jobs/", "labels of the template"), ("/registry/persistentvolumeclaims/", "status.phase")];

#[test]
fn what_was_stored_is_written_back_to_the_byte() {
    let Some(folder) = upstream("stored values and lists of a reference server") else { return };
    let resources = Resources::builtin().unwrap();
    let dump = dump(&folder);
    assert!(dump.len() > 700, "{}", dump.len());
    for (key, stored) in &dump {
        let typed = kind::decode(kind::recognize(stored), stored, None);
        let of = typed.unwrap_or_else(|error| panic!("{key}: {}", error.error)).of;
        let builtin = Builtin::new(of, &resources);
        let again = builtin.encode(&builtin.decode(stored).unwrap()).unwrap();
        let later = DEFAULTED_LATER.iter().any(|(prefix, _)| key.starts_with(prefix));
        assert!(again == *stored || later, "{key}");
        assert_eq!(builtin.is_normal(stored), again == *stored, "{key}");
    }
}

#[test]
fn what_was_stored_is_what_was_listed() {
    let Some(folder) = upstream("stored values and lists of a reference server") else { return };
    let resources = Resources::builtin().unwrap();
    let dump = dump(&folder);
    let lists = std::fs::read_to_string(folder.join("etcd-dump/lists.json")).unwrap();
    let lists: BTreeMap<String, serde_json::Value> = serde_json::from_str(&lists).unwrap();
    let mut items = 0;
    for (path, list) in &lists {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (group, version, name) = match parts[..] {
            ["api", version, name] => ("", version, name),
            ["apis", group, version, name] => (group, version, name),
            _ => panic!("{path}"),
        };
        let resource = resources.find(group, version, name).unwrap();
        let storage = resource.storage.unwrap();
        let builtin = Builtin::new(storage.kind, &resources);
        let prefix = format!("/registry/{}/", storage.path);
        let stored = dump.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
        let ours: Vec<serde_json::Value> = stored
            .map(|(_, stored)| {
                let mut object = builtin.to_version(resource.kind, builtin.decode(stored).unwrap()).unwrap();
                let root = object.as_object_mut().unwrap();
                root.remove("kind");
                root.remove("apiVersion");
                let mut text = Vec::new();
                json::encode(&object, &mut text);
                serde_json::from_slice(&text).unwrap()
            })
            .collect();
        let theirs = list["items"].as_array().unwrap();
        assert_eq!(ours.len(), theirs.len(), "{path}");
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert_eq!(ours, theirs, "{path}");
            items += 1;
        }
    }
    assert!(items > 500, "{items}");
}
