//! Every published object in each of its encodings, converted to all of them, if the data is present.

use std::path::PathBuf;

use pintle_codec::{json, protobuf, yaml};
use pintle_meta::Value;
use pintle_meta::gvk::GroupVersionKind;
use pintle_schema::{Type, find, find_kind};

fn wire() -> Option<PathBuf> {
    pintle_published::upstream("full objects in three encodings").map(|folder| folder.join("wire"))
}

/// Adds kind and apiVersion, which protobuf has in its envelope, and the others in the object.
fn with_kind(of: &'static Type, mut value: Value, kind: &GroupVersionKind) -> Value {
    let has_kind = of.structure().is_some_and(|of| of.position("kind").is_some());
    if let Some(object) = value.as_object_mut().filter(|_| has_kind) {
        object.insert("kind", kind.kind.as_str());
        object.insert("apiVersion", kind.api_version());
    }
    value
}

#[test]
fn each_encoding_of_an_object_converts_to_the_others() {
    let Some(folder) = wire() else { return };
    let mut checked = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "pb") {
            continue;
        }
        let read = |extension: &str| std::fs::read(path.with_extension(extension)).unwrap();
        let (as_json, as_protobuf, as_yaml) = (read("json"), read("pb"), read("yaml"));
        let envelope = protobuf::envelope::open(&as_protobuf).unwrap();
        let kind = GroupVersionKind::from_api_version(envelope.api_version, envelope.kind);
        // A watch event has no kind of its own; its stream implies it.
        let of = match kind.kind.as_str() {
            "" => find("meta/v1.WatchEvent"),
            name => find_kind(&kind.group, &kind.version, name),
        };
        let of = of.unwrap_or_else(|| panic!("{kind}"));
        let from_json = json::decode(of, &as_json).unwrap();
        let from_yaml = json::decode(of, &yaml::to_json(&as_yaml).unwrap()).unwrap();
        assert!(from_json.strict.is_empty() && from_yaml.strict.is_empty(), "{kind}");
        let from_protobuf = with_kind(of, protobuf::decode(of, envelope.raw).unwrap(), &kind);
        for (source, value) in
            [("json", &from_json.value), ("protobuf", &from_protobuf), ("yaml", &from_yaml.value)]
        {
            let (mut text, mut message, mut enveloped, mut document) = Default::default();
            json::encode_pretty(value, &mut text);
            assert_eq!(
                String::from_utf8_lossy(&text).trim_end(),
                String::from_utf8_lossy(&as_json).trim_end(),
                "{kind} from {source} to json"
            );
            // Raw JSON is preserved; the file's is compact.
            let compact = recompacted(of, value);
            protobuf::encode(of, &compact, &mut message).unwrap();
            protobuf::envelope::write(envelope.api_version, envelope.kind, &message, &mut enveloped);
            assert!(enveloped == as_protobuf, "{kind} from {source} to protobuf");
            yaml::encode(value, &mut document);
            assert_eq!(
                String::from_utf8_lossy(&document),
                String::from_utf8_lossy(&as_yaml),
                "{kind} from {source} to yaml"
            );
            checked += 1;
        }
    }
    assert!(checked > 500, "{checked}");
}

fn recompacted(of: &'static Type, value: &Value) -> Value {
    let mut text = Vec::new();
    json::encode(value, &mut text);
    json::decode(of, &text).unwrap().value
}
