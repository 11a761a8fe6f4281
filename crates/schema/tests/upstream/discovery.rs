//! Resources and their storage.

use pintle_schema::{GroupVersion, Resource, Resources};
use serde_json::{Value as Json, json};

use super::{document, none, text};

fn builtin() -> Resources {
    Resources::builtin().unwrap()
}

#[test]
fn groups_and_versions_are_in_the_order_of_discovery() {
    let Some(document) = document("discovery/apis.json") else { return };
    let text_of = |value: &Json| value.as_str().unwrap().to_owned();
    let versions_of = |group: &Json| {
        group["versions"].as_array().unwrap().iter().map(|version| text_of(&version["version"])).collect()
    };
    let want: Vec<(String, Vec<String>, String)> = document["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| {
            (text_of(&group["name"]), versions_of(group), text_of(&group["preferredVersion"]["version"]))
        })
        .collect();
    let resources = builtin();
    let have = resources.groups().skip(1).map(|versions| {
        let group = versions[0].group;
        let preferred = resources.preferred_version(group).unwrap();
        (
            group.to_owned(),
            versions.iter().map(|version| version.version.to_owned()).collect(),
            preferred.to_owned(),
        )
    });
    assert_eq!(want, have.collect::<Vec<_>>());
}

#[test]
fn resources_are_those_of_discovery_in_its_order() {
    let mut differences = Vec::new();
    for version in builtin().versions() {
        let name = match version.group {
            "" => format!("discovery/api__{}.json", version.version),
            group => format!("discovery/apis__{group}__{}.json", version.version),
        };
        let Some(document) = document(&name) else { return };
        let want = document["resources"].as_array().unwrap();
        let have: Vec<Json> = version.resources.iter().map(|resource| listed(version, resource)).collect();
        for (place, (want, have)) in want.iter().zip(&have).enumerate() {
            let mut want = want.clone();
            // A hash of the storage version, which the table of keys is compared with.
            let stored = want.as_object_mut().unwrap().remove("storageVersionHash").is_some();
            if want != *have || stored != version.resources[place].storage.is_some() {
                differences.push(format!("{name}: want {want}, stored {stored}, have {have}"));
            }
        }
        if want.len() != have.len() {
            differences.push(format!("{name}: want {} resources, have {}", want.len(), have.len()));
        }
    }
    none(&differences);
}

/// A resource as discovery lists it.
fn listed(version: &GroupVersion, resource: &Resource) -> Json {
    let name = match resource.subresource {
        Some(subresource) => format!("{}/{subresource}", resource.name),
        None => resource.name.to_owned(),
    };
    let mut listed = json!({
        "name": name,
        "kind": resource.kind.kind_name(),
        "namespaced": resource.namespaced,
        "singularName": resource.singular,
        "verbs": resource.verbs,
    });
    for (key, values) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !values.is_empty() {
            listed[key] = json!(values);
        }
    }
    if (&*resource.kind.group(), resource.kind.version()) != (version.group, version.version) {
        listed["group"] = json!(resource.kind.group());
        listed["version"] = json!(resource.kind.version());
    }
    listed
}

#[test]
fn objects_have_the_references_storage_path_and_version() {
    let Some(text) = text("etcd-keys.tsv") else { return };
    let (resources, mut differences, mut checked) = (builtin(), Vec::new(), 0);
    for line in text.lines().skip(1) {
        let [resource, key, kind, ..] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let [group, version, name] = resource.split('/').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if key.is_empty() {
            continue;
        }
        // Removed versions, and custom resources.
        let Some(found) = resources.find(group, version, name) else { continue };
        let Some(storage) = found.storage else {
            differences.push(format!("{resource} is not stored"));
            continue;
        };
        checked += 1;
        let namespace = if found.namespaced { "/etcdstoragepathtestnamespace" } else { "" };
        let prefix = format!("/registry/{}{namespace}/", storage.path);
        if key.strip_prefix(&prefix).is_none_or(|name| name.contains('/')) {
            differences.push(format!("{resource}: want {key}, have {prefix}"));
        }
        let (stored_group, stored_version) = (storage.kind.group(), storage.kind.version());
        let stored = format!("{stored_group}/{stored_version}/{}", storage.kind.kind_name());
        let want = if kind.is_empty() {
            format!("{group}/{version}/{}", found.kind.kind_name())
        } else {
            kind.into()
        };
        if stored != want {
            differences.push(format!("{resource}: want {want}, have {stored}"));
        }
    }
    none(&differences);
    let kept = resources.versions().iter().flat_map(|version| &version.resources);
    assert_eq!(checked, kept.filter(|resource| resource.storage.is_some()).count());
}
