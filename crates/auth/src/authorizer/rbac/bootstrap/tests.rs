//! The tables against what the reference publishes, and what they become.

use std::collections::BTreeMap;

use pintle_codec::{json, yaml};
use pintle_features::Features;
use pintle_meta::Value;

use super::*;

fn read(text: &[u8]) -> Value {
    json::decode_untyped(text).unwrap().value
}

type Key = (String, String, String);

fn key(object: &Value) -> Key {
    (object.kind().into(), object.namespace().into(), object.name().into())
}

fn by_key(features: Features) -> BTreeMap<Key, Value> {
    let mut found = BTreeMap::new();
    for expected in objects(features) {
        let object = read(expected.json.as_bytes());
        assert_eq!((object.namespace(), object.name()), (expected.namespace, &*expected.name));
        assert_eq!(expected.is_binding, object.kind().ends_with("Binding"));
        let before = found.insert(key(&object), object);
        assert!(before.is_none(), "{} is there twice", expected.name);
    }
    found
}

/// The objects of a published list, or list of lists, without what says nothing.
fn published(file: &str) -> Vec<Value> {
    let Some(folder) = pintle_published::upstream("bootstrap roles and bindings") else { return Vec::new() };
    let text = std::fs::read(folder.join("rbac").join(file)).unwrap();
    let list = read(&yaml::to_json(&text).unwrap());
    let mut objects = Vec::new();
    for item in list.items_at(&["items"]) {
        match item.kind() {
            "List" => objects.extend_from_slice(item.items_at(&["items"])),
            _ => objects.push(item.clone()),
        }
    }
    for object in &mut objects {
        let object = object.as_object_mut().unwrap();
        object.retain(|_, value| !value.is_null());
    }
    objects
}

fn compare(files: &[&str], features: Features, is_all: bool) {
    if pintle_published::upstream("bootstrap roles and bindings").is_none() {
        return;
    }
    let mut ours = by_key(features);
    for file in files {
        for theirs in published(file) {
            let own = ours.remove(&key(&theirs)).unwrap_or_else(|| panic!("{:?} is missing", key(&theirs)));
            let text = |value: &Value| {
                let mut out = Vec::new();
                json::encode(value, &mut out);
                String::from_utf8(out).unwrap()
            };
            assert_eq!(text(&own), text(&theirs));
        }
    }
    assert!(!is_all || ours.is_empty(), "more than is published: {:?}", ours.keys());
}

#[test]
fn the_tables_are_those_of_the_reference() {
    let files = [
        "cluster-roles.yaml",
        "cluster-role-bindings.yaml",
        "controller-roles.yaml",
        "controller-role-bindings.yaml",
        "namespace-roles.yaml",
        "namespace-role-bindings.yaml",
    ];
    compare(&files, Features::default(), true);
}

#[test]
fn with_all_features_the_tables_are_those_of_the_reference() {
    compare(&["cluster-roles-featuregates.yaml"], Features::all(), false);
}

#[test]
fn features_bring_their_roles_bindings_rules_and_paths() {
    let (some, all) = (by_key(Features::default()), by_key(Features::all()));
    let none = by_key(Features::none());
    assert_eq!((none.len(), some.len(), all.len()), (131, 133, 147));
    let role = |name: &str| ("ClusterRole".to_owned(), String::new(), name.to_owned());
    let rules = |objects: &BTreeMap<Key, Value>, name: &str| objects[&role(name)].items_at(&["rules"]).len();
    assert_eq!((rules(&some, "system:node"), rules(&all, "system:node")), (25, 27));
    let job = "system:controller:job-controller";
    assert_eq!((rules(&some, job), rules(&all, job)), (5, 6));
    let paths = |objects: &BTreeMap<Key, Value>| {
        objects[&role("system:monitoring")].items_at(&["rules"])[0].items_at(&["nonResourceURLs"]).len()
    };
    assert_eq!((paths(&none), paths(&some)), (8, 10));
    // It takes both.
    let collector = role("system:controller:storage-version-garbage-collector");
    assert!(!by_key(Features::none().with(Feature::StorageVersionAPI, true)).contains_key(&collector));
}

#[test]
fn an_object_is_written_as_it_is_served() {
    let find = |name: &str, is_binding: bool| {
        let mut objects = objects(Features::default());
        objects.find(|object| object.name == name && object.is_binding == is_binding).unwrap().json
    };
    assert_eq!(
        find("view", false),
        concat!(
            r#"{"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"view","labels":"#,
            r#"{"kubernetes.io/bootstrapping":"rbac-defaults","rbac.authorization.k8s.io/aggregate-to-edit":"true"},"#,
            r#""annotations":{"rbac.authorization.kubernetes.io/autoupdate":"true"}},"aggregationRule":"#,
            r#"{"clusterRoleSelectors":[{"matchLabels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}]}}"#,
        )
    );
    assert_eq!(
        find("system:controller:token-cleaner", true),
        concat!(
            r#"{"kind":"RoleBinding","apiVersion":"rbac.authorization.k8s.io/v1","metadata":"#,
            r#"{"name":"system:controller:token-cleaner","namespace":"kube-system","labels":"#,
            r#"{"kubernetes.io/bootstrapping":"rbac-defaults"},"#,
            r#""annotations":{"rbac.authorization.kubernetes.io/autoupdate":"true"}},"#,
            r#""subjects":[{"kind":"ServiceAccount","name":"token-cleaner","namespace":"kube-system"}],"#,
            r#""roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"system:controller:token-cleaner"}}"#,
        )
    );
}
