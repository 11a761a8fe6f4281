//! Fields of schemas.

use super::{check, check_field, check_root, definition, with_schema};
use crate::definition::validate;

#[test]
fn types_are_those_of_json() {
    check_field(
        r#"{"type":"foo"}"#,
        &[
            r#".type: Unsupported value: "foo": supported values: "array", "boolean", "integer", "number", "object", "string""#,
        ],
    );
    check_field(
        r#"{"type":"null"}"#,
        &[
            r#".type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string""#,
            ".type: Forbidden: type cannot be set to null, use nullable as an alternative",
        ],
    );
}

#[test]
fn much_of_json_schema_is_not_supported() {
    for (schema, expected) in [
        (r#"{"type":"string","id":"x"}"#, ".id: Forbidden: id is not supported"),
        (r##"{"$ref":"#/x"}"##, ".$ref: Forbidden: $ref is not supported"),
        (
            r#"{"type":"object","patternProperties":{"x":{"type":"string"}}}"#,
            ".patternProperties: Forbidden: patternProperties is not supported",
        ),
        (
            r#"{"type":"object","definitions":{"x":{"type":"string"}}}"#,
            ".definitions: Forbidden: definitions is not supported",
        ),
        (
            r#"{"type":"object","dependencies":{"x":["y"]}}"#,
            ".dependencies: Forbidden: dependencies is not supported",
        ),
        (
            r#"{"type":"array","items":{"type":"string"},"additionalItems":false}"#,
            ".additionalItems: Forbidden: additionalItems is not supported",
        ),
        (
            r#"{"type":"array","items":[{"type":"string"}]}"#,
            ".items: Forbidden: items must be a schema object and not an array",
        ),
        (
            r#"{"type":"array","items":{"type":"string"},"uniqueItems":true}"#,
            ".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        (
            r#"{"type":"object","x-kubernetes-preserve-unknown-fields":false}"#,
            ".x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ),
    ] {
        check_field(schema, &[expected]);
    }
    // That it is not structural shows where nothing else is wrong.
    let wrong = r#"{"type":"object","properties":{"f":{"type":"string","$schema":"x"}}}"#;
    check_root(wrong, &[r#": Invalid value: "": OpenAPIV3Schema 'schema' is not supported"#]);
}

#[test]
fn unknown_schemas_are_looked_into() {
    check_field(
        r#"{"type":"object","definitions":{"x":{"type":"a"}},"dependencies":{"y":{"type":"b"},"z":["q"]},"items":[{"type":"c"}],"not":{"type":"d"}}"#,
        &[
            ".definitions: Forbidden: definitions is not supported",
            ".dependencies: Forbidden: dependencies is not supported",
            ".items: Forbidden: items must be a schema object and not an array",
            r#".not.type: Unsupported value: "d": supported values: "array", "boolean", "integer", "number", "object", "string""#,
            r#".definitions[x].type: Unsupported value: "a": supported values: "array", "boolean", "integer", "number", "object", "string""#,
            r#".items[0].type: Unsupported value: "c": supported values: "array", "boolean", "integer", "number", "object", "string""#,
            r#".dependencies[y].type: Unsupported value: "b": supported values: "array", "boolean", "integer", "number", "object", "string""#,
        ],
    );
}

#[test]
fn fields_are_named_or_any() {
    let why = ".additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive";
    let schema = |additional: &str| {
        format!(
            r#"{{"type":"object","properties":{{"a":{{"type":"string"}}}},"additionalProperties":{additional}}}"#
        )
    };
    check_field(&schema(r#"{"type":"string"}"#), &[why]);
    check_field(&schema("false"), &[why]);
    check_field(&schema("true"), &[]);
}

#[test]
fn list_types_are_of_lists() {
    for (schema, expected) in [
        (
            r#"{"type":"string","x-kubernetes-list-type":"set"}"#,
            &[r#".type: Invalid value: "string": must be array if x-kubernetes-list-type is specified"#]
                as &[&str],
        ),
        (
            r#"{"x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-list-type":"set"}"#,
            &[".type: Required value: must be array if x-kubernetes-list-type is specified"],
        ),
        (
            r#"{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"bag"}"#,
            &[
                r#".x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map""#,
            ],
        ),
        (
            r#"{"type":"array","items":{"type":"object"},"x-kubernetes-list-type":"set"}"#,
            &[
                ".items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
            ],
        ),
        (
            r#"{"type":"array","items":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},"x-kubernetes-list-type":"set"}"#,
            &[
                r#".items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a list with x-kubernetes-list-type=set"#,
            ],
        ),
        (
            r#"{"type":"array","items":{"type":"object","x-kubernetes-map-type":"atomic"},"x-kubernetes-list-type":"set"}"#,
            &[],
        ),
        (
            r#"{"type":"array","items":{"type":"string","nullable":true},"x-kubernetes-list-type":"set"}"#,
            &[".items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set"],
        ),
    ] {
        check_field(schema, expected);
    }
}

#[test]
fn map_types_are_of_maps() {
    check_field(
        r#"{"type":"string","x-kubernetes-map-type":"foo"}"#,
        &[
            r#".type: Invalid value: "string": must be object if x-kubernetes-map-type is specified"#,
            r#".x-kubernetes-map-type: Unsupported value: "foo": supported values: "atomic", "granular""#,
        ],
    );
    check_field(
        r#"{"x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-map-type":"atomic"}"#,
        &[".type: Required value: must be object if x-kubernetes-map-type is specified"],
    );
}

#[test]
fn keys_of_lists_are_scalars_that_are_there() {
    let list = |rest: &str| format!(r#"{{"type":"array",{rest},"x-kubernetes-list-type":"map"}}"#);
    check_field(
        r#"{"type":"array","items":{"type":"string"},"x-kubernetes-list-map-keys":["a"]}"#,
        &[".x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty"],
    );
    check_field(
        r#"{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set","x-kubernetes-list-map-keys":["a"]}"#,
        &[
            r#".x-kubernetes-list-type: Invalid value: "set": must be map if x-kubernetes-list-map-keys is non-empty"#,
        ],
    );
    check_field(
        &list(r#""items":{"type":"object"}"#),
        &[".x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"],
    );
    check_field(
        &list(r#""items":{"type":"string"},"x-kubernetes-list-map-keys":["a"]"#),
        &[
            r#".items.type: Invalid value: "string": must be object if parent array's x-kubernetes-list-type is map"#,
        ],
    );
    check_field(
        r#"{"x-kubernetes-preserve-unknown-fields":true,"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]}"#,
        &[
            ".items: Required value: must be specified",
            ".items: Required value: must have a schema if x-kubernetes-list-type is map",
        ],
    );
    check_field(
        &list(
            r#""items":{"type":"object","required":["a"],"properties":{"a":{"type":"object","nullable":true},"b":{"type":"string"},"c":{"type":"string","default":"x"}}},"x-kubernetes-list-map-keys":["a","b","b","c","d"]"#,
        ),
        &[
            r#".items.properties[a].type: Invalid value: "object": must be a scalar type if parent array's x-kubernetes-list-type is map"#,
            r#".x-kubernetes-list-map-keys: Invalid value: ["a","b","b","c","d"]: must not contain duplicate entries"#,
            r#".x-kubernetes-list-map-keys: Invalid value: ["a","b","b","c","d"]: entries must all be names of item properties"#,
            ".items.properties[a].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
            ".items.properties[b].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ".items.properties[b].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ],
    );
    let many = super::with_field(&list(r#""items":[{"type":"object"}],"x-kubernetes-list-map-keys":["a"]"#));
    let found = validate(&many);
    assert_eq!(found.len(), 2);
    let last = found[1].to_string();
    assert!(
        last.contains(r#".items: Invalid value: {"Schema":null,"JSONSchemas":[{"ID":"""#)
            && last.ends_with("}]}: must only have a single schema if x-kubernetes-list-type is map"),
        "{last}"
    );
}

#[test]
fn defaults_are_not_of_metadata() {
    let root = |properties: &str| format!(r#"{{"type":"object","properties":{{{properties}}}}}"#);
    check_root(
        &root(r#""apiVersion":{"type":"string","default":"v1"},"kind":{"type":"string","default":"A"}"#),
        &[
            ".properties[apiVersion].default: Forbidden: must not be set in top-level apiVersion",
            ".properties[kind].default: Forbidden: must not be set in top-level kind",
        ],
    );
    check_root(
        &root(r#""metadata":{"type":"object","properties":{"name":{"type":"string","default":"n"}}}"#),
        &[".properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata"],
    );
    check_field(
        r#"{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"metadata":{"type":"object","properties":{"labels":{"type":"object","additionalProperties":{"type":"string","default":"x"}},"a":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-embedded-resource":true}}}}}"#,
        &[
            ".properties[metadata].properties[a].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta",
            ".properties[metadata].properties[labels].additionalProperties.default: Forbidden: must not be set inside additionalProperties applying to object metadata",
        ],
    );
    check(
        &definition(
            r#""preserveUnknownFields":true,"validation":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string","default":"x"}}}}"#,
        ),
        &[
            "spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema",
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ],
    );
}

#[test]
fn the_root_of_objects_with_a_status_says_little() {
    let with_status = |schema: &str| {
        definition(&format!(
            r#""subresources":{{"status":{{}}}},"validation":{{"openAPIV3Schema":{schema}}}"#
        ))
    };
    check(
        &with_status(
            r#"{"type":"object","description":"d","required":["spec"],"x-kubernetes-preserve-unknown-fields":true}"#,
        ),
        &[],
    );
    let found = validate(&with_status(r#"{"type":"object","minProperties":1}"#));
    assert_eq!(found.len(), 1);
    let text = found[0].to_string();
    assert!(
        text.starts_with(
            r#"spec.validation.openAPIV3Schema: Invalid value: {"ID":"","Schema":"","Ref":null,"#
        ),
        "{text}"
    );
    assert!(
        text.ends_with(": only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource is enabled"),
        "{text}"
    );
    check(
        &with_status(r#"{"type":"string","minProperties":1}"#),
        &[
            r#"spec.validation.openAPIV3Schema.type: Invalid value: "string": only "object" is allowed as the type at the root of the schema if the status subresource is enabled"#,
            r#"spec.validation.openAPIV3Schema.type: Invalid value: "string": must be object at the root"#,
        ],
    );
    check_root(
        r#"{"type":"object","nullable":true}"#,
        &[".nullable: Forbidden: nullable cannot be true at the root"],
    );
}

#[test]
fn rules_say_what_they_ask_and_what_to_tell() {
    let rule = |rule: &str| {
        format!(
            r#"{{"type":"object","properties":{{"a":{{"type":"string"}},"m":{{"type":"object","additionalProperties":{{"type":"string"}}}}}},"x-kubernetes-validations":[{{{rule}}}]}}"#
        )
    };
    let at = |what: &str| format!(".x-kubernetes-validations[0].{what}");
    for (given, expected) in [
        (r#""rule":" \n""#, vec![at("rule: Required value: rule is not specified")]),
        (
            r#""rule":"true","message":" ""#,
            vec![at(r#"message: Invalid value: " ": must be non-empty if specified"#)],
        ),
        (
            r#""rule":"true","message":"a\nb""#,
            vec![at(r#"message: Invalid value: "a\nb": must not contain line breaks"#)],
        ),
        (
            r#""rule":"true &&\r true""#,
            vec![at("message: Required value: message must be specified if rule contains line breaks")],
        ),
        (
            r#""rule":"true","messageExpression":" ""#,
            vec![at("messageExpression: Required value: messageExpression must be non-empty if specified")],
        ),
        (
            r#""rule":"true","reason":"Foo""#,
            vec![at(
                r#"reason: Unsupported value: "Foo": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired""#,
            )],
        ),
        (
            r#""rule":"true","fieldPath":"\n""#,
            vec![
                at(r#"fieldPath: Invalid value: "\n": must be non-empty if specified"#),
                at(r#"fieldPath: Invalid value: "\n": must not contain line breaks"#),
                at(r#"fieldPath: Invalid value: "\n": must be a valid path"#),
            ],
        ),
        (
            r#""rule":"true","fieldPath":".b""#,
            vec![at(r#"fieldPath: Invalid value: ".b": must be a valid path"#)],
        ),
    ] {
        check_field(&rule(given), &expected.iter().map(String::as_str).collect::<Vec<_>>());
    }
    for fine in [".a", ".m.x", ".m['a.b']", "['a']", r"['m'].x"] {
        check_field(&rule(&format!(r#""rule":"true","fieldPath":"{fine}""#)), &[]);
    }
    for wrong in ["a", ".", ".a.b", "['a", "[a]", "['a'", r"['\\q']", ".m['a'b", "['a']['b']"] {
        let found = validate(&super::with_field(&rule(&format!(r#""rule":"true","fieldPath":"{wrong}""#))));
        assert_eq!(found.len(), 1, "{wrong}");
    }
}

#[test]
fn a_schema_of_a_version_is_where_it_is() {
    let wrong = definition(
        r#""versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}},{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{}}}}}]"#,
    );
    check(
        &wrong,
        &[
            "spec.versions[1].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields",
        ],
    );
    check(&with_schema(r#"{"type":"object"}"#), &[]);
}
