//! Validation of updates.

use super::{lines, schema, tree};
use crate::object::Validator;

const RATCHET: &str = r#"{"type":"object","properties":{"kind":{"type":"string","maxLength":1},"spec":{"type":"object",
    "properties":{"a":{"type":"string","maxLength":3},"b":{"type":"string"},
    "l":{"type":"array","items":{"type":"string","enum":["x"]}},
    "m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
        "items":{"type":"object","required":["r"],"properties":{"k":{"type":"string"},"v":{"type":"string","maxLength":1},"r":{}}}},
    "p":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"required":["q"],"properties":{"z":{"type":"string"}}},
    "o":{"type":"object","allOf":[{"properties":{"c":{"maxLength":1}}}],"properties":{"c":{"type":"string"},"d":{"type":"string"}}}},
    "maxProperties":2},
    "status":{"type":"object","properties":{"a":{"type":"string","maxLength":3}}}}}"#;

#[test]
fn unchanged_errors_are_tolerated() {
    let root = schema(RATCHET);
    let validator = Validator::new(&root);
    let long = "Too long: may not be more than";
    let cases: &[(&str, &str, String)] = &[
        (r#"{"spec":{"a":"long"}}"#, r#"{"spec":{"a":"long"}}"#, String::new()),
        (r#"{"spec":{"a":"long"}}"#, r#"{"spec":{"a":"long","b":"x"}}"#, String::new()),
        (r#"{"spec":{"a":"long"}}"#, r#"{"spec":{"a":"other"}}"#, format!("spec.a: {long} 3 bytes\n")),
        (r#"{"spec":{}}"#, r#"{"spec":{"a":"other"}}"#, format!("spec.a: {long} 3 bytes\n")),
        // The kind is what it is now.
        (r#"{"kind":"Long"}"#, r#"{"kind":"Long"}"#, String::new()),
        (r#"{"kind":"Long"}"#, r#"{"kind":"Long","spec":{}}"#, format!("kind: {long} 1 byte\n")),
        // A plain list is what it was or not.
        (r#"{"spec":{"l":["q"]}}"#, r#"{"spec":{"b":"x","l":["q"]}}"#, String::new()),
        (
            r#"{"spec":{"l":["q"]}}"#,
            r#"{"spec":{"l":["q","x"]}}"#,
            "spec.l[0]: Unsupported value: \"q\": supported values: \"x\"\n".into(),
        ),
        // The items of a map are known by their keys, whatever their order.
        (
            r#"{"spec":{"m":[{"k":"1","v":"long"},{"k":"2","v":"x"}]}}"#,
            r#"{"spec":{"m":[{"k":"2","v":"x"},{"k":"1","v":"long"}]}}"#,
            String::new(),
        ),
        (
            r#"{"spec":{"m":[{"k":"1","v":"long"}]}}"#,
            r#"{"spec":{"m":[{"k":"3","r":1,"v":"long"},{"k":"1","v":"long","r":1}]}}"#,
            format!("spec.m[0].v: {long} 1 byte\n"),
        ),
        (
            r#"{"spec":{"m":[{"k":"1","v":"a"}]}}"#,
            r#"{"spec":{"m":[{"k":"1","v":"b"}]}}"#,
            "spec.m[0].r: Required value\n".into(),
        ),
        // Values without a schema are never equal.
        (r#"{"spec":{"p":{"u":1}}}"#, r#"{"spec":{"p":{"u":1}}}"#, "spec.p.q: Required value\n".into()),
        (r#"{"spec":{"p":{"z":"1"}}}"#, r#"{"spec":{"b":"1","p":{"z":"1"}}}"#, String::new()),
        // Alternatives know nothing of what was.
        (r#"{"spec":{"o":{"c":"long"}}}"#, r#"{"spec":{"b":"x","o":{"c":"long"}}}"#, String::new()),
        (
            r#"{"spec":{"o":{"c":"long"}}}"#,
            r#"{"spec":{"o":{"c":"long","d":"x"}}}"#,
            format!(
                "spec.o.c: {long} 1 byte\n\
                 <nil>: Invalid value: \"\": \"spec.o\" must validate all the schemas (allOf). None validated\n"
            ),
        ),
        // Something else that is wrong with the whole is no matter of its parts.
        (
            r#"{"spec":{"a":"long","b":"x"}}"#,
            r#"{"spec":{"a":"long","b":"x","l":[]}}"#,
            "spec: Too many: 3: must have at most 2 items\n".into(),
        ),
    ];
    for (old, new, want) in cases {
        let errors = validator.validate_update(&tree(new), &tree(old)).errors;
        assert_eq!(&lines(&errors), want, "{old} to {new}");
    }
}

#[test]
fn a_status_is_validated_alone() {
    let root = schema(RATCHET);
    let validator = Validator::new(&root);
    let status =
        |new: &str, old: &str| lines(&validator.validate_status_update(&tree(new), &tree(old)).errors);
    let wrong = r#"{"spec":{"a":"long"},"status":{"a":"long"}}"#;
    assert_eq!(status(wrong, wrong), "");
    assert_eq!(status(r#"{"spec":1}"#, wrong), "");
    assert_eq!(status(wrong, "{}"), "status.a: Too long: may not be more than 3 bytes\n");
    let not_object = r#"{"status":1}"#;
    assert_eq!(
        status(not_object, wrong),
        "status: Invalid value: \"integer\":  in body must be of type object: \"integer\"\n"
    );
}
