//! YAML against the output of a reference server. Reads `PINTLE_UPSTREAM` or the folder beside the repository;
//! without it, these tests print that and pass, and the unit tests' vectors remain.

use std::fs;

use pintle_codec::{json, yaml};
use pintle_published::upstream;
use pintle_schema::{Type, find_kind};

/// Returns name, type, JSON and YAML of one full object of each kind.
fn objects() -> Vec<(String, &'static Type, Vec<u8>, String)> {
    let Some(folder) = upstream("YAML of full objects") else { return Vec::new() };
    let paths = fs::read_dir(folder.join("wire")).unwrap().map(|entry| entry.unwrap().path());
    let objects: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let [kind, version, group] = name.rsplitn(3, '.').collect::<Vec<_>>()[..] else {
                panic!("{name}")
            };
            let of = find_kind(if group == "core" { "" } else { group }, version, kind);
            let of = of.unwrap_or_else(|| panic!("{name} has no type"));
            let json = fs::read(path.with_extension("json")).unwrap();
            (name, of, json, fs::read_to_string(path).unwrap())
        })
        .collect();
    assert!(objects.len() > 100);
    objects
}

fn pretty(of: &'static Type, json: &[u8]) -> String {
    let decoded = json::decode(of, json).unwrap();
    assert_eq!(decoded.strict, [""; 0]);
    let mut out = Vec::new();
    json::encode_pretty(&decoded.value, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn yaml_of_every_kind_converts_to_its_json() {
    for (name, of, json, yaml) in objects() {
        let (converted, strict) =
            yaml::to_json_strict(yaml.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(strict, [""; 0], "{name}");
        assert_eq!(pretty(of, &converted), String::from_utf8(json).unwrap().trim_end(), "{name}");
    }
}

#[test]
fn yaml_of_every_kind_is_encoded_as_the_reference_does() {
    for (name, of, json, yaml) in objects() {
        let value = json::decode(of, &json).unwrap().value;
        let mut out = Vec::new();
        yaml::encode(&value, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), yaml, "{name}");
    }
}

/// JSON is YAML, and converts to itself.
#[test]
fn json_of_every_kind_converts_as_yaml() {
    for (name, of, json, _) in objects() {
        let converted = yaml::to_json(&json).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(pretty(of, &converted), pretty(of, &json), "{name}");
    }
}
