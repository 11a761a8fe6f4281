//! Validation of an object as a resource: kind, metadata, scale, lists.

use super::{lines, schema, tree};
use crate::object::{Scale, embedded, finalizer_warnings, lists, validate_kind};

#[test]
fn sets_and_maps_have_no_duplicates() {
    let root = schema(
        r#"{"properties":{"s":{"x-kubernetes-list-type":"set"},
            "o":{"additionalProperties":{"items":{"x-kubernetes-list-type":"set"}}},
            "m":{"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"]},
            "n":{"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k","p"]}}}"#,
    );
    let cases = [
        (r#"{"s":["a","b",1,1.5,null,true]}"#, ""),
        (r#"{"s":["a","b","a"]}"#, "s[2]: Duplicate value: \"a\"\n"),
        (r#"{"s":["a","a","a"]}"#, "s[1]: Duplicate value: \"a\"\n"),
        (r#"{"s":[1,1.0]}"#, ""),
        (r#"{"s":[{"a":1,"b":2},{"b":2,"a":1}]}"#, "s[1]: Duplicate value: {\"a\":1,\"b\":2}\n"),
        (r#"{"o":{"a/b":[[],[1,1]]}}"#, "o[a/b][1][1]: Duplicate value: 1\n"),
        (r#"{"m":[{"k":"a"},{"k":"b"}]}"#, ""),
        (r#"{"m":[{"k":"a","x":1},{"k":"a"}]}"#, "m[1]: Duplicate value: {\"k\":\"a\"}\n"),
        (r#"{"m":[{},null]}"#, "m[1]: Duplicate value: {}\n"),
        (r#"{"m":[{},1]}"#, "m[1]: Invalid value: 1: must be an object for an array of list-type map\n"),
        (r#"{"n":[{"k":"a","p":1},{"k":"a","p":2},{"k":"a"}]}"#, ""),
        (
            r#"{"n":[{"k":"x","p":1},{"p":1,"k":"x","z":1}]}"#,
            "n[1]: Duplicate value: {\"k\":\"x\",\"p\":1}\n",
        ),
    ];
    for (given, want) in cases {
        assert_eq!(lines(&lists::validate(&root, &tree(given))), want, "{given}");
    }
    let (one, two) = (tree(r#"{"s":[1,1]}"#), tree(r#"{"s":[2,2]}"#));
    assert_eq!(lines(&lists::validate_update(&root, &one, &two)), "");
    assert_eq!(lines(&lists::validate_update(&root, &one, &tree("{}"))), "s[1]: Duplicate value: 1\n");
}

#[test]
fn embedded_objects_have_a_kind_and_metadata() {
    let root = schema(
        r#"{"properties":{"e":{"x-kubernetes-embedded-resource":true},
            "l":{"items":{"x-kubernetes-embedded-resource":true}},
            "m":{"additionalProperties":{"x-kubernetes-embedded-resource":true}}}}"#,
    );
    let label = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                 character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
                 validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
    let cases = [
        (r#"{"e":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"Bad!"}}}"#, String::new()),
        (r#"{"e":{}}"#, "e.apiVersion: Required value\ne.kind: Required value\n".into()),
        (
            r#"{"l":[{"apiVersion":1,"kind":""}]}"#,
            "l[0].apiVersion: Invalid value: 1: must be a string\nl[0].kind: Invalid value: \"\": must not be empty\n"
                .into(),
        ),
        (
            r#"{"m":{"k":{"apiVersion":"a/b/c","kind":"Bad Kind"}}}"#,
            format!(
                "m[k].apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c\n\
                 m[k].kind: Invalid value: \"Bad Kind\": may have mixed case, but should otherwise match: {label}\n"
            ),
        ),
        (
            r#"{"e":{"apiVersion":"v1","kind":"Pod","metadata":{"labels":[]}}}"#,
            "e.metadata: Invalid value: {\"labels\":[]}: json: cannot unmarshal array into Go struct field \
             ObjectMeta.labels of type map[string]string\n"
                .into(),
        ),
        (
            r#"{"e":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a/b","generation":-1}}}"#,
            "e.metadata.name: Invalid value: \"a/b\": may not contain '/'\n\
             e.metadata.generation: Invalid value: -1: must be greater than or equal to 0\n"
                .into(),
        ),
    ];
    for (given, want) in cases {
        assert_eq!(lines(&embedded::validate(&root, &tree(given), false)), want, "{given}");
    }
}

#[test]
fn replicas_are_numbers_that_make_sense() {
    let scale = Scale::new(&tree(
        r#"{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}"#,
    ));
    let spec = |given: &str| lines(&scale.validate_spec(&tree(given)));
    assert_eq!(spec(r#"{"spec":{"replicas":1}}"#), "");
    assert_eq!(spec(r#"{"spec":null}"#), "");
    assert_eq!(
        spec(r#"{"spec":{"replicas":-1}}"#),
        ".spec.replicas: Invalid value: -1: should be a non-negative integer\n"
    );
    assert_eq!(
        spec(r#"{"spec":{"replicas":2147483648}}"#),
        ".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647\n"
    );
    assert_eq!(
        spec(r#"{"spec":{"replicas":{"b":[1,"x"],"a":null}}}"#),
        ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: map[a:<nil> b:[1 x]] is of the type \
         map[string]interface {}, expected int64\n"
    );
    assert_eq!(
        spec(r#"{"spec":"a"}"#),
        ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: a is of the type string, expected \
         map[string]interface{}\n"
    );
    assert_eq!(
        lines(&scale.validate_status(&tree(r#"{"status":{"replicas":-1,"selector":5}}"#))),
        ".status.replicas: Invalid value: -1: should be a non-negative integer\n\
         .status.selector: Invalid value: \"\": .status.selector accessor error: 5 is of the type int64, expected string\n"
    );
}

#[test]
fn an_object_is_of_its_kind() {
    let errors = validate_kind(&tree(r#"{"apiVersion":"g/v1","kind":"A"}"#), "g", "v1", "A");
    assert_eq!(lines(&errors), "");
    let errors = validate_kind(&tree(r#"{"apiVersion":"g/v2","kind":"B"}"#), "g", "v1", "A");
    assert_eq!(
        lines(&errors),
        "kind: Invalid value: \"B\": must be A\napiVersion: Invalid value: \"g/v2\": must be g/v1\n"
    );
}

#[test]
fn new_finalizers_without_a_domain_are_warned_of() {
    let old = tree(r#"{"metadata":{"finalizers":["old"]}}"#);
    let new = tree(r#"{"metadata":{"finalizers":["old","b.c","a","x.y/z","orphan"]}}"#);
    let warnings = finalizer_warnings(&new, Some(&old));
    let conflicts = "to avoid accidental conflicts with other finalizer writers";
    assert_eq!(
        warnings,
        [
            format!(r#"metadata.finalizers: "a": prefer a domain-qualified finalizer name {conflicts}"#),
            format!(
                r#"metadata.finalizers: "b.c": prefer a domain-qualified finalizer name including a path (/) {conflicts}"#
            ),
        ]
    );
    assert_eq!(finalizer_warnings(&old, None).len(), 1);
}
