//! The reference's published data, where it is present.

use std::fs;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_meta::Value;
use pintle_schema::Type;

use super::super::transcode::{Options, Transcoder, TypeMeta, is_normal};
use super::super::{decode, encode, envelope, with_resource_version};
use crate::json;

/// Returns `None` if the data is not present.
pub(super) fn folder() -> Option<PathBuf> {
    pintle_published::upstream("protobuf of full and sparse objects and of stored values")
}

pub(super) fn kind(api_version: &str, kind: &str) -> Option<&'static Type> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    match (api_version, kind) {
        ("v1", "List") => pintle_schema::find("core/v1.List"),
        // A watch event in an envelope has no kind.
        ("", "") => pintle_schema::find("meta/v1.WatchEvent"),
        _ => pintle_schema::find_kind(group, version, kind),
    }
}

/// Returns every protobuf document by name, with its envelope.
pub(super) fn documents() -> Vec<(String, Vec<u8>)> {
    let Some(folder) = folder() else { return Vec::new() };
    let mut found = Vec::new();
    for file in fs::read_dir(folder.join("wire")).unwrap().map(Result::unwrap) {
        if file.path().extension().is_some_and(|extension| extension == "pb") {
            found.push((file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap()));
        }
    }
    assert!(found.len() > 100);
    let (sparse, stored) = (folder.join("wire-sparse.jsonl"), folder.join("etcd-dump/keys.jsonl"));
    for (path, name, bytes) in [(sparse, "gvk", "pb"), (stored, "key", "value")] {
        for line in fs::read_to_string(path).unwrap().lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let bytes = STANDARD.decode(line[bytes].as_str().unwrap_or_default()).unwrap();
            if envelope::is_enveloped(&bytes) {
                let variant = line["variant"].as_str().unwrap_or_default();
                found.push((format!("{} {variant}", line[name].as_str().unwrap()), bytes));
            }
        }
    }
    found
}

#[test]
fn every_document_decodes_and_encodes_to_the_same_bytes() {
    let (mut failures, mut count) = (Vec::new(), 0);
    for (name, document) in documents() {
        let envelope = envelope::open(&document).unwrap();
        let Some(of) = kind(envelope.api_version, envelope.kind) else {
            failures.push(format!("{name}: unknown kind {} {}", envelope.api_version, envelope.kind));
            continue;
        };
        let result = decode(of, envelope.raw).and_then(|tree| {
            let (mut raw, mut whole) = (Vec::new(), Vec::new());
            encode(of, &tree, &mut raw)?;
            envelope::write(envelope.api_version, envelope.kind, &raw, &mut whole);
            Ok((tree, whole))
        });
        count += 1;
        match result {
            Ok((_, whole)) if whole == document => {}
            Ok((tree, whole)) => failures.push(format!(
                "{name}: {tree:?}\n  want {}\n  have {}",
                document.escape_ascii(),
                whole.escape_ascii()
            )),
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {count} fail\n{}",
        failures.len(),
        failures[..failures.len().min(8)].join("\n")
    );
    assert!(count > 1000 || folder().is_none(), "only {count} documents");
}

#[test]
fn every_document_transcodes_to_the_json_of_its_tree() {
    let mut transcoder = Transcoder::default();
    for (name, document) in documents() {
        let envelope = envelope::open(&document).unwrap();
        let of = kind(envelope.api_version, envelope.kind).unwrap();
        let mut tree = decode(of, envelope.raw).unwrap();
        let (mut want, mut have) = (Vec::new(), Vec::new());
        json::encode(&tree, &mut want);
        let quick = transcoder.transcode_directly(of, envelope.raw, &Options::default(), &mut have);
        assert!(quick, "{name} took the slow way");
        assert_eq!(String::from_utf8(have).unwrap(), String::from_utf8(want).unwrap(), "{name}");

        assert!(is_normal(of, envelope.raw), "{name} is normal");
        let type_meta = Some(TypeMeta { kind: envelope.kind, api_version: envelope.api_version });
        let object = tree.as_object_mut().unwrap();
        object.insert("kind", envelope.kind);
        object.insert("apiVersion", envelope.api_version);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion", "123");
            let (mut want, mut have) = (Vec::new(), Vec::new());
            json::encode(&tree, &mut want);
            let options = Options { type_meta, resource_version: Some("123") };
            assert!(
                transcoder.transcode_directly(of, envelope.raw, &options, &mut have),
                "{name} took the slow way"
            );
            assert_eq!(String::from_utf8(have).unwrap(), String::from_utf8(want).unwrap(), "{name}");
            let (mut want, mut have) = (Vec::new(), Vec::new());
            encode(of, &tree, &mut want).unwrap();
            with_resource_version(of, envelope.raw, "123", &mut have).unwrap();
            assert_eq!(have, want, "{name}");
        }
    }
}

#[test]
fn sparse_json_encodes_to_the_references_bytes() {
    let Some(folder) = folder() else { return };
    let mut failures = Vec::new();
    for line in fs::read_to_string(folder.join("wire-sparse.jsonl")).unwrap().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let want = STANDARD.decode(line["pb"].as_str().unwrap_or_default()).unwrap();
        if want.is_empty() {
            continue;
        }
        let (version, name) =
            (line["in"]["apiVersion"].as_str().unwrap(), line["in"]["kind"].as_str().unwrap());
        let of = kind(version, name).unwrap();
        let tree = json::decode(of, line["in"].to_string().as_bytes()).unwrap().value;
        let (mut raw, mut have) = (Vec::new(), Vec::new());
        encode(of, &tree, &mut raw).unwrap();
        envelope::write(version, name, &raw, &mut have);
        if have != want {
            failures.push(format!(
                "{} {}\n  want {}\n  have {}",
                line["gvk"],
                line["variant"],
                want.escape_ascii(),
                have.escape_ascii()
            ));
        }
    }
    assert!(failures.is_empty(), "{} fail\n{}", failures.len(), failures[..failures.len().min(8)].join("\n"));
}

#[test]
fn full_objects_in_json_encode_to_the_references_protobuf() {
    let Some(folder) = folder() else { return };
    let mut count = 0;
    for file in fs::read_dir(folder.join("wire")).unwrap().map(Result::unwrap) {
        let (json_path, path) = (file.path().with_extension("json"), file.path());
        if path.extension().is_none_or(|extension| extension != "pb") {
            continue;
        }
        let document = fs::read(path).unwrap();
        let envelope = envelope::open(&document).unwrap();
        // The watch event has no kind in its envelope.
        if envelope.kind.is_empty() {
            continue;
        }
        let of = kind(envelope.api_version, envelope.kind).unwrap();
        // Raw JSON is preserved, so it must be compact before it is decoded.
        let (mut compact, mut raw) = (Vec::new(), Vec::new());
        json::encode(&json::decode(of, &fs::read(json_path).unwrap()).unwrap().value, &mut compact);
        encode(of, &json::decode(of, &compact).unwrap().value, &mut raw).unwrap();
        assert_eq!(
            raw.escape_ascii().to_string(),
            envelope.raw.escape_ascii().to_string(),
            "{}",
            envelope.kind
        );
        count += 1;
    }
    assert!(count > 100);
}
