use pintle_codec::json;
use pintle_meta::Value;
use pintle_schema::structural::Structural;

use super::*;
use crate::fieldset::Set;

fn untyped(text: &str) -> Value {
    json::decode_untyped(text.as_bytes()).unwrap().value
}

fn written(value: &Value) -> String {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    String::from_utf8(out).unwrap()
}

fn text(set: &Set) -> String {
    String::from_utf8(set.to_json()).unwrap()
}

fn read(text: &[u8]) -> Option<Value> {
    Some(json::decode_any(text).ok()?.value)
}

/// Returns a schema whose root has these properties beside kind, apiVersion and metadata.
fn schema(properties: &str) -> Structural {
    let text = format!(r#"{{"type":"object","properties":{{"metadata":{{"type":"object"}},{properties}}}}}"#);
    Structural::compile(&read(text.as_bytes()).unwrap(), read).unwrap()
}

fn widgets() -> Structural {
    schema(
        r#"
        "spec":{"type":"object","properties":{
            "ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port","protocol"],
                "items":{"type":"object","required":["port"],"properties":{
                    "port":{"type":"integer"},"protocol":{"type":"string","default":"TCP"},
                    "name":{"type":"string"}}}},
            "tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
            "args":{"type":"array","items":{"type":"string"}},
            "labels":{"type":"object","additionalProperties":{"type":"string"}},
            "selector":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}},
            "size":{"x-kubernetes-int-or-string":true},
            "when":{"type":"string","format":"date-time"},
            "on":{"type":"boolean","nullable":true},
            "limit":{"type":"number"},
            "free":{"type":"object"},
            "open":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{
                "named":{"type":"object","properties":{"a":{"type":"integer"}}}}},
            "any":{"x-kubernetes-preserve-unknown-fields":true},
            "template":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{
                "data":{"type":"string"}}}}},
        "status":{"type":"object","properties":{"phase":{"type":"string"}}}"#,
    )
}

#[track_caller]
fn fields(object: &str, expected: &str) {
    let schema = widgets();
    let of = TypeRef::custom(&schema);
    assert_eq!(text(&to_field_set(of, &untyped(object)).unwrap()), expected);
    validate(of, &untyped(object), false).unwrap();
}

/// Checks the added, modified and removed fields.
#[track_caller]
fn changes(old: &str, new: &str, expected: [&str; 3]) {
    let schema = widgets();
    let of = TypeRef::custom(&schema);
    let (old, new) = (untyped(old), untyped(new));
    let found = compare(of, &old, &new).unwrap();
    assert_eq!([&found.added, &found.modified, &found.removed].map(text), expected);
    let back = compare(of, &new, &old).unwrap();
    assert_eq!((back.added, back.modified, back.removed), (found.removed, found.modified, found.added));
    assert!(compare(of, &new, &new.clone()).unwrap().is_same());
}

#[test]
fn metadata_is_that_of_built_in_kinds_whatever_the_schema_says() {
    fields(
        r#"{"kind":"W","apiVersion":"g/v1","metadata":{"name":"a","finalizers":["x/y"],"labels":{"l":"1"},
            "ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}}"#,
        r#"{"f:apiVersion":{},"f:kind":{},"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}},"f:labels":{"f:l":{}},"f:name":{},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}}}"#,
    );
}

#[test]
fn items_are_identified_by_their_keys_and_key_defaults() {
    fields(
        r#"{"spec":{"ports":[{"port":80},{"port":80,"protocol":"UDP","name":"x"}]}}"#,
        r#"{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":80,\"protocol\":\"UDP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}}}}}"#,
    );
    changes(
        r#"{"spec":{"ports":[{"port":80},{"port":81}]}}"#,
        r#"{"spec":{"ports":[{"port":82},{"port":80,"name":"x"}]}}"#,
        [
            r#"{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:name":{}},"k:{\"port\":82,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}"#,
            "{}",
            r#"{"f:spec":{"f:ports":{"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}"#,
        ],
    );
}

