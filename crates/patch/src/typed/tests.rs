use pintle_codec::json;
use pintle_meta::Value;
use pintle_schema::find;

use super::*;
use crate::fieldset::Set;

fn typed(name: &str, text: &str) -> (TypeRef<'static>, Value) {
    let of = find(name).unwrap();
    (of.into(), json::decode(of, text.as_bytes()).unwrap().value)
}

fn untyped(text: &str) -> Value {
    json::decode_untyped(text.as_bytes()).unwrap().value
}

fn text(set: &Set) -> String {
    String::from_utf8(set.to_json()).unwrap()
}

/// Checks the field set of an object.
#[track_caller]
fn fields(name: &str, object: &str, expected: &str) {
    let (of, value) = typed(name, object);
    assert_eq!(text(&to_field_set(of, &value).unwrap()), expected);
}

/// Checks the added, modified and removed fields.
#[track_caller]
fn changes(name: &str, old: &str, new: &str, expected: [&str; 3]) {
    let ((of, old), (_, new)) = (typed(name, old), typed(name, new));
    let found = compare(of, &old, &new).unwrap();
    assert_eq!([&found.added, &found.modified, &found.removed].map(text), expected);
    let back = compare(of, &new, &old).unwrap();
    assert_eq!((back.added, back.modified, back.removed), (found.removed, found.modified, found.added));
    assert!(compare(of, &new, &new.clone()).unwrap().is_same());
}

#[test]
fn maps_are_owned_by_entry_unless_they_are_atomic() {
    let rc = r#"{"metadata":{"labels":{"a":"1"}},"spec":{"selector":{"x":"y"}}}"#;
    fields(
        "core/v1.ReplicationController",
        rc,
        r#"{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:selector":{}},"f:status":{"f:replicas":{}}}"#,
    );
    changes(
        "core/v1.ReplicationController",
        r#"{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"selector":{"x":"y"}}}"#,
        r#"{"metadata":{"labels":{"a":"2","c":"3"}},"spec":{"selector":{"z":"y"}}}"#,
        [
            r#"{"f:metadata":{"f:labels":{"f:c":{}}}}"#,
            r#"{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:selector":{}}}"#,
            r#"{"f:metadata":{"f:labels":{"f:b":{}}}}"#,
        ],
    );
}

