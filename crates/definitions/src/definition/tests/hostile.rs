//! Definitions that are meant to cost too much.

use pintle_meta::field_path::MOST_ERRORS;

use super::with_schema;
use crate::definition::validate;

/// Returns the number of errors and their size as text.
fn size(schema: &str) -> (usize, usize) {
    let errors = validate(&with_schema(schema));
    (errors.len(), errors.iter().map(|error| error.to_string().len()).sum())
}

#[test]
fn errors_of_a_huge_schema_end_somewhere() {
    let fields: Vec<String> = (0..MOST_ERRORS + 5).map(|index| format!(r#""f{index}":{{}}"#)).collect();
    let (count, _) = size(&format!(r#"{{"type":"object","properties":{{{}}}}}"#, fields.join(",")));
    assert_eq!(count, MOST_ERRORS);
    // A long name is in the paths of all that is below it.
    let long = "x".repeat(100_000);
    let (count, bytes) = size(&format!(
        r#"{{"type":"object","properties":{{"{long}":{{"type":"object","properties":{{{}}}}}}}}}"#,
        fields.join(",")
    ));
    assert!(count > 0 && bytes < 40 << 20, "{count} errors of {bytes} bytes");
}

#[test]
fn deep_schemas_are_walked_once() {
    let mut schema = r#"{"type":"string","minLength":1,"allOf":[{"minLength":1}]}"#.to_owned();
    for level in 0..150 {
        schema = match level % 3 {
            0 => format!(r#"{{"type":"object","properties":{{"a":{schema}}}}}"#),
            1 => format!(r#"{{"type":"array","items":{schema}}}"#),
            _ => format!(r#"{{"type":"object","additionalProperties":{schema}}}"#),
        };
    }
    let (count, _) = size(&format!(r#"{{"type":"object","properties":{{"a":{schema}}}}}"#));
    assert_eq!(count, 0);
    // As deep as decoders take it.
    let mut lists = r#"{"type":"string","x-kubernetes-validations":[{"rule":"true"}]}"#.to_owned();
    for _ in 0..pintle_codec::MAX_DEPTH - 20 {
        lists = format!(r#"{{"type":"array","maxItems":1,"items":{lists}}}"#);
    }
    let (count, _) = size(&format!(r#"{{"type":"object","properties":{{"a":{lists}}}}}"#));
    assert_eq!(count, 0);
    let mut nested = r#"{"minLength":1}"#.to_owned();
    for _ in 0..150 {
        nested = format!(r#"{{"not":{{"allOf":[{nested}]}}}}"#);
    }
    let (count, _) = size(&format!(r#"{{"type":"object","allOf":[{nested}]}}"#));
    assert_eq!(count, 0);
}

#[test]
fn values_that_would_be_endless_do_not_show() {
    let fields: Vec<String> = (0..20_000).map(|index| format!(r#""f{index}":{{"type":"string"}}"#)).collect();
    let schema = format!(r#"{{"type":"object","minProperties":1,"properties":{{{}}}}}"#, fields.join(","));
    let definition = super::definition(&format!(
        r#""subresources":{{"status":{{}}}},"validation":{{"openAPIV3Schema":{schema}}}"#
    ));
    let errors = validate(&definition);
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0]
            .to_string()
            .starts_with("spec.validation.openAPIV3Schema: Invalid value: only [Description")
    );
}

#[test]
fn defaults_within_defaults_end_somewhere() {
    let rules: Vec<String> = (0..300).map(|index| format!(r#"{{"rule":"self != '{index}'"}}"#)).collect();
    let mut schema = format!(r#"{{"type":"string","x-kubernetes-validations":[{}]}}"#, rules.join(","));
    for _ in 0..100 {
        schema = format!(r#"{{"type":"object","default":{{}},"properties":{{"a":{schema}}}}}"#);
    }
    let errors = validate(&with_schema(&format!(r#"{{"type":"object","properties":{{"a":{schema}}}}}"#)));
    let last = errors.last().unwrap();
    assert_eq!(last.detail, "defaults within defaults are too many to be checked");
}
