//! Validation of definitions, rule by rule: each definition is valid except for one thing.

mod defaults;
mod hostile;
mod schema;
mod spec;
mod structural;
mod update;

use pintle_codec::json;
use pintle_meta::Value;
use pintle_meta::field_path::Error;

/// A definition as it is stored. `spec` has what is particular to it, and wins over what all definitions have here.
fn definition(spec: &str) -> Value {
    with_status(spec, r#""storedVersions":["v1"]"#)
}

fn with_status(spec: &str, status: &str) -> Value {
    const COMMON: [(&str, &str); 6] = [
        ("group", r#""g.io""#),
        ("version", r#""v1""#),
        ("scope", r#""Namespaced""#),
        ("names", r#"{"plural":"as","singular":"a","kind":"A","listKind":"AList"}"#),
        ("versions", r#"[{"name":"v1","served":true,"storage":true}]"#),
        ("preserveUnknownFields", "false"),
    ];
    let mut text = String::new();
    for (field, value) in COMMON {
        if !spec.contains(&format!(r#""{field}":"#)) {
            text.push_str(&format!(r#""{field}":{value},"#));
        }
    }
    if !spec.contains("openAPIV3Schema") && !spec.contains("\"versions\":") {
        text.push_str(r#""validation":{"openAPIV3Schema":{"type":"object"}},"#);
    }
    let text = format!("{text}{spec}");
    let text = text.trim_end_matches(',');
    tree(&format!(r#"{{"metadata":{{"name":"as.g.io"}},"spec":{{{text}}},"status":{{{status}}}}}"#))
}

fn tree(text: &str) -> Value {
    let of = pintle_schema::find("apiextensions/v1beta1.CustomResourceDefinition").unwrap();
    json::decode(of, text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}")).value
}

/// A definition with this schema for all its versions.
fn with_schema(schema: &str) -> Value {
    definition(&format!(r#""validation":{{"openAPIV3Schema":{schema}}}"#))
}

/// A definition with this schema of a field `f`.
fn with_field(schema: &str) -> Value {
    with_schema(&format!(r#"{{"type":"object","properties":{{"f":{schema}}}}}"#))
}

#[track_caller]
fn expect_errors(errors: Vec<Error>, expected: &[&str]) {
    let found: Vec<String> = errors.iter().map(Error::to_string).collect();
    assert_eq!(found, expected);
}

#[track_caller]
fn check(definition: &Value, expected: &[&str]) {
    expect_errors(super::validate(definition), expected);
}

/// Errors of the field `f`, whose paths start where it is.
#[track_caller]
fn check_field(schema: &str, expected: &[&str]) {
    check_at(&with_field(schema), "spec.validation.openAPIV3Schema.properties[f]", expected);
}

/// Errors of the root.
#[track_caller]
fn check_root(schema: &str, expected: &[&str]) {
    check_at(&with_schema(schema), "spec.validation.openAPIV3Schema", expected);
}

#[track_caller]
fn check_at(definition: &Value, place: &str, expected: &[&str]) {
    let found: Vec<String> = super::validate(definition).iter().map(Error::to_string).collect();
    let found: Vec<String> = found
        .iter()
        .map(|error| {
            error.strip_prefix(place).unwrap_or_else(|| panic!("not at {place}: {error}")).to_owned()
        })
        .collect();
    assert_eq!(found, expected);
}
