//! Conversions against what a reference server stored and served. Reads `PINTLE_UPSTREAM` or the folder beside the
//! repository; where there is none, these say so and pass, and the vectors beside the code stand alone.

use std::collections::BTreeMap;
use std::fs;

use base64::Engine;
use pintle_codec::{json, protobuf};
use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::{Node, Value};
use pintle_published::{recorded, upstream};
use pintle_resources::conversion::{convert, convert_from, hub, round_trip};
use pintle_resources::defaults;
use pintle_schema::{Resources, Type, find_kind};

fn type_of(api_version: &str, kind: &str) -> Option<&'static Type> {
    let kind = GroupVersionKind::from_api_version(api_version, kind);
    find_kind(&kind.group, &kind.version, &kind.kind)
}

fn write(value: &Value) -> String {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    String::from_utf8(out).unwrap()
}

/// Where two trees differ.
fn differences(path: &str, a: &Value, b: &Value, out: &mut Vec<String>) {
    match (a.node(), b.node()) {
        (Node::Object(left), Node::Object(right)) => {
            for (key, a) in left.iter() {
                let path = format!("{path}.{key}");
                match right.get(key) {
                    Some(b) => differences(&path, a, b, out),
                    None => out.push(format!("{path}: gone")),
                }
            }
            let new = right.keys().filter(|key| !left.contains(key));
            out.extend(new.map(|key| format!("{path}.{key}: new")));
        }
        (Node::List(left), Node::List(right)) if left.len() == right.len() => {
            for (place, (a, b)) in left.iter().zip(right).enumerate() {
                differences(&format!("{path}[{place}]"), a, b, out);
            }
        }
        _ if a != b => out.push(format!("{path}: changed")),
        _ => {}
    }
}

/// What is not the same after the way to the stored version and back, and why. In the full objects, fields that must agree
/// hold different texts.
fn lossy(of: &str, difference: &str) -> Option<&'static str> {
    let ends = |text: &str| difference.ends_with(text);
    let reason = match of.split('.').next_back()? {
        _ if ends("spec.serviceAccount: changed") => "an alias of serviceAccountName, which wins",
        "Pod" | "PodStatusResult" if ends("podIPs[0].ip: changed") => "podIP wins",
        "Node" if ends("podCIDRs[0]: changed") => "podCIDR wins",
        "Secret" if ends("stringDataKey: new") || ends("stringData: gone") => "write-only, merged into data",
        "DaemonSet" if ends("deprecated.daemonset.template.generation: new") => "always written",
        "StatefulSet" if ends("volumeClaimTemplates[0].kind: new") => "claims say their kind",
        "StatefulSet" if ends("volumeClaimTemplates[0].apiVersion: new") => "claims say their kind",
        "Scale" if ends("status.selector: gone") => "made of targetSelector, which is no list of labels",
        "RoleBinding" | "ClusterRoleBinding" if of.contains("v1alpha1") && ends("[0].apiVersion: gone") => {
            "a version without a group says nothing of a kind that is not known"
        }
        "EndpointSlice" if of.contains("v1beta1") && ends("topology.kubernetes.io/hostname: new") => {
            "made of nodeName"
        }
        "HorizontalPodAutoscaler" if of.contains("v1.") && ends("kubernetes.io/current-metrics: new") => {
            "what was measured goes into an annotation, too"
        }
        _ => return None,
    };
    Some(reason)
}

