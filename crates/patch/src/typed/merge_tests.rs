use pintle_codec::json;
use pintle_meta::Value;
use pintle_schema::find;

use super::*;
use crate::fieldset::Set;

fn untyped(text: &str) -> Value {
    json::decode_untyped(text.as_bytes()).unwrap().value
}

fn text(value: &Value) -> String {
    let mut out = Vec::new();
    json::encode(&pintle_codec::unstructured::from_typed(value), &mut out);
    String::from_utf8(out).unwrap()
}

/// Checks a part of a pod after a merge, untyped.
#[track_caller]
fn check(live: &str, config: &str, expected: &str) {
    check_as("core/v1.Pod", live, config, expected);
}

#[track_caller]
fn check_as(of: &str, live: &str, config: &str, expected: &str) {
    let of: TypeRef<'_> = find(of).unwrap().into();
    let (live, config) = (untyped(live), untyped(config));
    let merged = merge(of, &live, &config).unwrap();
    assert_eq!(text(&merged), expected);
    assert_eq!(
        merged.is_same(&live),
        text(&live) == expected,
        "what does not change stays the same in memory"
    );
    let again = merge(of, &merged, &config).unwrap();
    assert!(again.is_same(&merged), "{}", text(&again));
}

#[test]
fn structs_and_maps_are_merged_and_leaves_replaced() {
    check(
        r#"{"metadata":{"labels":{"a":"1","b":"2"},"name":"x"},"spec":{"nodeName":"n"}}"#,
        r#"{"metadata":{"labels":{"b":"3","c":"4"}},"spec":{"hostname":"h"}}"#,
        r#"{"metadata":{"labels":{"a":"1","b":"3","c":"4"},"name":"x"},"spec":{"hostname":"h","nodeName":"n"}}"#,
    );
    check(r#"{"spec":{"nodeName":"n"}}"#, r#"{"spec":{"nodeName":"n"}}"#, r#"{"spec":{"nodeName":"n"}}"#);
}

#[test]
fn atomic_values_are_replaced_as_a_whole() {
    check_as(
        "core/v1.ReplicationController",
        r#"{"spec":{"selector":{"a":"1","b":"2"}}}"#,
        r#"{"spec":{"selector":{"a":"1"}}}"#,
        r#"{"spec":{"selector":{"a":"1"}}}"#,
    );
    check(
        r#"{"spec":{"containers":[{"name":"c","args":["a","b"]}]}}"#,
        r#"{"spec":{"containers":[{"name":"c","args":["b"]}]}}"#,
        r#"{"spec":{"containers":[{"args":["b"],"name":"c"}]}}"#,
    );
    let selector = |name: &str| {
        format!(
            r#"{{"spec":{{"containers":[{{"name":"c","env":[{{"name":"e","valueFrom":{{"secretKeyRef":{{{name}}}}}}}]}}]}}}}"#
        )
    };
    let (live, config) = (selector(r#""key":"k","name":"s","optional":true"#), selector(r#""key":"l""#));
    let of: TypeRef<'_> = find("core/v1.Pod").unwrap().into();
    let merged = merge(of, &untyped(&live), &untyped(&config)).unwrap();
    assert!(text(&merged).contains(r#""secretKeyRef":{"key":"l"}"#), "{}", text(&merged));
}

#[test]
fn map_list_items_are_merged_by_all_keys_and_key_defaults() {
    let ports = |ports: &str| format!(r#"{{"spec":{{"ports":[{ports}]}}}}"#);
    check_as(
        "core/v1.Service",
        &ports(r#"{"name":"a","port":80},{"name":"b","port":80,"protocol":"UDP"}"#),
        &ports(r#"{"port":80,"protocol":"TCP","targetPort":1},{"port":80,"protocol":"UDP","targetPort":2}"#),
        &ports(
            r#"{"name":"a","port":80,"protocol":"TCP","targetPort":1},{"name":"b","port":80,"protocol":"UDP","targetPort":2}"#,
        ),
    );
    check_as(
        "core/v1.Service",
        &ports(r#"{"name":"a","port":80}"#),
        &ports(r#"{"name":"b","port":81}"#),
        &ports(r#"{"name":"a","port":80},{"name":"b","port":81}"#),
    );
}

/// Checks the order of a set after a merge, one letter per item.
#[track_caller]
fn order(live: &str, config: &str, expected: &str) {
    let finalizers = |letters: &str| {
        let items: Vec<String> = letters.chars().map(|letter| format!("\"{letter}\"")).collect();
        format!(r#"{{"metadata":{{"finalizers":[{}]}}}}"#, items.join(","))
    };
    let of: TypeRef<'_> = find("core/v1.ConfigMap").unwrap().into();
    let merged = merge(of, &untyped(&finalizers(live)), &untyped(&finalizers(config))).unwrap();
    assert_eq!(text(&merged), finalizers(expected), "{live} + {config}");
}

#[test]
fn lists_keep_the_live_order_as_far_as_the_applied_one_allows() {
    order("abc", "abc", "abc");
    order("abc", "b", "abc");
    order("abc", "", "abc");
    order("", "cab", "cab");
    order("abcd", "cae", "bcdae");
    order("abc", "cba", "cba");
    order("ab", "xaybz", "xaybz");
    order("abc", "ca", "bca");
    order("abcde", "xdbey", "acxdbey");
    order("ac", "abc", "abc");
    order("ab", "c", "abc");
}

#[test]
fn live_duplicates_are_kept_until_they_are_applied() {
    order("aba", "", "aba");
    order("aba", "c", "abac");
    order("aba", "a", "ab");
    order("aab", "ba", "ba");
    let of: TypeRef<'_> = find("core/v1.Pod").unwrap().into();
    let env =
        |items: &str| untyped(&format!(r#"{{"spec":{{"containers":[{{"name":"c","env":[{items}]}}]}}}}"#));
    let twice = env(r#"{"name":"a","value":"1"},{"name":"a","value":"2"}"#);
    let merged = merge(of, &twice, &env(r#"{"name":"a"}"#)).unwrap();
    assert_eq!(text(&merged), text(&env(r#"{"name":"a"}"#)), "it is not merged with either");
    let refused = merge(of, &env(""), &twice).unwrap_err();
    assert_eq!(describe(&refused), r#".spec.containers[name="c"].env: duplicate entries for key [name="a"]"#);
}

#[test]
fn nulls_replace_leaves_only() {
    check(r#"{"spec":{"nodeName":"n"}}"#, r#"{"spec":{"nodeName":null}}"#, r#"{"spec":{"nodeName":null}}"#);
    check(r#"{"spec":{"nodeName":"n"}}"#, r#"{"spec":null}"#, r#"{"spec":{"nodeName":"n"}}"#);
    check(
        r#"{"metadata":{"labels":{"a":"b"}}}"#,
        r#"{"metadata":{"labels":{}}}"#,
        r#"{"metadata":{"labels":{"a":"b"}}}"#,
    );
    check(
        r#"{"metadata":{"finalizers":["a"]}}"#,
        r#"{"metadata":{"finalizers":null}}"#,
        r#"{"metadata":{"finalizers":["a"]}}"#,
    );
    check(r#"{"metadata":{}}"#, r#"{"metadata":{"labels":null}}"#, r#"{"metadata":{"labels":null}}"#);
    check(
        r#"{"spec":{"containers":[{"name":"c","args":["a"]}]}}"#,
        r#"{"spec":{"containers":[{"name":"c","args":null}]}}"#,
        r#"{"spec":{"containers":[{"args":null,"name":"c"}]}}"#,
    );
}

#[test]
fn untyped_values_are_merged_by_their_deduced_type() {
    let of = TypeRef::Deduced;
    let check = |live: &str, config: &str, expected: &str| {
        assert_eq!(text(&merge(of, &untyped(live), &untyped(config)).unwrap()), expected);
    };
    check(r#"{"a":{"b":1,"c":[1,2]}}"#, r#"{"a":{"c":[2],"d":{}}}"#, r#"{"a":{"b":1,"c":[2],"d":{}}}"#);
    check(r#"{"a":"x"}"#, r#"{"a":{"b":1}}"#, r#"{"a":{"b":1}}"#);
    check(r#"{"a":{"b":1}}"#, r#"{"a":"x"}"#, r#"{"a":"x"}"#);
    check(r#"{"a":[1]}"#, r#"{"a":null}"#, r#"{"a":null}"#);
    let untyped_part = merge(TypeRef::Untyped, &untyped(r#"{"a":1,"b":2}"#), &untyped(r#"{"a":1}"#)).unwrap();
    assert_eq!(text(&untyped_part), r#"{"a":1}"#);
}

#[test]
fn typed_trees_and_raw_json_are_merged_like_others() {
    let of = find("apps/v1.ControllerRevision").unwrap();
    let live =
        br#"{"kind":"ControllerRevision","apiVersion":"apps/v1","data":{"a":1,"b":{"c":[1]}},"revision":1}"#;
    let live = json::decode(of, live).unwrap().value;
    let same = untyped(r#"{"apiVersion":"apps/v1","data":{"b":{"c":[1]},"a":1}}"#);
    assert!(merge(of.into(), &live, &same).unwrap().is_same(&live));
    let other = merge(of.into(), &live, &untyped(r#"{"data":{"a":2}}"#)).unwrap();
    assert_eq!(
        text(&other),
        r#"{"apiVersion":"apps/v1","data":{"a":2},"kind":"ControllerRevision","metadata":{},"revision":1}"#
    );
    let secret = find("core/v1.Secret").unwrap();
    let live = json::decode(secret, br#"{"data":{"k":"aGk="}}"#).unwrap().value;
    assert!(merge(secret.into(), &live, &untyped(r#"{"data":{"k":"aGk="}}"#)).unwrap().is_same(&live));
}

/// Checks a pod after the removal of some fields.
#[track_caller]
fn removed(object: &str, fields: &str, expected: &str) {
    let of: TypeRef<'_> = find("core/v1.Pod").unwrap().into();
    let object = untyped(object);
    let left = remove(of, &object, &Set::from_json(fields.as_bytes()).unwrap());
    assert_eq!(text(&left), expected);
    assert_eq!(left.is_same(&object), text(&object) == expected);
}

#[test]
fn members_are_removed_with_descendants_and_emptied_parents_are_null() {
    let pod = r#"{"metadata":{"finalizers":["a","b"],"labels":{"x":"1"}},"spec":{"containers":[{"image":"i","name":"c"}]}}"#;
    removed(pod, r#"{"f:status":{},"f:spec":{"f:nodeName":{}}}"#, pod);
    removed(
        pod,
        r#"{"f:metadata":{"f:labels":{"f:x":{}},"f:finalizers":{"v:\"a\"":{}}},"f:spec":{}}"#,
        r#"{"metadata":{"finalizers":["b"],"labels":null}}"#,
    );
    removed(
        pod,
        r#"{"f:metadata":{},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:image":{}}}}}"#,
        r#"{"spec":{"containers":[{"name":"c"}]}}"#,
    );
    removed(
        r#"{"spec":{"containers":[{"name":"c","args":["a"]},{"name":"d"}]}}"#,
        r#"{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:args":{"i:0":{}}},"k:{\"name\":\"d\"}":{}}}}"#,
        r#"{"spec":{"containers":[{"args":null,"name":"c"}]}}"#,
    );
}

#[test]
fn ancestor_fields_are_added_and_items_are_not() {
    let of: TypeRef<'_> = find("core/v1.Pod").unwrap().into();
    let set = r#"{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:resources":{"f:limits":{"f:cpu":{}}}}}},"f:x":{"f:y":{}}}"#;
    let named = with_named(of, &Set::from_json(set.as_bytes()).unwrap());
    assert_eq!(
        String::from_utf8(named.to_json()).unwrap(),
        r#"{"f:metadata":{".":{},"f:labels":{".":{},"f:a":{}}},"f:spec":{".":{},"f:containers":{".":{},"k:{\"name\":\"c\"}":{"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{}}}}}},"f:x":{"f:y":{}}}"#
    );
}

#[test]
fn values_of_a_wrong_type_have_the_references_messages() {
    let check = |of: &str, config: &str, expected: &str| {
        let found = validate(find(of).unwrap().into(), &untyped(config), false).unwrap_err();
        assert_eq!(describe(&found), expected);
    };
    check(
        "apps/v1.Deployment",
        r#"{"spec":{"replicas":"1"}}"#,
        ".spec.replicas: expected numeric (int or float), got string",
    );
    check(
        "core/v1.ConfigMap",
        r#"{"data":{"a":5,"b":true,"c":{"x":[1,null]}},"immutable":"x"}"#,
        "errors:\n  .data.a: expected string, got &value.valueUnstructured{Value:5}\n  \
         .data.b: expected string, got &value.valueUnstructured{Value:true}\n  \
         .data.c: expected string, got &value.valueUnstructured{Value:map[string]interface {}{\"x\":[]interface {}{1, interface {}(nil)}}}\n  \
         .immutable: expected boolean, got &{x}",
    );
    check("core/v1.ConfigMap", r#"{"data":[1]}"#, ".data: expected map, got &{[1]}");
    check(
        "core/v1.ConfigMap",
        r#"{"metadata":{"finalizers":"a"}}"#,
        ".metadata.finalizers: expected list, got &{a}",
    );
    check(
        "core/v1.PersistentVolumeClaim",
        r#"{"spec":{"resources":{"requests":{"storage":{"a":"b"}}}}}"#,
        ".spec.resources.requests.storage: expected any scalar, got &{map[a:b]}",
    );
    check(
        "core/v1.Pod",
        r#"{"spec":{"containers":[{"name":"a","x":1},{"name":"a"},{"image":1}]}}"#,
        "errors:\n  .spec.containers[name=\"a\"].x: field not declared in schema\n  \
         .spec.containers: duplicate entries for key [name=\"a\"]\n  \
         .spec.containers[name=\"\"].image: expected string, got &value.valueUnstructured{Value:1}",
    );
}

#[test]
fn errors_with_long_paths_are_bounded() {
    let name = "n".repeat(100_000);
    let headers = vec![r#"{"name":1,"value":2}"#; 10_000].join(",");
    let config = format!(
        r#"{{"spec":{{"containers":[{{"name":"{name}","livenessProbe":{{"httpGet":{{"httpHeaders":[{headers}]}}}}}}]}}}}"#
    );
    let found = validate(find("core/v1.Pod").unwrap().into(), &untyped(&config), false).unwrap_err();
    let told = describe(&found);
    assert!(told.len() < 6 << 20 && !found.is_empty(), "{} {}", told.len(), found.len());
}
