//! JSON against the output of a reference server. Reads `PINTLE_UPSTREAM` or the folder beside the repository;
//! without it, these tests print that and pass, and the unit tests' vectors remain.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_codec::negotiate::Encoding;
use pintle_codec::{json, kind};
use pintle_meta::gvk::GroupVersionKind;
use pintle_published::upstream;
use pintle_schema::{Type, find_kind};
use serde_json::Value as Json;

fn type_of(api_version: &str, kind: &str) -> Option<&'static Type> {
    let gvk = GroupVersionKind::from_api_version(api_version, kind);
    find_kind(&gvk.group, &gvk.version, &gvk.kind)
}

fn recoded(of: &'static Type, text: &[u8]) -> Result<String, String> {
    let decoded = json::decode(of, text).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    json::encode(&decoded.value, &mut out);
    String::from_utf8(out).map_err(|error| error.to_string())
}

#[test]
fn sparse_objects_are_encoded_as_the_reference_does() {
    let Some(folder) = upstream("JSON of full and sparse objects and of stored values") else { return };
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in fs::read_to_string(folder.join("wire-sparse.jsonl")).unwrap().lines() {
        let vector: Json = serde_json::from_str(line).unwrap();
        let input = &vector["in"];
        let (version, kind) = (input["apiVersion"].as_str().unwrap(), input["kind"].as_str().unwrap());
        let of = type_of(version, kind).unwrap_or_else(|| panic!("{version} {kind} has no type"));
        let got = recoded(of, input.to_string().as_bytes());
        count += 1;
        if got.as_deref() != Ok(vector["json"].as_str().unwrap()) {
            wrong.push(format!(
                "{} {}:\n  got  {got:?}\n  want {:?}",
                vector["gvk"], vector["variant"], vector["json"]
            ));
        }
    }
    assert!(count > 1000);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn full_objects_round_trip() {
    let Some(folder) = upstream("JSON of full and sparse objects and of stored values") else { return };
    let mut count = 0;
    for entry in fs::read_dir(folder.join("wire")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        // GROUP.VERSION.KIND, where the group may have dots.
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let [kind, version, group] = name.rsplitn(3, '.').collect::<Vec<_>>()[..] else { panic!("{name}") };
        let of = find_kind(if group == "core" { "" } else { group }, version, kind);
        let of = of.unwrap_or_else(|| panic!("{name} has no type"));
        let decoded = json::decode(of, text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(decoded.strict, [""; 0], "{name}");
        let mut out = Vec::new();
        json::encode_pretty(&decoded.value, &mut out);
        assert_eq!(String::from_utf8(out).unwrap().trim_end(), text.trim_end(), "{name}");
        count += 1;
    }
    assert!(count > 100);
}

#[test]
fn stored_values_round_trip_also_through_json() {
    let Some(folder) = upstream("JSON of full and sparse objects and of stored values") else { return };
    let (mut texts, mut messages) = (0, 0);
    for line in fs::read_to_string(folder.join("etcd-dump/keys.jsonl")).unwrap().lines() {
        let entry: Json = serde_json::from_str(line).unwrap();
        let key = entry["key"].as_str().unwrap();
        let bytes = STANDARD.decode(entry["value"].as_str().unwrap()).unwrap();
        let encoding = kind::recognize(&bytes);
        let found = kind::decode(encoding, &bytes, None).unwrap_or_else(|error| panic!("{key}: {error}"));
        let mut out = Vec::new();
        json::encode(&found.decoded.value, &mut out);
        if encoding == Encoding::Json {
            texts += 1;
            out.push(b'\n');
            assert_eq!(String::from_utf8(out).unwrap(), String::from_utf8(bytes).unwrap(), "{key}");
        } else {
            messages += 1;
            let again = kind::decode(Encoding::Json, &out, None).unwrap();
            assert_eq!((again.of, &again.kind), (found.of, &found.kind), "{key}");
            assert_eq!(again.decoded, found.decoded, "{key}");
        }
    }
    assert!(texts > 0 && messages > 0, "{texts} {messages}");
}