#[test]
fn full_objects_come_back_from_their_stored_version() {
    let Some(folder) = upstream("full, sparse and stored objects") else { return };
    let (mut count, mut lossless, mut wrong) = (0, 0, Vec::new());
    for entry in fs::read_dir(folder.join("wire")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = fs::read(&path).unwrap();
        let said = json::decode_untyped(&text).unwrap().value;
        let Some(of) = type_of(said.api_version(), said.kind()) else {
            assert_eq!(path.file_name().unwrap(), "core.v1.WatchEvent.json", "that one says no kind");
            continue;
        };
        let value = json::decode(of, &text).unwrap().value;
        let stored = convert(hub(of), value.clone()).unwrap();
        assert_eq!(
            stored.api_version(),
            if of == hub(of) { value.api_version().into() } else { hub(of).api_version() }
        );
        let back = convert(of, stored.clone()).unwrap();
        let mut trip = value.clone();
        round_trip(of, &mut trip).unwrap();
        assert_eq!(write(&back), write(&trip), "{}", of.name);
        // Normal form: what is written is read as the same.
        for (of, value) in [(hub(of), &stored), (of, &back)] {
            let again = json::decode(of, write(value).as_bytes()).unwrap().value;
            assert_eq!(write(&again), write(value), "{}", of.name);
        }
        let mut found = Vec::new();
        differences("", &value, &back, &mut found);
        count += 1;
        lossless += usize::from(found.is_empty());
        wrong.extend(
            found
                .iter()
                .filter(|found| lossy(of.name, found).is_none())
                .map(|found| format!("{} {found}", of.name)),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 180 && lossless > 150, "{lossless} of {count}");
}

/// Empty, zero and null fields: whatever comes out is normal, so that reading what was written gives the same.
#[test]
fn sparse_objects_stay_normal_in_every_version() {
    let Some(folder) = upstream("full, sparse and stored objects") else { return };
    let mut count = 0;
    for line in fs::read_to_string(folder.join("wire-sparse.jsonl")).unwrap().lines() {
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = vector["json"].as_str().unwrap();
        let said = json::decode_untyped(text.as_bytes()).unwrap().value;
        let Some(of) = type_of(said.api_version(), said.kind()) else { continue };
        let value = json::decode(of, text.as_bytes()).unwrap().value;
        let stored = match convert(hub(of), value) {
            Ok(stored) => stored,
            Err(error) => panic!("{}: {error}", of.name),
        };
        let back = convert_from(hub(of), of, stored.clone()).unwrap();
        for (of, value) in [(hub(of), &stored), (of, &back)] {
            let again = json::decode(of, write(value).as_bytes()).unwrap().value;
            assert_eq!(write(&again), write(value), "{}", of.name);
            let (mut a, mut b) = (Vec::new(), Vec::new());
            protobuf::encode(of, value, &mut a).unwrap();
            protobuf::encode(of, &again, &mut b).unwrap();
            assert_eq!(a, b, "{}", of.name);
        }
        count += 1;
    }
    assert!(count > 1000, "{count}");
}

/// Every stored value by its key, and the kind it says it is.
fn stored(folder: &std::path::Path) -> BTreeMap<String, (&'static Type, Value)> {
    let text = fs::read_to_string(folder.join("etcd-dump/keys.jsonl")).unwrap();
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let data = base64::engine::general_purpose::STANDARD.decode(line["value"].as_str().unwrap()).unwrap();
        let (of, value) = if protobuf::envelope::is_enveloped(&data) {
            let envelope = protobuf::envelope::open(&data).unwrap();
            let of = type_of(envelope.api_version, envelope.kind).unwrap();
            (of, protobuf::decode(of, envelope.raw).unwrap())
        } else {
            let said = json::decode_untyped(&data).unwrap().value;
            let of = type_of(said.api_version(), said.kind()).unwrap();
            (of, json::decode(of, &data).unwrap().value)
        };
        found.insert(line["key"].as_str().unwrap().into(), (of, value));
    }
    found
}

#[test]
fn what_is_stored_is_not_changed_on_the_way_through() {
    let Some(folder) = upstream("full, sparse and stored objects") else { return };
    let stored = stored(&folder);
    assert!(stored.len() > 500);
    for (key, (of, value)) in stored {
        let mut trip = value.clone();
        round_trip(of, &mut trip).unwrap();
        assert!(trip.is_same(&value), "{key}: {trip:?}");
    }
}

