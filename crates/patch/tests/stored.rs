//! Managers of stored objects of the reference, if the recording is present.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_codec::json;
use pintle_meta::Value;
use pintle_patch::fieldset::Set;
use pintle_patch::managed::Managed;
use pintle_patch::typed::to_field_set;
use pintle_schema::find_kind;
use serde_json::Value as Json;

fn dump() -> Vec<Json> {
    let Some(folder) = pintle_published::upstream("managed fields of stored values") else {
        return Vec::new();
    };
    let text = std::fs::read_to_string(folder.join("etcd-dump/keys.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn object(line: &Json) -> Option<Value> {
    let bytes = STANDARD.decode(line["value"].as_str()?).ok()?;
    match bytes.strip_prefix(b"k8s\0") {
        Some(_) => {
            let envelope = pintle_codec::protobuf::envelope::open(&bytes).ok()?;
            let said = (envelope.api_version, envelope.kind);
            let (group, version) = said.0.split_once('/').unwrap_or(("", said.0));
            let of = find_kind(group, version, said.1)?;
            let mut value = pintle_codec::protobuf::decode(of, envelope.raw).ok()?;
            let root = value.as_object_mut()?;
            root.insert("kind", Value::string(said.1));
            root.insert("apiVersion", Value::string(said.0));
            Some(value)
        }
        None => {
            let plain = json::decode_untyped(&bytes).ok()?.value;
            let said = plain.group_version_kind();
            let of = find_kind(&said.group, &said.version, &said.kind)?;
            Some(json::decode(of, &bytes).ok()?.value)
        }
    }
}

#[test]
fn stored_managers_round_trip() {
    let (mut entries, mut lines) = (0, 0);
    for line in dump() {
        lines += 1;
        let Some(object) = object(&line) else { continue };
        let managed = Managed::of(&object).unwrap();
        let mut again = object.clone();
        managed.set(&mut again);
        assert_eq!(again, object, "{}", line["key"]);
        for entry in object.items_at(&["metadata", "managedFields"]) {
            let raw = entry.get("fieldsV1").and_then(Value::as_raw).unwrap();
            let set = Set::from_json(raw).unwrap();
            assert_eq!(String::from_utf8_lossy(&set.to_json()), String::from_utf8_lossy(raw));
            entries += 1;
        }
    }
    assert!(lines == 0 || entries > 100, "only {entries} entries");
}

/// Managed fields exist; and objects that were only created have all fields managed.
#[test]
fn managed_fields_match_the_objects_fields() {
    let (mut checked, mut lines) = (0, 0);
    for line in dump() {
        lines += 1;
        let Some(object) = object(&line) else { continue };
        let managed = Managed::of(&object).unwrap();
        let said = object.group_version_kind();
        let of = find_kind(&said.group, &said.version, &said.kind).unwrap();
        let has = to_field_set(of.into(), &object).unwrap();
        for manager in managed.managers.values().filter(|manager| manager.api_version == object.api_version())
        {
            let missing = manager.fields.clone().leaves().difference(&has);
            assert!(missing.is_empty(), "{}: {missing}", line["key"]);
            checked += 1;
        }
    }
    assert!(lines == 0 || checked > 100, "only {checked} managers");
}
