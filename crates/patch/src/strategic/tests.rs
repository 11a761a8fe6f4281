use pintle_codec::unstructured::{from_typed, to_typed, to_typed_since};
use pintle_schema::find;

use super::*;

fn tree(text: &str) -> Value {
    json::decode_any(text.as_bytes()).unwrap().value
}

fn text(value: &Value) -> String {
    let mut text = Vec::new();
    json::encode(value, &mut text);
    String::from_utf8(text).unwrap()
}

fn of(name: &str) -> &'static Type {
    find(name).unwrap()
}

fn applied(name: &str, document: &str, patch: &str) -> Result<String, String> {
    let mut patch = decode(patch.as_bytes()).map_err(|error| error.to_string())?.value;
    apply(of(name), tree(document), &mut patch).map(|value| text(&value)).map_err(|error| error.to_string())
}

/// Checks the result of a patch on an untyped document and on the same in normal form.
#[track_caller]
fn check(name: &str, patch: &str, document: &str, expected: &str) {
    let expected = text(&tree(expected));
    assert_eq!(applied(name, document, patch), Ok(expected.clone()));
    let of = of(name);
    let before = to_typed(of, &tree(document)).unwrap().value;
    let mut patch = tree(patch);
    let after = apply(of, before.clone(), &mut patch).unwrap();
    let wanted = to_typed(of, &tree(&expected)).unwrap();
    assert_eq!(to_typed(of, &from_typed(&after)).unwrap().value, wanted.value);
    assert_eq!(to_typed_since(of, &after, &before).unwrap(), wanted);
}

#[track_caller]
fn refused(name: &str, patch: &str, document: &str, expected: &str) {
    assert_eq!(applied(name, document, patch), Err(expected.into()));
}

const SPEC: &str = "core/v1.PodSpec";

