//! Schemas that are not structural.

use super::{check_field, check_root, definition, with_schema};
use crate::definition::{NonStructural, structural_errors};
use pintle_meta::field_path::Error;

#[test]
fn every_field_has_a_type() {
    for (schema, expected) in [
        ("{}", ".type: Required value: must not be empty for specified object fields"),
        (r#"{"description":"x"}"#, ".type: Required value: must not be empty for specified object fields"),
        (r#"{"type":"array"}"#, ".items: Required value: must be specified"),
        (
            r#"{"type":"array","items":{}}"#,
            ".items.type: Required value: must not be empty for specified array items",
        ),
        (
            r#"{"type":"object","additionalProperties":{}}"#,
            ".additionalProperties.type: Required value: must not be empty for specified object fields",
        ),
    ] {
        check_field(schema, &[expected]);
    }
    check_root("{}", &[".type: Required value: must not be empty at the root"]);
    check_root(r#"{"type":"string"}"#, &[r#".type: Invalid value: "string": must be object at the root"#]);
    check_root(
        r#"{"type":"object","additionalProperties":true}"#,
        &[".additionalProperties: Forbidden: must not be used at the root"],
    );
    for fine in [
        r#"{"x-kubernetes-int-or-string":true}"#,
        r#"{"x-kubernetes-preserve-unknown-fields":true}"#,
        r#"{"type":"object","additionalProperties":true}"#,
        r#"{"type":"array","items":{"type":"string"}}"#,
        r#"{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}"#,
        r#"{"x-kubernetes-int-or-string":true,"allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]},{"pattern":"a"}]}"#,
    ] {
        check_field(fine, &[]);
    }
}

#[test]
fn embedded_resources_are_objects_with_something_in_them() {
    check_field(
        r#"{"x-kubernetes-embedded-resource":true}"#,
        &[
            ".properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
            ".type: Required value: must be object if x-kubernetes-embedded-resource is true",
        ],
    );
    check_field(
        r#"{"type":"string","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}"#,
        &[r#".type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true"#],
    );
    check_field(
        r#"{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"additionalProperties":{"type":"string"}}"#,
        &[".additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set"],
    );
    check_field(
        r#"{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"kind":{"type":"integer"},"apiVersion":{"type":"integer"},"metadata":{"type":"string"}}}"#,
        &[
            r#".properties[apiVersion].type: Invalid value: "integer": must be string"#,
            r#".properties[kind].type: Invalid value: "integer": must be string"#,
            r#".properties[metadata].type: Invalid value: "string": must be object"#,
        ],
    );
}

#[test]
fn int_or_string_goes_with_nothing_else() {
    check_field(
        r#"{"type":"object","x-kubernetes-int-or-string":true,"x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-embedded-resource":true}"#,
        &[
            ".x-kubernetes-embedded-resource: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
            ".x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
        ],
    );
}

#[test]
fn metadata_is_what_it_is() {
    let root = |metadata: &str| format!(r#"{{"type":"object","properties":{{"metadata":{metadata}}}}}"#);
    for fine in [
        r#"{"type":"object"}"#,
        r#"{"type":"object","properties":{"name":{"type":"string","maxLength":3}}}"#,
        r#"{"type":"object","properties":{"name":{"type":"string"},"generateName":{"type":"string"}}}"#,
    ] {
        check_root(&root(fine), &[]);
    }
    let other = ".properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified";
    for wrong in [
        r#"{"type":"object","description":"x"}"#,
        r#"{"type":"object","required":["name"]}"#,
        r#"{"type":"object","properties":{"name":{"type":"string"},"labels":{"type":"object"}}}"#,
        r#"{"type":"object","x-kubernetes-preserve-unknown-fields":true}"#,
    ] {
        check_root(&root(wrong), &[other]);
    }
    check_root(
        &root(r#"{"type":"string"}"#),
        &[r#".properties[metadata].type: Invalid value: "string": must be object"#],
    );
    check_root(
        r#"{"type":"object","properties":{"kind":{"type":"integer"},"apiVersion":{"type":"object"}}}"#,
        &[
            r#".properties[apiVersion].type: Invalid value: "object": must be string"#,
            r#".properties[kind].type: Invalid value: "integer": must be string"#,
        ],
    );
}

#[test]
fn junctors_hold_only_value_validations() {
    for junctor in ["allOf", "anyOf", "oneOf"] {
        check_field(
            &format!(
                r#"{{"type":"object","properties":{{"a":{{"type":"string"}}}},"{junctor}":[{{"minProperties":1}},{{"type":"object","title":"t","description":"d","nullable":true,"properties":{{"a":{{"type":"string"}},"metadata":{{"minLength":1}}}},"additionalProperties":true,"x-kubernetes-map-type":"atomic","x-kubernetes-preserve-unknown-fields":true}}]}}"#
            ),
            &[
                &format!(".{junctor}[1].additionalProperties: Forbidden: must be undefined to be structural"),
                &format!(".{junctor}[1].description: Forbidden: must be empty to be structural"),
                &format!(".{junctor}[1].nullable: Forbidden: must be false to be structural"),
                &format!(".{junctor}[1].properties[a].type: Forbidden: must be empty to be structural"),
                &format!(
                    ".{junctor}[1].properties[metadata]: Forbidden: must not be specified in a nested context"
                ),
                &format!(".{junctor}[1].title: Forbidden: must be empty to be structural"),
                &format!(".{junctor}[1].type: Forbidden: must be empty to be structural"),
                &format!(
                    ".{junctor}[1].x-kubernetes-map-type: Forbidden: must be undefined to be structural"
                ),
                &format!(
                    ".{junctor}[1].x-kubernetes-preserve-unknown-fields: Forbidden: must be false to be structural"
                ),
            ],
        );
    }
    check_field(
        r#"{"type":"array","items":{"type":"string"},"not":{"default":[],"items":{"x-kubernetes-int-or-string":true,"x-kubernetes-embedded-resource":true,"x-kubernetes-validations":[{"rule":"true"}]}}}"#,
        &[
            ".not.default: Forbidden: must be undefined to be structural",
            ".not.items.x-kubernetes-embedded-resource: Forbidden: must be false to be structural",
            ".not.items.x-kubernetes-int-or-string: Forbidden: must be false to be structural",
            ".not.items.x-kubernetes-validations: Forbidden: must be empty to be structural",
        ],
    );
    // Types within `anyOf` only where the whole is exactly int-or-string.
    check_field(
        r#"{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"string"},{"type":"integer"}]}"#,
        &[
            ".anyOf[0].type: Forbidden: must be empty to be structural",
            ".anyOf[1].type: Forbidden: must be empty to be structural",
        ],
    );
}

#[test]
fn fields_in_junctors_are_specified_at_the_root() {
    check_root(
        r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"allOf":[{"properties":{"a":{"items":{"properties":{"x":{"minimum":1}}}},"b":{"not":{"minimum":1}}}}],"not":{"properties":{"c":{}}}}"#,
        &[
            ".properties[a].items.properties[x]: Required value: because it is defined in spec.validation.openAPIV3Schema.allOf[0].properties[a].items.properties[x]",
            ".properties[b]: Required value: because it is defined in spec.validation.openAPIV3Schema.allOf[0].properties[b]",
            ".properties[c]: Required value: because it is defined in spec.validation.openAPIV3Schema.not.properties[c]",
        ],
    );
    check_root(
        r#"{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"properties":{"a":{"items":{"minimum":1}}}}]}"#,
        &[
            ".properties[a].items: Required value: because it is defined in spec.validation.openAPIV3Schema.anyOf[0].properties[a].items",
        ],
    );
}

#[test]
fn patterns_can_be_read() {
    check_field(
        r#"{"type":"string","pattern":"("}"#,
        &[
            r#".pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`"#,
        ],
    );
}

#[test]
fn a_condition_tells_of_old_schemas() {
    assert_eq!(structural_errors(&definition("")), None);
    let wrong = with_schema(r#"{"properties":{"a":{"type":"array"}}}"#);
    let Some(NonStructural::Violations(errors)) = structural_errors(&wrong) else {
        panic!("it is structural")
    };
    let errors: Vec<String> = errors.iter().map(Error::to_string).collect();
    assert_eq!(
        errors,
        [
            "spec.versions[0].schema.openAPIV3Schema.properties[a].items: Required value: must be specified",
            "spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root",
        ]
    );
    let wrong = definition(r#""preserveUnknownFields":true"#);
    let Some(NonStructural::Violations(errors)) = structural_errors(&wrong) else {
        panic!("it is structural")
    };
    assert_eq!(errors[0].to_string(), "spec.preserveUnknownFields: Invalid value: true: must be false");
    let unknown = with_schema(r##"{"type":"object","properties":{"a":{"$ref":"#/x"}}}"##);
    assert_eq!(
        structural_errors(&unknown),
        Some(NonStructural::Unknown(
            "failed to check validation schema for version v1: OpenAPIV3Schema '$ref' is not supported"
                .into()
        ))
    );
}