#[test]
fn sets_are_owned_by_item_and_atomic_values_as_a_whole() {
    fields(
        r#"{"spec":{"tags":["b","a"],"args":["x"],"labels":{"a":"1"},"selector":{"b":"2"}}}"#,
        r#"{"f:spec":{"f:args":{},"f:labels":{"f:a":{}},"f:selector":{},"f:tags":{"v:\"a\"":{},"v:\"b\"":{}}}}"#,
    );
    changes(
        r#"{"spec":{"tags":["b","a"],"args":["x"],"labels":{"a":"1"},"selector":{"b":"2"}}}"#,
        r#"{"spec":{"tags":["c","b"],"args":["y"],"labels":{"b":"1"},"selector":{"c":"2"}}}"#,
        [
            r#"{"f:spec":{"f:labels":{"f:b":{}},"f:tags":{"v:\"c\"":{}}}}"#,
            r#"{"f:spec":{"f:args":{},"f:selector":{}}}"#,
            r#"{"f:spec":{"f:labels":{"f:a":{}},"f:tags":{"v:\"a\"":{}}}}"#,
        ],
    );
}

#[test]
fn untyped_and_preserved_fields_have_deduced_types() {
    fields(
        r#"{"spec":{"any":{"a":{"b":[{"c":1}]}},"free":{"x":{"y":1}},"size":"1",
            "open":{"named":{"a":1,"z":{"q":true}},"other":{"o":1}}}}"#,
        r#"{"f:spec":{"f:any":{"f:a":{".":{},"f:b":{}}},"f:free":{"f:x":{".":{},"f:y":{}}},"f:open":{"f:named":{"f:a":{},"f:z":{".":{},"f:q":{}}},"f:other":{".":{},"f:o":{}}},"f:size":{}}}"#,
    );
    changes(
        r#"{"spec":{"size":1,"any":[1]}}"#,
        r#"{"spec":{"size":"1","any":[2]}}"#,
        ["{}", r#"{"f:spec":{"f:any":{},"f:size":{}}}"#, "{}"],
    );
}

#[test]
fn embedded_objects_have_metadata_too() {
    fields(
        r#"{"spec":{"template":{"kind":"A","apiVersion":"v1","metadata":{"finalizers":["a/b"]},"data":"x"}}}"#,
        r#"{"f:spec":{"f:template":{"f:apiVersion":{},"f:data":{},"f:kind":{},"f:metadata":{"f:finalizers":{"v:\"a/b\"":{}}}}}}"#,
    );
}

