//! Conversion between typed and untyped trees against the output of a reference server. Reads `PINTLE_UPSTREAM` or
//! the folder beside the repository; without it, these tests print that and pass, and the unit tests' vectors remain.

use std::fs;

use pintle_codec::{json, unstructured};
use pintle_meta::Value;
use pintle_meta::gvk::GroupVersionKind;
use pintle_published::upstream;
use pintle_schema::{Type, find_kind};
use serde_json::Value as Json;

fn type_of(object: &Json) -> &'static Type {
    let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let gvk = GroupVersionKind::from_api_version(version, kind);
    find_kind(&gvk.group, &gvk.version, &gvk.kind).unwrap_or_else(|| panic!("{version} {kind} has no type"))
}

fn text(value: &Value) -> String {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    String::from_utf8(out).unwrap()
}

/// The reference's own check of its converter: it agrees with a round trip through JSON.
#[test]
fn sparse_objects_convert_as_through_json() {
    let Some(folder) = upstream("full and sparse objects") else { return };
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in fs::read_to_string(folder.join("wire-sparse.jsonl")).unwrap().lines() {
        let vector: Json = serde_json::from_str(line).unwrap();
        let tree = json::decode_untyped(vector["in"].to_string().as_bytes()).unwrap().value;
        let got = unstructured::to_typed(type_of(&vector["in"]), &tree).map(|decoded| text(&decoded.value));
        count += 1;
        if got.as_deref().ok() != vector["json"].as_str() {
            let (name, want) = (format!("{} {}", vector["gvk"], vector["variant"]), &vector["json"]);
            wrong.push(format!("{name}:\n  got  {got:?}\n  want {want:?}"));
        }
    }
    assert!(count > 1000);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn full_objects_round_trip() {
    let Some(folder) = upstream("full and sparse objects") else { return };
    let mut count = 0;
    for entry in fs::read_dir(folder.join("wire")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let json = fs::read(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let [kind, version, group] = name.rsplitn(3, '.').collect::<Vec<_>>()[..] else { panic!("{name}") };
        let of = find_kind(if group == "core" { "" } else { group }, version, kind).unwrap();
        let typed = json::decode(of, &json).unwrap().value;
        let untyped = json::decode_untyped(&json).unwrap().value;
        assert_eq!(unstructured::from_typed(&typed), untyped, "{path:?}");
        let again = unstructured::to_typed(of, &untyped).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert_eq!(text(&again.value), text(&unstructured::to_typed(of, &typed).unwrap().value), "{path:?}");
        assert_eq!(again.strict, [""; 0], "{path:?}");
        assert!(unstructured::to_typed(of, &typed).unwrap().value.is_same(&typed), "{path:?}");
        count += 1;
    }
    assert!(count > 100);
}
