//! That every resource has a strategy, and what the rules of a table do.

use pintle_codec::json;
use pintle_meta::Value;
use pintle_registry::{Context, Strategy};
use pintle_schema::Resources;

use super::*;

/// Subresources that write a stored object as a whole. Others (binding, eviction, scale) are of another kind.
fn writes_the_object(resource: &pintle_schema::Resource, all: &[pintle_schema::Resource]) -> bool {
    let writes = resource.verbs.iter().any(|verb| ["update", "create"].contains(verb));
    let main = all.iter().find(|main| main.name == resource.name && main.subresource.is_none());
    writes && main.is_some_and(|main| main.kind == resource.kind && main.storage.is_some())
}

#[test]
fn every_stored_resource_and_what_writes_it_has_a_strategy() {
    let resources = Resources::builtin().unwrap();
    let settings = Settings::default();
    let mut missing = Vec::new();
    for version in resources.versions() {
        for resource in version.resources.iter().filter(|found| writes_the_object(found, &version.resources))
        {
            let name = match resource.subresource {
                Some(subresource) => format!("{}/{subresource}", resource.name),
                None => resource.name.to_owned(),
            };
            if of(version.group, &name, &settings).is_none() {
                missing.push(format!("{}/{} {name}", version.group, version.version));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn what_no_table_names_has_no_strategy() {
    let settings = Settings::default();
    assert!(of("example.com", "pods", &settings).is_none());
    assert!(of("", "nothings", &settings).is_none());
    assert!(of("apps", "deployments/nothing", &settings).is_none());
}

const TABLE: &[Entry] = &[
    Entry {
        name: "limits",
        kind: "core/v1.ResourceQuota",
        rules: Rules { recheck: MetadataRecheck::Both, ..Rules::NAMESPACED.with_status().counting_spec() },
    },
    Entry { name: "limits/status", kind: "core/v1.ResourceQuota", rules: Rules::NAMESPACED.of_status() },
];

fn find(name: &str) -> Arc<dyn Strategy> {
    rules::find(TABLE, name, &Settings::default()).unwrap()
}

fn quota(text: &str) -> Value {
    let of = pintle_schema::find("core/v1.ResourceQuota").unwrap();
    json::decode(of, text.as_bytes()).unwrap().value
}

fn text(value: &Value) -> String {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    String::from_utf8(out).unwrap()
}

const FULL: &str = r#"{"metadata":{"name":"a","namespace":"n","generation":7},"spec":{"hard":{"pods":"1"}},"status":{"used":{"pods":"1"}}}"#;

#[test]
fn a_new_object_is_of_the_first_generation_and_has_no_status() {
    let mut object = quota(FULL);
    find("limits").prepare_for_create(&mut Context::default(), &mut object);
    let expected = r#"{"metadata":{"name":"a","namespace":"n","generation":1},"spec":{"hard":{"pods":"1"}},"status":{}}"#;
    assert_eq!(text(&object), expected);
}

#[test]
fn an_update_keeps_the_status_and_counts_changes_of_the_spec() {
    let (old, context) = (quota(FULL), Context::default());
    let mut new = quota(
        r#"{"metadata":{"name":"a","namespace":"n","generation":7,"labels":{"a":"b"}},"spec":{"hard":{"pods":"1"}}}"#,
    );
    find("limits").prepare_for_update(&context, &mut new, &old);
    assert_eq!((new.generation(), new.get("status")), (7, old.get("status")));
    let mut new = quota(
        r#"{"metadata":{"name":"a","namespace":"n","generation":7},"spec":{"hard":{"pods":"2"}},"status":{"used":{"pods":"9"}}}"#,
    );
    find("limits").prepare_for_update(&context, &mut new, &old);
    assert_eq!((new.generation(), new.get("status")), (8, old.get("status")));
}

#[test]
fn a_status_update_keeps_the_spec() {
    let old = quota(FULL);
    let mut new = quota(r#"{"metadata":{"name":"a","namespace":"n"},"status":{"used":{"pods":"9"}}}"#);
    find("limits/status").prepare_for_update(&Context::default(), &mut new, &old);
    assert_eq!(new.get("spec"), old.get("spec"));
    assert_eq!(new.text_at(&["status", "used", "pods"]), "9");
}

#[test]
fn names_are_checked_as_the_kind_asks() {
    let object = quota(r#"{"metadata":{"name":"A","namespace":"n","resourceVersion":"1"}}"#);
    let errors = find("limits").validate(&Context::default(), &object);
    assert!(errors.iter().any(|error| error.to_string().starts_with("metadata.name: Invalid value: \"A\"")));
    assert!(!find("limits").validate_update(&Context::default(), &object, &object).is_empty());
    assert!(find("limits/status").validate_update(&Context::default(), &object, &object).is_empty());
}