/// Everything that a reference server listed is what is stored, with defaults, in the version that was asked for.
#[test]
fn what_is_stored_is_listed_as_the_reference_lists_it() {
    let Some(folder) = upstream("full, sparse and stored objects") else { return };
    let stored = stored(&folder);
    let resources = Resources::builtin().unwrap();
    let lists: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("etcd-dump/lists.json")).unwrap()).unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for (path, list) in lists.as_object().unwrap() {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (group, version, name) = match parts[..] {
            ["api", version, name] => ("", version, name),
            ["apis", group, version, name] => (group, version, name),
            _ => panic!("{path}"),
        };
        let resource = resources.find(group, version, name).unwrap();
        let storage = resource.storage.unwrap();
        for item in list["items"].as_array().unwrap() {
            let metadata = &item["metadata"];
            let place = match metadata["namespace"].as_str() {
                Some(namespace) => format!("{namespace}/{}", metadata["name"].as_str().unwrap()),
                None => metadata["name"].as_str().unwrap().into(),
            };
            let key = format!("/registry/{}/{place}", storage.path);
            let (of, value) = stored.get(&key).unwrap_or_else(|| panic!("{key}"));
            let mut value = value.clone();
            defaults::apply(of, &mut value, &Default::default());
            let mut value = convert_from(of, resource.kind, value).unwrap();
            let object = value.as_object_mut().unwrap();
            object.remove("kind");
            object.remove("apiVersion");
            let got: serde_json::Value = serde_json::from_str(&write(&value)).unwrap();
            count += 1;
            if got != *item {
                wrong.push(format!("{path} {place}\n  got  {got}\n  want {item}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 700, "{count}");
}

/// Each stored value can be had in every version that is served of it, and comes back.
#[test]
fn what_is_stored_can_be_had_in_every_served_version() {
    let Some(folder) = upstream("full, sparse and stored objects") else { return };
    let resources = Resources::builtin().unwrap();
    let mut count = 0;
    for (key, (of, value)) in stored(&folder) {
        let all = resources.versions().iter().flat_map(|version| &version.resources);
        for served in all.filter(|resource| resource.storage.is_some_and(|storage| storage.kind == of)) {
            let there = convert_from(of, served.kind, value.clone()).unwrap();
            let back = convert_from(served.kind, of, there.clone()).unwrap();
            let mut out = Vec::new();
            protobuf::encode(served.kind, &there, &mut out).unwrap();
            let mut found = Vec::new();
            differences("", &value, &back, &mut found);
            if served.kind.name == "autoscaling/v1.HorizontalPodAutoscaler" {
                // `v1` has no way to say that the value was not measured.
                found.retain(|found| !found.ends_with("resource.current.averageValue: new"));
            }
            assert_eq!(found, Vec::<String>::new(), "{key} as {}", served.kind.name);
            count += 1;
        }
    }
    assert!(count > 700, "{count}");
}

/// Whole objects of built-in kinds in recorded answers; not what clients sent.
fn answered(value: &serde_json::Value, found: &mut Vec<String>) {
    let stored = value["kind"].is_string() && value["metadata"]["resourceVersion"].is_string();
    if stored && value.get("items").is_none() {
        // Names, times and the like are not recorded as they were.
        let text = value.to_string().replace("<time>", "2020-01-01T00:00:00.000000Z");
        found.push(text.replace(r#""<nodeport>""#, "30000"));
    }
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| answered(item, found)),
        serde_json::Value::Object(fields) => fields.values().for_each(|value| answered(value, found)),
        _ => {}
    }
}

#[test]
fn what_the_reference_answered_stays_as_it_is() {
    let mut found = Vec::new();
    for (_, golden) in recorded::exchanges() {
        answered(&serde_json::from_str(&golden).unwrap(), &mut found);
    }
    let mut kinds = BTreeMap::new();
    for text in found {
        let said = json::decode_untyped(text.as_bytes()).unwrap().value;
        let Some(of) = type_of(said.api_version(), said.kind()) else { continue };
        let value = json::decode(of, text.as_bytes()).unwrap().value;
        // Some exchanges were recorded without the spec.
        if of.name == "core/v1.Pod" && value.items_at(&["spec", "containers"]).is_empty() {
            continue;
        }
        let mut trip = value.clone();
        round_trip(of, &mut trip).unwrap();
        assert!(trip.is_same(&value), "{text}\n{}", write(&trip));
        *kinds.entry(of.name).or_insert(0) += 1;
    }
    assert!(kinds.values().sum::<usize>() > 300 && kinds.len() > 50, "{kinds:?}");
    assert!(kinds.contains_key("apiextensions/v1.CustomResourceDefinition"));
}