#[test]
fn objects_are_merged_and_nulls_remove() {
    check(
        "core/v1.ConfigMap",
        r#"{"data":{"a":null,"b":"2","c":"3"}}"#,
        r#"{"data":{"a":"1","b":"1"}}"#,
        r#"{"data":{"b":"2","c":"3"}}"#,
    );
    check("core/v1.ConfigMap", r#"{"data":null,"binaryData":null}"#, r#"{"data":{"a":"1"}}"#, "{}");
    check("core/v1.ConfigMap", "null", r#"{"data":{"a":"1"}}"#, r#"{"data":{"a":"1"}}"#);
    check("core/v1.ConfigMap", "{}", r#"{"data":{"a":"1"}}"#, r#"{"data":{"a":"1"}}"#);
    // New fields lose their nulls, except for nulls in lists.
    check(
        SPEC,
        r#"{"securityContext":{"runAsUser":null,"sysctls":[{"name":null,"value":"x"}]}}"#,
        "{}",
        r#"{"securityContext":{"sysctls":[{"value":"x"}]}}"#,
    );
}

#[test]
fn a_value_of_another_type_replaces() {
    check(SPEC, r#"{"nodeSelector":{"a":"b"}}"#, r#"{"nodeSelector":null}"#, r#"{"nodeSelector":{"a":"b"}}"#);
    assert_eq!(
        applied(SPEC, r#"{"nodeSelector":{"a":"b"}}"#, r#"{"nodeSelector":["x",{"y":null}]}"#).unwrap(),
        r#"{"nodeSelector":["x",{}]}"#
    );
    assert_eq!(applied(SPEC, r#"{"nodeName":1}"#, r#"{"nodeName":1.5}"#).unwrap(), r#"{"nodeName":1.5}"#);
}

#[test]
fn lists_are_merged_by_key_in_the_order_of_the_patch() {
    let document =
        r#"{"containers":[{"name":"a","image":"x","env":[{"name":"A","value":"1"}]},{"name":"b"}]}"#;
    check(
        SPEC,
        r#"{"containers":[{"name":"a","image":"y"}]}"#,
        document,
        r#"{"containers":[{"name":"a","image":"y","env":[{"name":"A","value":"1"}]},{"name":"b"}]}"#,
    );
    check(
        SPEC,
        r#"{"containers":[{"name":"c"},{"name":"a","image":null,"env":[{"name":"B"}]}]}"#,
        document,
        r#"{"containers":[{"name":"c"},{"name":"a","env":[{"name":"B"},{"name":"A","value":"1"}]},{"name":"b"}]}"#,
    );
    check(
        SPEC,
        r#"{"containers":[{"name":"b"},{"name":"a","env":null}]}"#,
        document,
        r#"{"containers":[{"name":"b"},{"name":"a","image":"x"}]}"#,
    );
    check(SPEC, r#"{"containers":[]}"#, document, document);
    // Ports are identified by the number alone.
    check(
        SPEC,
        r#"{"containers":[{"name":"a","ports":[{"containerPort":2,"protocol":"UDP"}]}]}"#,
        r#"{"containers":[{"name":"a","ports":[{"containerPort":1},{"containerPort":2,"protocol":"TCP"}]}]}"#,
        r#"{"containers":[{"name":"a","ports":[{"containerPort":1},{"containerPort":2,"protocol":"UDP"}]}]}"#,
    );
}

#[test]
fn lists_without_a_strategy_are_replaced() {
    check(
        SPEC,
        r#"{"tolerations":[{"key":"b"}]}"#,
        r#"{"tolerations":[{"key":"a"},{"key":"c"}]}"#,
        r#"{"tolerations":[{"key":"b"}]}"#,
    );
    check(
        SPEC,
        r#"{"containers":[{"name":"a","args":["x"]}]}"#,
        r#"{"containers":[{"name":"a","args":["y","z"]}]}"#,
        r#"{"containers":[{"name":"a","args":["x"]}]}"#,
    );
}

#[test]
fn lists_of_primitives_are_united() {
    let meta = "meta/v1.ObjectMeta";
    check(
        meta,
        r#"{"finalizers":["c","a"]}"#,
        r#"{"finalizers":["a","b"]}"#,
        r#"{"finalizers":["c","a","b"]}"#,
    );
    check(meta, r#"{"finalizers":["b","b"]}"#, r#"{"finalizers":["a","b"]}"#, r#"{"finalizers":["a","b"]}"#);
    check(
        meta,
        r#"{"$deleteFromPrimitiveList/finalizers":["a","x"]}"#,
        r#"{"finalizers":["a","b"]}"#,
        r#"{"finalizers":["b"]}"#,
    );
    check(
        meta,
        r#"{"$deleteFromPrimitiveList/finalizers":["a"],"finalizers":["c"]}"#,
        r#"{"finalizers":["a","b"]}"#,
        r#"{"finalizers":["c","b"]}"#,
    );
    check(meta, r#"{"$deleteFromPrimitiveList/finalizers":["a"]}"#, "{}", "{}");
    check(meta, r#"{"$deleteFromPrimitiveList/finalizers":null}"#, r#"{"finalizers":["a"]}"#, "{}");
    check(
        meta,
        r#"{"$deleteFromPrimitiveList/finalizers":"a"}"#,
        r#"{"finalizers":["a"]}"#,
        r#"{"finalizers":["a"]}"#,
    );
    refused(meta, r#"{"$deleteFromPrimitiveList":["a"]}"#, "{}", "invalid patch format of primitive list");
    refused(
        meta,
        r#"{"$deleteFromPrimitiveListX/finalizers":["a"]}"#,
        "{}",
        "invalid patch format of primitive list",
    );
    refused(
        meta,
        r#"{"finalizers":[1]}"#,
        r#"{"finalizers":["a"]}"#,
        "list element types are not identical: [[a] [1]]",
    );
    refused(meta, r#"{"finalizers":[["x"]]}"#, r#"{"finalizers":[]}"#, "lists of lists are not supported");
    refused(
        meta,
        r#"{"finalizers":[{"a":1}]}"#,
        r#"{"finalizers":[]}"#,
        "cannot merge lists without merge key for string",
    );
}

#[test]
fn items_and_objects_can_be_deleted_and_replaced() {
    let document = r#"{"containers":[{"name":"a","image":"x"},{"name":"b"}],"nodeSelector":{"a":"b"}}"#;
    check(
        SPEC,
        r#"{"containers":[{"name":"a","$patch":"delete"},{"name":"z","$patch":"delete"}]}"#,
        document,
        r#"{"containers":[{"name":"b"}],"nodeSelector":{"a":"b"}}"#,
    );
    check(
        SPEC,
        r#"{"containers":[{"$patch":"replace"},{"name":"c"}]}"#,
        document,
        r#"{"containers":[{"name":"c"}],"nodeSelector":{"a":"b"}}"#,
    );
    check(
        SPEC,
        r#"{"containers":[{"name":"a","$patch":"delete"},{"name":"a","image":"y"}]}"#,
        document,
        r#"{"containers":[{"name":"a","image":"y"},{"name":"b"}],"nodeSelector":{"a":"b"}}"#,
    );
    check(
        SPEC,
        r#"{"nodeSelector":{"$patch":"replace","c":"d"}}"#,
        document,
        r#"{"containers":[{"name":"a","image":"x"},{"name":"b"}],"nodeSelector":{"c":"d"}}"#,
    );
    check(
        SPEC,
        r#"{"nodeSelector":{"$patch":"delete","c":"d"},"containers":[{"$patch":"replace"}]}"#,
        document,
        r#"{"containers":[],"nodeSelector":{}}"#,
    );
    check(SPEC, r#"{"$patch":"replace","nodeName":"n"}"#, document, r#"{"nodeName":"n"}"#);
    check(SPEC, r#"{"$patch":"delete"}"#, document, "{}");
    // A missing object cannot be replaced.
    check(
        SPEC,
        r#"{"affinity":{"$patch":"replace"},"securityContext":{"seLinuxOptions":{"$patch":"delete"}}}"#,
        "{}",
        r#"{"securityContext":{}}"#,
    );
}

#[test]
fn invalid_directives_are_rejected() {
    let document = r#"{"containers":[{"name":"a"}],"nodeSelector":{"a":"b"}}"#;
    refused(
        SPEC,
        r#"{"nodeSelector":{"$patch":"merge","x":[1,null]}}"#,
        document,
        "unknown patch type: merge in map: map[$patch:merge x:[1 <nil>]]",
    );
    refused(
        SPEC,
        r#"{"nodeSelector":{"$patch":1}}"#,
        document,
        "unknown patch type: %!s(int64=1) in map: map[$patch:1]",
    );
    refused(
        SPEC,
        r#"{"nodeSelector":{"$patch":{"a":[true,"x",null,0.5]}}}"#,
        document,
        "unknown patch type: map[a:[%!s(bool=true) x %!s(<nil>) %!s(float64=0.5)]] in map: \
         map[$patch:map[a:[true x <nil> 0.5]]]",
    );
    refused(
        SPEC,
        r#"{"containers":[{"$patch":"merge"}]}"#,
        document,
        "merging lists cannot yet be specified in the patch",
    );
    refused(
        SPEC,
        r#"{"containers":[{"$patch":"x","name":"a"}]}"#,
        document,
        "unknown patch type: x in map: map[$patch:x name:a]",
    );
    refused(
        SPEC,
        r#"{"containers":[{"$patch":"delete"}]}"#,
        document,
        "map: map[$patch:delete] does not contain declared merge key: name",
    );
    refused(
        SPEC,
        r#"{"containers":[{"image":"x"}]}"#,
        document,
        "map: map[image:x] does not contain declared merge key: name",
    );
    refused(
        SPEC,
        r#"{"containers":["x"]}"#,
        document,
        "list element types are not identical: [[map[name:a]] [x]]",
    );
}

#[test]
fn only_retained_keys_are_kept() {
    let spec = "apps/v1.DeploymentSpec";
    let document = r#"{"strategy":{"rollingUpdate":{"maxSurge":1},"type":"RollingUpdate"}}"#;
    check(
        spec,
        r#"{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}"#,
        document,
        r#"{"strategy":{"type":"Recreate"}}"#,
    );
    check(
        spec,
        r#"{"strategy":{"$retainKeys":["type",1],"type":"Recreate","rollingUpdate":null}}"#,
        document,
        r#"{"strategy":{"type":"Recreate"}}"#,
    );
    check(spec, r#"{"strategy":{"$retainKeys":[]}}"#, document, r#"{"strategy":{}}"#);
    let volume = r#"{"volumes":[{"emptyDir":{},"name":"v"}]}"#;
    check(
        SPEC,
        r#"{"volumes":[{"$retainKeys":["hostPath","name"],"hostPath":{"path":"/x"},"name":"v"}]}"#,
        volume,
        r#"{"volumes":[{"hostPath":{"path":"/x"},"name":"v"}]}"#,
    );
    let format = "invalid patch format of retainKeys";
    refused(spec, r#"{"strategy":{"$retainKeys":["type"],"type":"x","rollingUpdate":{}}}"#, document, format);
    refused(spec, r#"{"strategy":{"$retainKeys":"type"}}"#, document, format);
    refused(SPEC, r#"{"volumes":[{"$retainKeys":["hostPath"],"name":"v"}]}"#, volume, format);
    refused(
        spec,
        r#"{"strategy":{"$retainKeys":[{}]}}"#,
        document,
        "runtime error: hash of unhashable type map[string]interface {}",
    );
}

#[test]
fn the_order_of_a_list_can_be_set() {
    let document = r#"{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#;
    check(
        SPEC,
        r#"{"$setElementOrder/containers":[{"name":"c"},{"name":"a"}]}"#,
        document,
        r#"{"containers":[{"name":"b"},{"name":"c"},{"name":"a"}]}"#,
    );
    check(
        SPEC,
        r#"{"$setElementOrder/containers":[{"name":"a"},{"name":"d"},{"name":"b"}],
                    "containers":[{"name":"d","image":"x"},{"name":"c","$patch":"delete"}]}"#,
        document,
        r#"{"containers":[{"name":"a"},{"name":"d","image":"x"},{"name":"b"}]}"#,
    );
    check(
        SPEC,
        r#"{"$setElementOrder/initContainers":[{"name":"d"}],"initContainers":[{"name":"d"}]}"#,
        "{}",
        r#"{"initContainers":[{"name":"d"}]}"#,
    );
    check(SPEC, r#"{"$setElementOrder/initContainers":[{"name":"d"}]}"#, document, document);
    // Without an order, new items come last: the merge puts them first, and the server's items move past them.
    check(
        SPEC,
        r#"{"$setElementOrder/containers":[],"containers":[{"name":"x"},{"name":"d"}]}"#,
        document,
        r#"{"containers":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"},{"name":"x"}]}"#,
    );
    let meta = "meta/v1.ObjectMeta";
    check(
        meta,
        r#"{"$setElementOrder/finalizers":["c","a"],"finalizers":["c"],
                    "$deleteFromPrimitiveList/finalizers":["b"]}"#,
        r#"{"finalizers":["a","b"]}"#,
        r#"{"finalizers":["c","a"]}"#,
    );
    // Replaced lists are ordered too.
    check(
        SPEC,
        r#"{"$setElementOrder/hostAliases":[{"ip":"2"},{"ip":"1"}],"hostAliases":[{"ip":"2"},{"ip":"1"}]}"#,
        r#"{"hostAliases":[{"ip":"1"},{"ip":"3"}]}"#,
        r#"{"hostAliases":[{"ip":"2"},{"ip":"1"},{"ip":"3"}]}"#,
    );
}

#[test]
fn an_invalid_order_is_rejected() {
    let document = r#"{"containers":[{"name":"a"}],"nodeName":"n"}"#;
    refused(
        SPEC,
        r#"{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"b"}]}"#,
        document,
        "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    );
    // An item with a directive at the end is not skipped.
    refused(
        SPEC,
        r#"{"$setElementOrder/containers":[{"name":"b"}],"containers":[{"name":"b"},{"$patch":"replace"}]}"#,
        document,
        "The order in patch list:\n[map[name:b] map[$patch:replace]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
    );
    refused(SPEC, r#"{"$setElementOrder":[]}"#, document, "invalid patch format of setElementOrder list");
    refused(
        SPEC,
        r#"{"$setElementOrderX/containers":[]}"#,
        document,
        "invalid patch format of setElementOrder list",
    );
    refused(
        SPEC,
        r#"{"$setElementOrder/containers":{}}"#,
        document,
        "expected a []interface {}, but received a map[string]interface {}",
    );
    refused(
        SPEC,
        r#"{"$setElementOrder/containers":[],"containers":null}"#,
        document,
        "expected a []interface {}, but received a %!s(<nil>)",
    );
    refused(
        SPEC,
        r#"{"$setElementOrder/nodeName":[]}"#,
        document,
        "expected a []interface {}, but received a string",
    );
    refused(
        SPEC,
        r#"{"$setElementOrder/hostname":[]}"#,
        document,
        "expected slice or array type, but got: struct",
    );
    refused(
        SPEC,
        r#"{"$setElementOrder/Containerz":[]}"#,
        document,
        r#"unable to find api field in struct PodSpec for the json field "Containerz""#,
    );
    check(SPEC, r#"{"$setElementOrder/CONTAINERS":[]}"#, r#"{"containers":[]}"#, r#"{"containers":[]}"#);
    refused(
        SPEC,
        r#"{"$setElementOrder/containers":[{"name":"a"},"b"]}"#,
        document,
        "expected a map[string]interface {}, but received a string",
    );
    refused(SPEC, r#"{"$setElementOrder/containers":["b"]}"#, document, "value for key 0 is not a map");
    refused(
        SPEC,
        r#"{"$setElementOrder/containers":[{"x":1}]}"#,
        document,
        "map: map[x:1] does not contain declared merge key: name",
    );
    refused(
        SPEC,
        r#"{"$setElementOrder/containers":[]}"#,
        r#"{"containers":[]}"#,
        "no elements in any of the given slices",
    );
    refused(
        SPEC,
        r#"{"$setElementOrder/tolerations":[]}"#,
        r#"{"tolerations":[{}]}"#,
        "runtime error: hash of unhashable type map[string]interface {}",
    );
}

#[test]
fn untyped_values_are_not_merged() {
    refused(
        "apps/v1.ControllerRevision",
        r#"{"data":{"a":{"b":1}}}"#,
        r#"{"data":{"a":{}}}"#,
        r#"unable to find api field in struct RawExtension for the json field "a""#,
    );
    refused(
        "core/v1.PodSpec",
        r#"{"nodeSelector":{"a":{"b":"c"}}}"#,
        r#"{"nodeSelector":{"a":{}}}"#,
        "merging an object in json but data type is not struct, instead is: map",
    );
    check(
        "apps/v1.ControllerRevision",
        r#"{"data":{"a":{"x":null},"b":2}}"#,
        r#"{"data":{"b":1}}"#,
        r#"{"data":{"a":{},"b":2}}"#,
    );
}

#[test]
fn the_patch_loses_consumed_parts() {
    let left = |patch: &str, document: &str| {
        let mut patch = tree(patch);
        apply(of(SPEC), tree(document), &mut patch).unwrap();
        pintle_schema::go::display(&patch)
    };
    assert_eq!(
        left(
            r#"{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"a"}],"nodeName":null}"#,
            r#"{"containers":[{"name":"a"}]}"#
        ),
        "map[nodeName:<nil>]"
    );
    assert_eq!(
        left(
            r#"{"affinity":{"a":{"b":null}},"volumes":[{"$patch":"replace"},{"x":{"$patch":"delete"}}]}"#,
            "{}"
        ),
        "map[affinity:map[a:map[]] volumes:[map[$patch:replace] map[]]]"
    );
    assert_eq!(
        left(r#"{"nodeSelector":{"$patch":"replace","$retainKeys":[]}}"#, r#"{"nodeSelector":{"a":"b"}}"#),
        "map[nodeSelector:map[$retainKeys:[]]]"
    );
}

#[test]
fn invalid_patches_are_rejected() {
    let bad = |text: &str| decode(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(bad("[]"), "json: cannot unmarshal array into Go value of type map[string]interface {}");
    assert_eq!(bad("1"), "json: cannot unmarshal number into Go value of type map[string]interface {}");
    assert_eq!(bad(""), "unexpected end of JSON input");
    assert_eq!(decode(br#"{"a":{"b":1,"b":2}}"#).unwrap().strict, [r#"duplicate field "a.b""#]);
}

/// Takes milliseconds; anything quadratic would take minutes.
#[test]
fn thousands_of_items_and_fields_are_fast() {
    let items = |n: usize, more: &str| -> String {
        let items: Vec<String> = (0..n).map(|n| format!(r#"{{"name":"n{n}"{more}}}"#)).collect();
        format!(r#"{{"containers":[{}]}}"#, items.join(","))
    };
    let many = items(20_000, "");
    assert_eq!(applied(SPEC, &many, &many), Ok(text(&tree(&many))));
    assert_eq!(
        applied(SPEC, &many, &items(20_000, r#","$patch":"delete""#)).unwrap(),
        r#"{"containers":[]}"#
    );
    let order = many.replace("containers", "$setElementOrder/containers");
    assert_eq!(applied(SPEC, &many, &order), Ok(text(&tree(&many))));
    let fields: Vec<String> = (0..100_000).map(|n| format!(r#""n{n}":"""#)).collect();
    let fields = format!("{{{}}}", fields.join(","));
    assert_eq!(applied(SPEC, r#"{"nodeName":"z"}"#, &fields).unwrap().len(), text(&tree(&fields)).len() + 15);
    let nulls = fields.replace("\"\"", "null");
    assert_eq!(applied(SPEC, &fields, &nulls).unwrap(), "{}");
    let finalizers: Vec<String> = (0..50_000).map(|n| format!(r#""n{n}""#)).collect();
    let finalizers = format!(r#"{{"finalizers":[{}]}}"#, finalizers.join(","));
    assert_eq!(applied("meta/v1.ObjectMeta", &finalizers, &finalizers), Ok(finalizers.clone()));
}

#[test]
fn a_patch_that_exceeds_the_work_limit_is_rejected() {
    let again: Vec<String> =
        (0..20_000).map(|n| format!(r#"{{"name":"a","env":[{{"name":"e{n}"}}],"x{n}":1}}"#)).collect();
    let patch = format!(r#"{{"containers":[{}]}}"#, again.join(","));
    refused(
        SPEC,
        &patch,
        r#"{"containers":[{"name":"a","env":[{"name":"e"}]}]}"#,
        "the patch takes too much work",
    );
}