#[test]
fn a_new_value_is_added_with_all_its_fields() {
    changes(
        "core/v1.ConfigMap",
        r#"{"metadata":{"name":"a"}}"#,
        r#"{"metadata":{"name":"a"},"data":{"x":"1"},"binaryData":{}}"#,
        [r#"{"f:data":{".":{},"f:x":{}}}"#, "{}", "{}"],
    );
}

#[test]
fn items_are_identified_by_their_keys_and_key_defaults() {
    let port = r#"{"spec":{"ports":[{"port":80},{"port":80,"protocol":"UDP"}]}}"#;
    fields(
        "core/v1.Service",
        port,
        r#"{"f:metadata":{},"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:targetPort":{}},"k:{\"port\":80,\"protocol\":\"UDP\"}":{".":{},"f:port":{},"f:protocol":{},"f:targetPort":{}}}},"f:status":{"f:loadBalancer":{}}}"#,
    );
    changes(
        "core/v1.Service",
        r#"{"spec":{"ports":[{"port":80},{"port":81}]}}"#,
        r#"{"spec":{"ports":[{"port":82},{"port":80,"name":"x"}]}}"#,
        [
            r#"{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:name":{}},"k:{\"port\":82,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:targetPort":{}}}}}"#,
            "{}",
            r#"{"f:spec":{"f:ports":{"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:targetPort":{}}}}}"#,
        ],
    );
}

#[test]
fn sets_are_owned_by_item_and_their_order_does_not_matter() {
    changes(
        "core/v1.ConfigMap",
        r#"{"metadata":{"finalizers":["a/b","c/d"]}}"#,
        r#"{"metadata":{"finalizers":["e/f","c/d"]}}"#,
        [
            r#"{"f:metadata":{"f:finalizers":{"v:\"e/f\"":{}}}}"#,
            "{}",
            r#"{"f:metadata":{"f:finalizers":{"v:\"a/b\"":{}}}}"#,
        ],
    );
}

#[test]
fn items_with_the_same_element_are_one() {
    let env = |values: &str| format!(r#"{{"spec":{{"containers":[{{"name":"c","env":[{values}]}}]}}}}"#);
    let one = env(r#"{"name":"a","value":"1"}"#);
    let two = env(r#"{"name":"a","value":"1"},{"name":"a","value":"2"}"#);
    let other = env(r#"{"name":"a","value":"1"},{"name":"a","value":"3"}"#);
    let at = |what: &str| {
        format!(r#"{{"f:spec":{{"f:containers":{{"k:{{\"name\":\"c\"}}":{{"f:env":{{{what}}}}}}}}}}}"#)
    };
    changes("core/v1.Pod", &two, &other, ["{}", &at(r#""k:{\"name\":\"a\"}":{}"#), "{}"]);
    // The reference reports the same element as added and removed.
    let ((of, one), (_, two)) = (typed("core/v1.Pod", &one), typed("core/v1.Pod", &two));
    let found = compare(of, &one, &two).unwrap();
    assert_eq!(text(&found.added), at(r#""k:{\"name\":\"a\"}":{}"#));
    assert_eq!(text(&found.removed), at(r#""k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:value":{}}"#));
    let set = to_field_set(of, &two).unwrap();
    assert!(text(&set).contains(r#""f:env":{"k:{\"name\":\"a\"}":{}}"#));
    assert!(validate(of, &two, true).is_ok());
    let invalid = validate(of, &two, false).unwrap_err();
    assert_eq!(
        invalid[0].to_string(),
        r#".spec.containers[name="c"].env: duplicate entries for key [name="a"]"#
    );
}

#[test]
fn atomic_structs_are_leaves_unless_the_field_is_granular() {
    let pv = r#"{"spec":{"claimRef":{"name":"a"},"nfs":{"server":"s","path":"p"}}}"#;
    fields(
        "core/v1.PersistentVolume",
        pv,
        r#"{"f:metadata":{},"f:spec":{"f:claimRef":{"f:name":{}},"f:nfs":{"f:path":{},"f:server":{}}},"f:status":{}}"#,
    );
    fields(
        "core/v1.Binding",
        r#"{"target":{"name":"a","kind":"Node"}}"#,
        r#"{"f:metadata":{},"f:target":{}}"#,
    );
}

#[test]
fn quantities_times_and_int_or_strings_are_leaves() {
    fields(
        "core/v1.ResourceQuota",
        r#"{"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"hard":{"cpu":"1"}}}"#,
        r#"{"f:metadata":{"f:creationTimestamp":{}},"f:spec":{"f:hard":{"f:cpu":{}}},"f:status":{}}"#,
    );
    changes(
        "policy/v1.PodDisruptionBudget",
        r#"{"spec":{"maxUnavailable":1}}"#,
        r#"{"spec":{"maxUnavailable":"10%"}}"#,
        ["{}", r#"{"f:spec":{"f:maxUnavailable":{}}}"#, "{}"],
    );
}

#[test]
fn raw_extensions_are_leaves_and_json_is_owned_by_field() {
    changes(
        "apps/v1.ControllerRevision",
        r#"{"data":{"a":1,"b":[1]},"revision":1}"#,
        r#"{"data":{"b":[1.0],"a":1},"revision":1}"#,
        ["{}"; 3],
    );
    changes(
        "apps/v1.ControllerRevision",
        r#"{"data":{"a":1},"revision":1}"#,
        r#"{"data":{"a":2},"revision":1}"#,
        ["{}", r#"{"f:data":{}}"#, "{}"],
    );
    changes(
        "apiextensions/v1.JSONSchemaProps",
        r#"{"default":{"a":1,"b":[1]},"items":{"type":"string"}}"#,
        r#"{"default":{"a":2,"b":[1],"c":{"d":null}},"items":{"type":"integer"}}"#,
        [
            r#"{"f:default":{"f:c":{".":{},"f:d":{}}}}"#,
            r#"{"f:default":{"f:a":{}},"f:items":{"f:type":{}}}"#,
            "{}",
        ],
    );
    changes(
        "apiextensions/v1.JSONSchemaProps",
        r#"{"default":{"a":1}}"#,
        r#"{"default":[1]}"#,
        ["{}", r#"{"f:default":{}}"#, r#"{"f:default":{"f:a":{}}}"#],
    );
}

#[test]
fn null_and_empty_differ() {
    let (of, old) = typed("core/v1.Pod", r#"{"spec":{"containers":null}}"#);
    let (_, new) = typed("core/v1.Pod", r#"{"spec":{"containers":[]}}"#);
    assert_eq!(text(&compare(of, &old, &new).unwrap().modified), r#"{"f:spec":{"f:containers":{}}}"#);
    assert_eq!(
        text(&to_field_set(of, &old).unwrap()),
        r#"{"f:metadata":{},"f:spec":{"f:containers":{}},"f:status":{}}"#
    );
}

#[test]
fn without_a_schema_objects_are_owned_by_field_and_lists_as_a_whole() {
    let old = untyped(r#"{"kind":"A","spec":{"a":{"b":1,"c":[{"name":"x"}]},"d":{}}}"#);
    let new = untyped(r#"{"kind":"A","spec":{"a":{"b":1.0,"c":[{"name":"y"}]},"d":"s","e":null}}"#);
    assert_eq!(
        text(&to_field_set(TypeRef::Deduced, &old).unwrap()),
        r#"{"f:kind":{},"f:spec":{".":{},"f:a":{".":{},"f:b":{},"f:c":{}},"f:d":{}}}"#
    );
    let found = compare(TypeRef::Deduced, &old, &new).unwrap();
    assert_eq!(text(&found.added), r#"{"f:spec":{"f:e":{}}}"#);
    assert_eq!(text(&found.modified), r#"{"f:spec":{"f:a":{"f:c":{}},"f:d":{}}}"#);
    assert_eq!(text(&found.removed), "{}");
}

#[test]
fn typed_and_untyped_trees_of_a_type_have_the_same_fields() {
    let secret =
        r#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"},"data":{"k":"aGk="},"type":"Opaque"}"#;
    let ((of, typed), untyped) = (typed("core/v1.Secret", secret), untyped(secret));
    assert_eq!(to_field_set(of, &typed).unwrap(), to_field_set(of, &untyped).unwrap());
    assert!(compare(of, &typed, &untyped).unwrap().is_same());
    assert!(compare(of, &untyped, &typed).unwrap().is_same());
    let unknown = self::untyped(r#"{"metadata":{"nonsense":1}}"#);
    let invalid = to_field_set(of, &unknown).unwrap_err();
    assert_eq!(invalid.to_string(), ".metadata.nonsense: field not declared in schema");
    assert_eq!(validate(of, &unknown, true).unwrap_err().first(), Some(&invalid));
    assert_eq!(compare(of, &typed, &unknown).unwrap_err(), invalid);
}

#[test]
fn items_without_keys_and_sets_with_objects_are_rejected() {
    let of: TypeRef<'_> = find("core/v1.Pod").unwrap().into();
    let bad = |text: &str| validate(of, &untyped(text), true).unwrap_err()[0].to_string();
    assert_eq!(
        bad(r#"{"metadata":{"ownerReferences":[null]}}"#),
        ".metadata.ownerReferences: element 0: associative list with keys may not have a null element"
    );
    assert_eq!(
        bad(r#"{"metadata":{"finalizers":["a",{}]}}"#),
        ".metadata.finalizers: element 1: associative list without keys has an element that's a map type"
    );
    assert_eq!(bad(r#"{"metadata":{"labels":[]}}"#), ".metadata.labels: expected map, got &{[]}");
    // A key field that Go always writes has its zero value.
    let nameless = untyped(r#"{"spec":{"containers":[{"image":"i"}]}}"#);
    assert!(text(&to_field_set(of, &nameless).unwrap()).contains(r#"k:{\"name\":\"\"}"#));
}

#[test]
fn owners_of_parts_own_the_whole_once_it_is_atomic() {
    let of: TypeRef<'_> = find("core/v1.ReplicationController").unwrap().into();
    let set = |text: &str| Set::from_json(text.as_bytes()).unwrap();
    let old = set(
        r#"{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:replicas":{},"f:selector":{".":{},"f:a":{}}}}"#,
    );
    assert_eq!(
        text(&reconcile(of, old)),
        r#"{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:replicas":{},"f:selector":{}}}"#
    );
    let list = set(
        r#"{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:args":{"i:0":{}}}}}}}}"#,
    );
    assert_eq!(
        text(&reconcile(of, list)),
        r#"{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:args":{}}}}}}}"#
    );
    let unknown = set(r#"{"f:nonsense":{"f:a":{}},"f:spec":{"f:selector":{}}}"#);
    assert_eq!(reconcile(of, unknown.clone()), unknown);
}
