use super::*;

#[test]
fn times_are_truncated_and_converted_to_utc() {
    check(
        "meta/v1.ObjectMeta",
        &[
            (
                r#"{"creationTimestamp":"2020-01-02T03:04:05Z"}"#,
                r#"{"creationTimestamp":"2020-01-02T03:04:05Z"}"#,
            ),
            (
                r#"{"creationTimestamp":"2020-01-02T03:04:05.999+02:00"}"#,
                r#"{"creationTimestamp":"2020-01-02T01:04:05Z"}"#,
            ),
            (r#"{"creationTimestamp":null}"#, "{}"),
            (r#"{"creationTimestamp":"0001-01-01T00:00:00Z"}"#, "{}"),
            (
                r#"{"creationTimestamp":5}"#,
                "!json: cannot unmarshal number into Go struct field ObjectMeta.creationTimestamp of type string",
            ),
            (
                r#"{"creationTimestamp":{}}"#,
                "!json: cannot unmarshal object into Go struct field ObjectMeta.creationTimestamp of type string",
            ),
            (
                r#"{"creationTimestamp":"2020-13-02T03:04:05Z"}"#,
                "!parsing time \"2020-13-02T03:04:05Z\": month out of range",
            ),
            (
                r#"{"creationTimestamp":""}"#,
                "!parsing time \"\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"2006\"",
            ),
        ],
    );
    check(
        "coordination/v1.LeaseSpec",
        &[
            (
                r#"{"renewTime":"2020-01-02T03:04:05.123456Z"}"#,
                r#"{"renewTime":"2020-01-02T03:04:05.123456Z"}"#,
            ),
            (
                r#"{"renewTime":"2020-01-02T03:04:05.123456789+00:00"}"#,
                "!parsing time \"2020-01-02T03:04:05.123456789+00:00\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"789+00:00\" as \"Z07:00\"",
            ),
            (r#"{"renewTime":null}"#, "{}"),
        ],
    );
}

#[test]
fn durations_are_reformatted_and_null_is_zero() {
    check(
        "apiextensions/v1.JSONSchemaProps",
        &[
            (r#"{"default":  {"b": 1, "a":2 } }"#, r#"{"default":{"b":1,"a":2}}"#),
            (r#"{"default":null,"example":1.50}"#, r#"{"example":1.50}"#),
        ],
    );
}

#[test]
fn quantities_are_canonical() {
    check(
        "core/v1.ResourceRequirements",
        &[
            (
                r#"{"limits":{"cpu":"1000m","memory":"1024Mi","a":0.5,"b":1e3,"c":" 5 ","d":null,"e":"0.1"}}"#,
                r#"{"limits":{"a":"500m","b":"1e3","c":"5","cpu":"1","d":"0","e":"100m","memory":"1Gi"}}"#,
            ),
            (
                r#"{"limits":{"cpu":"x"}}"#,
                "!quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ),
            (
                r#"{"limits":{"cpu":[1]}}"#,
                "!quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ),
            (
                r#"{"limits":{"cpu":true}}"#,
                "!quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ),
        ],
    );
}

#[test]
fn an_int_or_string_is_a_number_or_a_string() {
    let wrong = |found: &str| {
        format!("!json: cannot unmarshal {found} into Go struct field ServicePort.targetPort of type int32")
    };
    check(
        "core/v1.ServicePort",
        &[
            (r#"{"port":1,"targetPort":"http"}"#, r#"{"port":1,"targetPort":"http"}"#),
            (r#"{"port":1,"targetPort":80}"#, r#"{"port":1,"targetPort":80}"#),
            (r#"{"port":1,"targetPort":null}"#, r#"{"port":1,"targetPort":0}"#),
            (r#"{"port":1}"#, r#"{"port":1,"targetPort":0}"#),
            (r#"{"targetPort":1.5}"#, &wrong("number 1.5")),
            (r#"{"targetPort":1e2}"#, &wrong("number 1e2")),
            (r#"{"targetPort":2147483648}"#, &wrong("number 2147483648")),
            (r#"{"targetPort":true}"#, &wrong("bool")),
            (r#"{"targetPort":{}}"#, &wrong("object")),
            (r#"{"targetPort":[]}"#, &wrong("array")),
        ],
    );
}

#[test]
fn raw_json_is_preserved_and_compacted_when_encoded() {
    let text = r#"{"fieldsV1":{ "f:b" : {} , "f:a":{"k:{\"x\":\"<\"}":1.0}}}"#;
    let found = decoded("meta/v1.ManagedFieldsEntry", text).unwrap();
    assert_eq!(
        found.value.get("fieldsV1").unwrap().as_raw().unwrap(),
        br#"{ "f:b" : {} , "f:a":{"k:{\"x\":\"<\"}":1.0}}"#
    );
    assert_eq!(text_of(&found), r#"{"fieldsV1":{"f:b":{},"f:a":{"k:{\"x\":\"\u003c\"}":1.0}}}"#);
    check(
        "meta/v1.ManagedFieldsEntry",
        &[(r#"{"fieldsV1":null}"#, "{}"), (r#"{"fieldsV1":5}"#, r#"{"fieldsV1":5}"#)],
    );
    check(
        "apps/v1.ControllerRevision",
        &[
            (
                r#"{"data":{"b":1,"a":2},"revision":3}"#,
                r#"{"metadata":{},"data":{"b":1,"a":2},"revision":3}"#,
            ),
            (r#"{"data":null}"#, r#"{"metadata":{},"data":null,"revision":0}"#),
        ],
    );
}

#[test]
fn schemas_may_be_lists_booleans_or_strings() {
    check(
        "apiextensions/v1.JSONSchemaProps",
        &[
            (r#"{"items":{"type":"string"}}"#, r#"{"items":{"type":"string"}}"#),
            (r#"{"items":[{"type":"string"},null]}"#, r#"{"items":[{"type":"string"},{}]}"#),
            (
                r#"{"additionalProperties":{"type":"string"}}"#,
                r#"{"additionalProperties":{"type":"string"}}"#,
            ),
            (r#"{"additionalProperties":false}"#, r#"{"additionalProperties":false}"#),
            (r#"{"additionalProperties":true}"#, r#"{"additionalProperties":true}"#),
            (r#"{"additionalProperties":null}"#, "{}"),
            (
                r#"{"dependencies":{"a":["b"],"c":{"type":"x"},"d":null,"e":5,"f":[]}}"#,
                r#"{"dependencies":{"a":["b"],"c":{"type":"x"},"d":null,"e":null,"f":null}}"#,
            ),
            (r#"{"additionalProperties":[]}"#, "!boolean or JSON schema expected"),
            (r#"{"additionalProperties":"true"}"#, "!boolean or JSON schema expected"),
        ],
    );
}

#[test]
fn errors_inside_schemas_have_the_whole_path_and_the_outer_struct() {
    let text = r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"items":{"properties":{"a":{"items":{"type":5}}}}}}}]}}"#;
    assert_eq!(
        decoded("apiextensions/v1.CustomResourceDefinition", text).unwrap_err(),
        "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items.properties.items.type of type string"
    );
    // If the value at the start of the inner type is of a wrong type, the outer struct is the one around it.
    let text = r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"items":[5]}}}]}}"#;
    assert_eq!(
        decoded("apiextensions/v1.CustomResourceDefinition", text).unwrap_err(),
        "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items of type v1.JSONSchemaProps"
    );
    // It stops decoding, unlike an error outside, and so takes precedence.
    let text = r#"{"type":5,"items":{"type":"a","format":6}}"#;
    assert_eq!(
        decoded("apiextensions/v1.JSONSchemaProps", text).unwrap_err(),
        "json: cannot unmarshal number into Go struct field JSONSchemaProps.items.format of type string"
    );
}