#[test]
fn unknown_fields_and_wrong_types_are_invalid() {
    let schema = widgets();
    let bad = |text: &str| describe(&validate(TypeRef::custom(&schema), &untyped(text), false).unwrap_err());
    assert_eq!(bad(r#"{"spec":{"nonsense":1}}"#), ".spec.nonsense: field not declared in schema");
    assert_eq!(bad(r#"{"nonsense":1}"#), ".nonsense: field not declared in schema");
    assert_eq!(bad(r#"{"metadata":{"nonsense":1}}"#), ".metadata.nonsense: field not declared in schema");
    assert_eq!(
        bad(r#"{"spec":{"template":{"nonsense":1}}}"#),
        ".spec.template.nonsense: field not declared in schema"
    );
    assert_eq!(bad(r#"{"spec":{"args":"a"}}"#), r#".spec.args: expected list, got &{a}"#);
    assert_eq!(bad(r#"{"spec":{"labels":1}}"#), ".spec.labels: expected map, got &{1}");
    assert_eq!(bad(r#"{"spec":{"on":"yes"}}"#), ".spec.on: expected boolean, got &{yes}");
    assert_eq!(bad(r#"{"spec":{"limit":"1"}}"#), ".spec.limit: expected numeric (int or float), got string");
    assert_eq!(bad(r#"{"spec":{"tags":["a","a"]}}"#), r#".spec.tags: duplicate entries for key [="a"]"#);
    assert_eq!(
        bad(r#"{"spec":{"ports":[{"port":1},{"port":1,"protocol":"TCP"}]}}"#),
        r#".spec.ports: duplicate entries for key [port=1,protocol="TCP"]"#
    );
    // Nullability is not checked here, and times are any scalar.
    validate(TypeRef::custom(&schema), &untyped(r#"{"spec":{"on":null,"limit":null,"when":1}}"#), false)
        .unwrap();
}

#[test]
fn lists_whose_items_lack_all_keys_are_rejected() {
    let schema = schema(
        r#""list":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b"],
            "items":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","default":null}}}}"#,
    );
    let found = validate(TypeRef::custom(&schema), &untyped(r#"{"list":[{}]}"#), false).unwrap_err();
    assert_eq!(
        found[0].to_string(),
        r#".list: element 0: associative list with keys has an element that omits all key fields ["a" "b"] (and doesn't have default values for any key fields)"#
    );
}

#[test]
fn a_root_that_preserves_unknown_fields_has_typed_metadata() {
    let schema = read(br#"{"type":"object","x-kubernetes-preserve-unknown-fields":true}"#).unwrap();
    let schema = Structural::compile(&schema, read).unwrap();
    let of = TypeRef::custom(&schema);
    let object = untyped(r#"{"metadata":{"finalizers":["a/b"]},"spec":{"a":[1]}}"#);
    assert_eq!(
        text(&to_field_set(of, &object).unwrap()),
        r#"{"f:metadata":{"f:finalizers":{"v:\"a/b\"":{}}},"f:spec":{".":{},"f:a":{}}}"#
    );
}

#[test]
fn additional_properties_are_typed_anything_or_nothing() {
    let schema = schema(
        r#""typed":{"type":"object","additionalProperties":{"type":"object","properties":{"a":{"type":"integer"}}}},
           "any":{"type":"object","additionalProperties":true},
           "none":{"type":"object","additionalProperties":false}"#,
    );
    let of = TypeRef::custom(&schema);
    let object = untyped(r#"{"typed":{"x":{"a":1}},"any":{"x":{"a":1}}}"#);
    assert_eq!(
        text(&to_field_set(of, &object).unwrap()),
        r#"{"f:any":{"f:x":{".":{},"f:a":{}}},"f:typed":{"f:x":{".":{},"f:a":{}}}}"#
    );
    let bad = |text: &str| validate(of, &untyped(text), false).unwrap_err()[0].to_string();
    assert_eq!(bad(r#"{"typed":{"x":{"b":1}}}"#), ".typed.x.b: field not declared in schema");
    assert_eq!(bad(r#"{"none":{"x":1}}"#), ".none.x: field not declared in schema");
}

#[test]
fn configurations_are_merged_and_fields_removed() {
    let schema = widgets();
    let of = TypeRef::custom(&schema);
    let live = untyped(
        r#"{"spec":{"ports":[{"port":1,"name":"a"},{"port":2}],"tags":["a"],"args":["x"],"any":{"k":{"l":1}}}}"#,
    );
    let config = untyped(
        r#"{"spec":{"ports":[{"port":1,"protocol":"TCP"},{"port":3}],"tags":["b"],"args":["y"],"any":{"k":{"m":2}}}}"#,
    );
    let merged = merge(of, &live, &config).unwrap();
    assert_eq!(
        written(&merged),
        r#"{"spec":{"any":{"k":{"l":1,"m":2}},"args":["y"],"ports":[{"name":"a","port":1,"protocol":"TCP"},{"port":2},{"port":3}],"tags":["a","b"]}}"#
    );
    let gone = Set::from_json(
        br#"{"f:spec":{"f:ports":{"k:{\"port\":1,\"protocol\":\"TCP\"}":{"f:name":{}},"k:{\"port\":2,\"protocol\":\"TCP\"}":{}},"f:tags":{"v:\"a\"":{}},"f:any":{"f:k":{"f:l":{}}}}}"#,
    );
    assert_eq!(
        written(&remove(of, &merged, &gone.unwrap())),
        r#"{"spec":{"any":{"k":{"m":2}},"args":["y"],"ports":[{"port":1,"protocol":"TCP"},{"port":3}],"tags":["b"]}}"#
    );
}

#[test]
fn owners_of_parts_own_the_whole_once_it_is_atomic() {
    let schema = widgets();
    let of = TypeRef::custom(&schema);
    let set = |text: &str| Set::from_json(text.as_bytes()).unwrap();
    let old = set(
        r#"{"f:spec":{"f:args":{"v:\"x\"":{}},"f:labels":{"f:a":{}},"f:selector":{".":{},"f:b":{}},"f:any":{"f:x":{}},"f:free":{"f:x":{}}}}"#,
    );
    assert_eq!(
        text(&reconcile(of, old)),
        r#"{"f:spec":{"f:any":{"f:x":{}},"f:args":{},"f:free":{"f:x":{}},"f:labels":{"f:a":{}},"f:selector":{}}}"#
    );
    let unknown = set(r#"{"f:spec":{"f:nonsense":{"f:a":{}}}}"#);
    assert_eq!(reconcile(of, unknown.clone()), unknown);
}
