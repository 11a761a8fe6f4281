//! Defaults that a schema would not take from a client.

use super::{check_field, check_root, expect_errors, with_field};
use crate::definition::{validate, validate_update};

#[test]
fn a_default_is_of_its_type() {
    for (schema, expected) in [
        (
            r#"{"type":"string","default":1}"#,
            r#".default: Invalid value: "integer":  in body must be of type string: "integer""#,
        ),
        (
            r#"{"type":"integer","default":"x"}"#,
            r#".default: Invalid value: "string":  in body must be of type integer: "string""#,
        ),
        (
            r#"{"type":"object","default":[]}"#,
            r#".default: Invalid value: "array":  in body must be of type object: "array""#,
        ),
        (
            r#"{"type":"object","default":{"a":1},"properties":{"a":{"type":"string"}}}"#,
            r#".default.a: Invalid value: "integer": a in body must be of type string: "integer""#,
        ),
        (
            r#"{"type":"string","maxLength":1,"default":"xx"}"#,
            ".default: Too long: may not be more than 1 byte",
        ),
        (
            r#"{"type":"object","default":{},"required":["a"],"properties":{"a":{"type":"string"}}}"#,
            ".default.a: Required value",
        ),
    ] {
        check_field(schema, &[expected]);
    }
    check_field(r#"{"type":"string","nullable":true,"default":null}"#, &[]);
    check_field(r#"{"type":"array","items":{"type":"string"},"default":["a"]}"#, &[]);
}

#[test]
fn defaults_are_looked_for_everywhere_but_in_other_properties() {
    check_field(
        r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string","default":1}}}}}}"#,
        &[
            r#".properties[a].items.properties[b].default: Invalid value: "integer":  in body must be of type string: "integer""#,
        ],
    );
    check_field(r#"{"type":"object","additionalProperties":{"type":"string","default":1}}"#, &[]);
}

#[test]
fn a_default_has_no_unknown_fields() {
    let schema = r#"{"type":"object","default":{"a":"x","b":{"c":1}},"properties":{"a":{"type":"string"}}}"#;
    check_field(schema, &[r#".default: Invalid value: {"a":"x","b":{"c":1}}: must not have unknown fields"#]);
    // Where there was one, there may be.
    let wrong = with_field(schema);
    expect_errors(validate_update(&wrong, &wrong), &[]);
    let fine = with_field(r#"{"type":"object"}"#);
    assert_eq!(validate_update(&wrong, &fine).len(), 1);
    check_field(r#"{"type":"object","default":{"a":1},"x-kubernetes-preserve-unknown-fields":true}"#, &[]);
}

#[test]
fn embedded_objects_have_what_objects_have() {
    let embedded = |default: &str| {
        format!(
            r#"{{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"default":{default}}}"#
        )
    };
    check_field(&embedded(r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#), &[]);
    check_field(&embedded("{}"), &[".default.apiVersion: Required value", ".default.kind: Required value"]);
    check_field(
        &embedded(r#"{"apiVersion":1,"kind":"Pod"}"#),
        &[".default.apiVersion: Invalid value: 1: must be a string"],
    );
    let found =
        validate(&with_field(&embedded(r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"/"}}"#)));
    assert_eq!(found.len(), 1);
    assert!(found[0].field.ends_with("properties[f].default.metadata.name"), "{}", found[0]);
}

#[test]
fn defaults_of_embedded_metadata_are_validated() {
    let name = |default: &str| {
        format!(
            r#"{{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"properties":{{"metadata":{{"type":"object","properties":{{"name":{{"type":"string","default":{default}}}}}}}}}}}"#
        )
    };
    check_field(&name(r#""a""#), &[]);
    check_field(
        &name(r#""a/b""#),
        &[
            r#".properties[metadata].properties[name].default: Invalid value: "a/b": must result in valid metadata: metadata.name: Invalid value: "a/b": may not contain '/'"#,
        ],
    );
    check_field(
        r#"{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"properties":{"kind":{"type":"string","default":"%"}}}"#,
        &[
            r#".properties[kind].default: Invalid value: "%": must result in valid metadata: kind: Invalid value: "%": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"#,
        ],
    );
}

#[test]
fn defaults_obey_rules() {
    check_field(
        r#"{"type":"integer","default":1,"x-kubernetes-validations":[{"rule":"self > 1","message":"too little"}]}"#,
        &[".default: Invalid value: 1: too little"],
    );
    check_field(r#"{"type":"integer","default":2,"x-kubernetes-validations":[{"rule":"self > 1"}]}"#, &[]);
    // One that is kept is fine, one that is new is not.
    check_field(
        r#"{"type":"integer","default":2,"x-kubernetes-validations":[{"rule":"oldSelf.hasValue()","optionalOldSelf":true,"message":"new"}]}"#,
        &[".default: Invalid value: 2: new"],
    );
}

#[test]
fn expressions_are_looked_at_where_the_schema_is_sound() {
    let rule = |rule: &str| format!(r#"[{{"rule":"{rule}"}}]"#);
    check_field(
        &format!(r#"{{"type":"string","x-kubernetes-validations":{}}}"#, rule("foo == 'x'")),
        &[
            ".x-kubernetes-validations[0].rule: Invalid value: {\"Rule\":\"foo == 'x'\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo == 'x'\n | ^",
        ],
    );
    // A mistake in one property says nothing about another, and silences those above.
    let schema = format!(
        r#"{{"type":"object","x-kubernetes-validations":{all},"properties":{{"a":{{"type":"array","items":{{"type":"string"}},"x-kubernetes-list-type":"bag","x-kubernetes-validations":{all}}},"b":{{"type":"string","x-kubernetes-validations":{all}}}}}}}"#,
        all = rule("a b")
    );
    let found: Vec<String> =
        validate(&super::with_schema(&schema)).iter().map(|error| error.field.clone()).collect();
    assert_eq!(
        found,
        [
            "spec.validation.openAPIV3Schema.properties[a].x-kubernetes-list-type",
            "spec.validation.openAPIV3Schema.properties[b].x-kubernetes-validations[0].rule",
        ]
    );
    check_field(
        &format!(
            r#"{{"type":"array","maxItems":3,"items":{{"type":"string","maxLength":3,"x-kubernetes-validations":{}}}}}"#,
            rule("self == oldSelf")
        ),
        &[
            r#".items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties[f]"#,
        ],
    );
    check_field(
        &format!(
            r#"{{"type":"object","x-kubernetes-map-type":"future","properties":{{"k":{{"type":"string","maxLength":3,"x-kubernetes-validations":{}}}}}}}"#,
            rule("self == oldSelf")
        ),
        &[
            r#".x-kubernetes-map-type: Unsupported value: "future": supported values: "atomic", "granular""#,
            r#".properties[k].x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties[f]"#,
        ],
    );
}

#[test]
fn rules_that_cost_too_much_are_told_together_too() {
    let schema = |rule: &str| {
        format!(
            r#"{{"type":"object","properties":{{"f":{{"type":"array","items":{{"type":"string"}},"x-kubernetes-validations":[{{"rule":"{rule}"}}]}}}}}}"#
        )
    };
    let try_this = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";
    let at = ".properties[f].x-kubernetes-validations[0].rule";
    let expensive = schema("self.all(x, self.all(y, x == y))");
    check_root(
        &expensive,
        &[
            &format!(
                "{at}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x {try_this}"
            ),
            &format!(
                "{at}: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            ),
            &format!(
                ": Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x {try_this}"
            ),
        ],
    );
    // Of an unchanged schema only the total is reported.
    let wrong = super::with_schema(&expensive);
    assert_eq!(validate_update(&wrong, &wrong).len(), 2);
}
