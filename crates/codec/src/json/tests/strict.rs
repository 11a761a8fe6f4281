use super::*;

fn strict_errors(name: &str, text: &str) -> Vec<String> {
    decoded(name, text).unwrap().strict
}

#[test]
fn unknown_fields_are_named_by_their_path_in_the_order_of_the_input() {
    let text = r#"{"foo":1,"spec":{"bar":{"x":[{}]},"containers":[{"name":"a"},{"Name":1,"ports":[{"x":null}]}]},"zzz":null}"#;
    assert_eq!(
        strict_errors("core/v1.Pod", text),
        [
            r#"unknown field "foo""#,
            r#"unknown field "spec.bar""#,
            r#"unknown field "spec.containers[1].Name""#,
            r#"unknown field "spec.containers[1].ports[0].x""#,
            r#"unknown field "zzz""#,
        ]
    );
}

#[test]
fn repeated_fields_are_named_too_and_each_once() {
    let text = r#"{"data":{"k":"1","k":"2","k":"3"},"data":{"k":"1"},"metadata":{"labels":{"a.b/c":"","a.b/c":""},"name":"a","name":"b"}}"#;
    assert_eq!(
        strict_errors("core/v1.ConfigMap", text),
        [
            r#"duplicate field "data.k""#,
            r#"duplicate field "data""#,
            r#"duplicate field "metadata.labels.a.b/c""#,
            r#"duplicate field "metadata.name""#,
        ]
    );
}

#[test]
fn names_are_quoted_as_go_does() {
    assert_eq!(
        strict_errors("core/v1.ConfigMap", "{\"a\\\"b\\n\\u00e9\":1}"),
        [r#"unknown field "a\"b\né""#]
    );
}

#[test]
fn inlined_and_go_field_names_are_unknown() {
    // Inline fields have no name of their own.
    assert_eq!(
        strict_errors("core/v1.Volume", r#"{"":1,"VolumeSource":{}}"#),
        [r#"unknown field """#, r#"unknown field "VolumeSource""#]
    );
}

#[test]
fn children_of_unknown_fields_are_not_checked() {
    assert_eq!(strict_errors("core/v1.ConfigMap", r#"{"x":{"a":1,"a":2}}"#), [r#"unknown field "x""#]);
}

#[test]
fn untyped_objects_report_duplicates_only() {
    let found = decode_untyped(br#"{"a":{"b":[{"c":1,"c":2}],"b":null},"a":1}"#).unwrap();
    assert_eq!(
        found.strict,
        [r#"duplicate field "a.b[0].c""#, r#"duplicate field "a.b""#, r#"duplicate field "a""#]
    );
    assert_eq!(text_of(&found), r#"{"a":1}"#);
    let found = decode_any(br#"[[{"a":1,"a":2}]]"#).unwrap();
    assert_eq!(found.strict, [r#"duplicate field "[0][0].a""#]);
}

#[test]
fn no_more_than_a_hundred_are_collected() {
    let fields: Vec<String> = (0..150).map(|n| format!("\"x{n}\":1")).collect();
    let found = strict_errors("core/v1.ConfigMap", &format!("{{{}}}", fields.join(",")));
    assert_eq!(found.len(), 100);
    assert_eq!(found[99], r#"unknown field "x99""#);
}

#[test]
fn types_with_their_own_decoding_are_not_strict() {
    let text = r#"{"type":"object","Typo":1,"properties":{"a":{"typo":1}},"items":{"typo":1},"additionalProperties":{"typo":1,"typo":1},"default":{"a":1,"a":2}}"#;
    assert_eq!(
        strict_errors("apiextensions/v1.JSONSchemaProps", text),
        [r#"unknown field "Typo""#, r#"unknown field "properties.a.typo""#]
    );
}
