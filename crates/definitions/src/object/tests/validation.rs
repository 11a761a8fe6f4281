use std::fmt::Write;

use super::{schema, tree};
use crate::object::{Scale, Validator, embedded, finalizer_warnings, lists, validate_kind};

/// Errors, one on a line.
fn lines(errors: &[pintle_meta::field_path::Error]) -> String {
    errors.iter().fold(String::new(), |mut text, error| {
        _ = writeln!(text, "{error}");
        text
    })
}

/// Checks what is wrong with `f` of an object, for a schema of `f`.
fn check(of: &str, cases: &[(&str, &[&str])]) {
    let root = schema(&format!(r#"{{"type":"object","properties":{{"f":{of}}}}}"#));
    let validator = Validator::new(&root);
    for (given, want) in cases {
        let errors = validator.validate(&tree(&format!(r#"{{"f":{given}}}"#)));
        let want = want.iter().fold(String::new(), |text, line| text + line + "\n");
        assert_eq!(lines(&errors), want, "{of}: {given}");
    }
}

#[test]
fn types() {
    let wrong = |wanted: &str, found: &str| {
        format!(r#"f: Invalid value: "{found}": f in body must be of type {wanted}: "{found}""#)
    };
    let values = [
        ("object", "{}"),
        ("array", "[]"),
        ("string", r#""a""#),
        ("integer", "1"),
        ("number", "1.5"),
        ("boolean", "true"),
        ("null", "null"),
    ];
    for kind in ["object", "array", "string", "number", "boolean"] {
        for (found, value) in values {
            let fits = kind == found || (kind == "number" && found == "integer");
            let wrong = wrong(kind, found);
            let want: &[&str] = if fits { &[] } else { &[&wrong] };
            check(&format!(r#"{{"type":"{kind}"}}"#), &[(value, want)]);
        }
    }
    check(
        r#"{"type":"integer"}"#,
        &[
            ("1", &[]),
            ("1.0", &[]),
            (
                "1.5",
                &[
                    r#"f: Invalid value: "number": f in body must be of type integer: "number""#,
                    r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in f"#,
                ],
            ),
            (r#""1""#, &[&wrong("integer", "string")]),
            ("null", &[&wrong("integer", "null")]),
        ],
    );
    check(r#"{"type":"string","nullable":true}"#, &[("null", &[]), ("1", &[&wrong("string", "integer")])]);
    check(r#"{"x-kubernetes-preserve-unknown-fields":true}"#, &[("null", &[]), ("1", &[]), ("[{}]", &[])]);
    check(
        r#"{"x-kubernetes-int-or-string":true}"#,
        &[
            ("1", &[]),
            (r#""a""#, &[]),
            ("2.0", &[]),
            ("1.5", &[&wrong("integer,string", "number")]),
            ("true", &[&wrong("integer,string", "boolean")]),
            ("null", &[&wrong("integer,string", "null")]),
        ],
    );
}

#[test]
fn formats_of_strings() {
    check(
        r#"{"type":"string","format":"date"}"#,
        &[
            (r#""2024-01-31""#, &[]),
            (r#""x""#, &[r#"f: Invalid value: "x": f in body must be of type date: "x""#]),
            ("1", &[r#"f: Invalid value: "int64": f in body must be of type date: "int64""#]),
            ("1.5", &[r#"f: Invalid value: "float64": f in body must be of type date: "float64""#]),
            ("true", &[r#"f: Invalid value: "": f in body must be of type date: """#]),
            ("{}", &[r#"f: Invalid value: "": f in body must be of type date: """#]),
            // Not checked.
            ("[]", &[]),
        ],
    );
    check(r#"{"type":"string","format":"what"}"#, &[(r#""x""#, &[])]);
    check(
        r#"{"type":"string","format":"date-time","maxLength":2,"enum":["b"]}"#,
        &[(
            r#""abc""#,
            &[
                "f: Too long: may not be more than 2 bytes",
                r#"f: Invalid value: "abc": f in body must be of type date-time: "abc""#,
                r#"f: Unsupported value: "abc": supported values: "b""#,
            ],
        )],
    );
}

#[test]
fn formats_of_numbers() {
    check(
        r#"{"type":"integer","format":"int32"}"#,
        &[
            ("2147483647", &[]),
            (
                "2147483648",
                &[
                    r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in f"#,
                ],
            ),
            (r#""a""#, &[r#"f: Invalid value: "string": f in body must be of type integer: "string""#]),
            ("true", &[r#"f: Invalid value: "": f in body must be of type int32: """#]),
        ],
    );
    check(r#"{"type":"integer","format":"int64"}"#, &[("2147483648", &[])]);
    check(
        r#"{"type":"number","format":"float"}"#,
        &[
            ("1.5", &[]),
            (
                "1e39",
                &[r#"<nil>: Invalid value: "": Checked value must be of type number with format float in f"#],
            ),
        ],
    );
    check(r#"{"type":"number","format":"double"}"#, &[("1e39", &[])]);
}

#[test]
fn bounds_of_numbers() {
    check(
        r#"{"type":"integer","minimum":1,"maximum":10}"#,
        &[
            ("1", &[]),
            ("10", &[]),
            ("0", &["f: Invalid value: 0: f in body should be greater than or equal to 1"]),
            ("11", &["f: Invalid value: 11: f in body should be less than or equal to 10"]),
            ("11.0", &["f: Invalid value: 11: f in body should be less than or equal to 10"]),
        ],
    );
    check(
        r#"{"type":"number","minimum":0.5,"exclusiveMinimum":true,"maximum":2.5,"exclusiveMaximum":true}"#,
        &[
            ("0.5", &["f: Invalid value: 0.5: f in body should be greater than 0.5"]),
            ("2.5", &["f: Invalid value: 2.5: f in body should be less than 2.5"]),
            // Integers are compared with the bounds cut to one.
            ("0", &["f: Invalid value: 0: f in body should be greater than 0"]),
            ("2", &["f: Invalid value: 2: f in body should be less than 2"]),
            ("1", &[]),
        ],
    );
    check(
        r#"{"type":"integer","minimum":1.5}"#,
        &[(
            "1",
            &[
                r#"<nil>: Invalid value: "": Minimum boundary value must be of type integer (default format) in f"#,
                "f: Invalid value: 1: f in body should be greater than or equal to 1.5",
            ],
        )],
    );
    check(
        r#"{"type":"integer","multipleOf":3,"minimum":10,"maximum":5}"#,
        &[(
            "7",
            &[
                "f: Invalid value: 7: f in body should be a multiple of 3",
                "f: Invalid value: 7: f in body should be greater than or equal to 10",
                "f: Invalid value: 7: f in body should be less than or equal to 5",
            ],
        )],
    );
    check(
        r#"{"type":"number","multipleOf":0.1}"#,
        &[
            ("0.3", &[]),
            ("0.35", &["f: Invalid value: 0.35: f in body should be a multiple of 0.1"]),
            ("1", &["f: Invalid value: 0: factor MultipleOf declared for f must be positive: 0"]),
        ],
    );
}

#[test]
fn lengths_and_patterns() {
    check(
        r#"{"type":"string","minLength":2,"maxLength":4,"pattern":"^[a-zé]+$"}"#,
        &[
            (r#""a""#, &[r#"f: Invalid value: "a": f in body should be at least 2 chars long"#]),
            (r#""abcde""#, &["f: Too long: may not be more than 4 bytes"]),
            (r#""éééé""#, &[]),
            (r#""ABC""#, &[r#"f: Invalid value: "ABC": f in body should match '^[a-zé]+$'"#]),
        ],
    );
    check(
        r#"{"type":"string","pattern":"("}"#,
        &[(
            r#""a""#,
            &[
                "f: Invalid value: \"a\": f in body should match '(, but pattern is invalid: error parsing regexp: missing closing ): `(`'",
            ],
        )],
    );
}

#[test]
fn enumerations() {
    check(
        r#"{"enum":["a","b",1,2.5,true,{"x":1},null]}"#,
        &[
            (r#""a""#, &[]),
            ("1", &[]),
            ("1.0", &[]),
            ("1.9", &[]),
            ("97", &[]),
            ("true", &[]),
            (r#"{"x":1}"#, &[]),
            (
                r#""c""#,
                &[
                    r#"f: Unsupported value: "c": supported values: "a", "b", "1", "2.5", "true", "{\"x\":1}", "null""#,
                ],
            ),
            (
                r#"{"x":2}"#,
                &[
                    r#"f: Unsupported value: {"x":2}: supported values: "a", "b", "1", "2.5", "true", "{\"x\":1}", "null""#,
                ],
            ),
            (
                "null",
                &[
                    r#"f: Unsupported value: null: supported values: "a", "b", "1", "2.5", "true", "{\"x\":1}", "null""#,
                ],
            ),
        ],
    );
}

#[test]
fn items() {
    check(
        r#"{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string"}}"#,
        &[
            (r#"["a"]"#, &[]),
            ("[]", &["f: Invalid value: 0: f in body should have at least 1 items"]),
            (
                r#"["a",1,"c"]"#,
                &[
                    r#"f[1]: Invalid value: "integer": f[1] in body must be of type string: "integer""#,
                    "f: Too many: 3: must have at most 2 items",
                ],
            ),
        ],
    );
    check(
        r#"{"type":"array","uniqueItems":true}"#,
        &[
            ("[1,2]", &[]),
            (r#"[{"a":1},{"a":1}]"#, &[r#"f: Invalid value: "": f in body shouldn't contain duplicates"#]),
        ],
    );
}

#[test]
fn properties() {
    check(
        r#"{"type":"object","required":["b","a"],"properties":{"a":{"type":"string"},"b":{"type":"integer"}}}"#,
        &[
            (r#"{"a":"x","b":1,"c":2}"#, &[]),
            ("{}", &["f.b: Required value", "f.a: Required value"]),
            (
                r#"{"a":1}"#,
                &[
                    r#"f.a: Invalid value: "integer": f.a in body must be of type string: "integer""#,
                    "f.b: Required value",
                ],
            ),
        ],
    );
    check(
        r#"{"type":"object","additionalProperties":{"type":"string"},"minProperties":1,"maxProperties":2}"#,
        &[
            (r#"{"a.b":"x"}"#, &[]),
            ("{}", &["f: Invalid value: 0: f in body should have at least 1 properties"]),
            (
                r#"{"a.b":1,"c":"x","d":{}}"#,
                &[
                    "f: Too many: 3: must have at most 2 items",
                    r#"f.a.b: Invalid value: "integer": f.a.b in body must be of type string: "integer""#,
                    r#"f.d: Invalid value: "object": f.d in body must be of type string: "object""#,
                ],
            ),
        ],
    );
    check(
        r#"{"type":"object","additionalProperties":false,"properties":{"a":{}}}"#,
        &[(r#"{"a":1,"b":2}"#, &[r#"f: Invalid value: "b": f.b in body is a forbidden property"#])],
    );
}

#[test]
fn the_root_has_no_name() {
    let root = schema(r#"{"type":"object","required":["spec"],"maxProperties":1,"not":{"required":["x"]}}"#);
    let errors = Validator::new(&root).validate(&tree(r#"{"x":1,"y":1}"#));
    assert_eq!(
        lines(&errors),
        "<nil>: Invalid value: \"\": \"\" must not validate the schema (not)\n\
         <nil>: Too many: 2: must have at most 1 item\n\
         spec: Required value\n"
    );
    let root = schema(r#"{"additionalProperties":{"type":"object","properties":{"a":{"type":"string"}}}}"#);
    let errors = Validator::new(&root).validate(&tree(r#"{"k":{"a":1}}"#));
    let want = "k.a: Invalid value: \"integer\": .k.a in body must be of type string: \"integer\"\n";
    assert_eq!(lines(&errors), want);
}

#[test]
fn alternatives() {
    check(
        r#"{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}"#,
        &[
            (r#"{"a":1}"#, &[]),
            (
                "{}",
                &[
                    r#"<nil>: Invalid value: "": "f" must validate one and only one schema (oneOf). Found none valid"#,
                    "f.a: Required value",
                ],
            ),
            (
                r#"{"a":1,"b":1}"#,
                &[
                    r#"<nil>: Invalid value: "": "f" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
                ],
            ),
        ],
    );
    check(
        r#"{"type":"string","anyOf":[{"pattern":"^a"},{"minLength":3}]}"#,
        &[
            (r#""a""#, &[]),
            (r#""bcd""#, &[]),
            (
                r#""b""#,
                &[
                    r#"<nil>: Invalid value: "": "f" must validate at least one schema (anyOf)"#,
                    r#"f: Invalid value: "b": f in body should match '^a'"#,
                ],
            ),
        ],
    );
    // The reported errors are those of the alternative that passed the most checks.
    check(
        r#"{"type":"object","anyOf":[{"properties":{"a":{"enum":["x"]}}},
            {"properties":{"a":{"enum":["y"]},"b":{"enum":["z"]}}}]}"#,
        &[(
            r#"{"a":"q","b":"z"}"#,
            &[
                r#"<nil>: Invalid value: "": "f" must validate at least one schema (anyOf)"#,
                r#"f.a: Unsupported value: "q": supported values: "y""#,
            ],
        )],
    );
    check(
        r#"{"type":"string","allOf":[{"pattern":"^a"},{"maxLength":1}]}"#,
        &[
            (r#""a""#, &[]),
            (
                r#""b""#,
                &[
                    r#"f: Invalid value: "b": f in body should match '^a'"#,
                    r#"<nil>: Invalid value: "": "f" must validate all the schemas (allOf)"#,
                ],
            ),
            (
                r#""bb""#,
                &[
                    r#"f: Invalid value: "bb": f in body should match '^a'"#,
                    "f: Too long: may not be more than 1 byte",
                    r#"<nil>: Invalid value: "": "f" must validate all the schemas (allOf). None validated"#,
                ],
            ),
        ],
    );
    check(
        r#"{"type":"integer","not":{"minimum":5}}"#,
        &[("4", &[]), ("5", &[r#"<nil>: Invalid value: "": "f" must not validate the schema (not)"#])],
    );
    // An equal error is reported once.
    check(
        r#"{"type":"string","maxLength":1,"allOf":[{"maxLength":1}]}"#,
        &[(
            r#""bb""#,
            &[
                "f: Too long: may not be more than 1 byte",
                r#"<nil>: Invalid value: "": "f" must validate all the schemas (allOf). None validated"#,
            ],
        )],
    );
}

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
fn what_was_wrong_before_may_stay() {
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

#[test]
fn no_more_is_told_than_can_be_read() {
    let long = "k".repeat(1 << 20);
    let of = |of: &str| schema(&format!(r#"{{"properties":{{"{long}":{of}}}}}"#));
    let object = |items: &[String]| tree(&format!(r#"{{"{long}":[{}]}}"#, items.join(",")));
    let twice: Vec<String> = (0..40).map(|n| (n / 2).to_string()).collect();
    let set = of(r#"{"x-kubernetes-list-type":"set","items":{"type":"string"}}"#);
    assert_eq!(lists::validate(&set, &object(&twice)).len(), 8);
    assert_eq!(Validator::new(&set).validate(&object(&twice)).len(), 4);
    let embedded = of(r#"{"items":{"x-kubernetes-embedded-resource":true}}"#);
    let empty: Vec<String> = (0..40).map(|_| "{}".to_owned()).collect();
    assert_eq!(embedded::validate(&embedded, &object(&empty), false).len(), 8);
    // However many there are, the last ones too decide whether an alternative is one.
    let any = schema(r#"{"items":{"type":"string"},"anyOf":[{"items":{"enum":["a"]}},{"minItems":1}]}"#);
    let many: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
    let errors = Validator::new(&any).validate(&tree(&format!("[{}]", many.join(","))));
    assert_eq!(errors.len(), 10_000);
    assert!(errors[0].to_string().starts_with("[0]: Invalid value: \"integer\""), "{}", errors[0]);
}

#[test]
fn alternatives_of_numbers_and_strings() {
    let any = r#""anyOf":[{"type":"integer"},{"type":"string"}]"#;
    let both = r#"f: Invalid value: "number": f in body must be of type integer,string: "number""#;
    let one = r#"f: Invalid value: "number": f in body must be of type integer: "number""#;
    let least = r#"<nil>: Invalid value: "": "f" must validate at least one schema (anyOf)"#;
    let range = r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in f"#;
    check(
        &format!(r#"{{"x-kubernetes-int-or-string":true,"nullable":true,{any}}}"#),
        &[("null", &[]), ("1", &[]), (r#""a""#, &[]), ("1.2", &[both, least, one, range])],
    );
    let none = r#"<nil>: Invalid value: "": "f" must validate all the schemas (allOf). None validated"#;
    check(
        &format!(r#"{{"x-kubernetes-int-or-string":true,"allOf":[{{{any}}}]}}"#),
        &[("1", &[]), ("1.2", &[both, least, one, range, none])],
    );
    check(
        r#"{"type":"integer","format":"int64"}"#,
        &[(
            "1e19",
            &[
                r#"f: Invalid value: "float64": f in body must be of type int64: "float64""#,
                r#"<nil>: Invalid value: "": Checked value must be of type integer with format int64 in f"#,
            ],
        )],
    );
}

/// Long enumerations, at many items that are right by one alternative, wrong, or wrong as they were before: a megabyte of
/// text for each of them would take minutes.
#[test]
fn long_enumerations_are_told_a_few_times_only() {
    let values = |letter: &str| {
        (0..20_000).map(|number| format!(r#""{letter}{number}""#)).collect::<Vec<_>>().join(",")
    };
    let list = |item: &str| format!(r#"{{"f":[{}]}}"#, vec![item; 20_000].join(","));
    let of = |items: &str| {
        schema(&format!(r#"{{"type":"object","properties":{{"f":{{"type":"array","items":{items}}}}}}}"#))
    };
    let started = std::time::Instant::now();
    let plain = Validator::new(&of(&format!(r#"{{"type":"string","enum":[{}]}}"#, values("a"))));
    assert!(plain.validate(&tree(&list(r#""a19999""#))).is_empty());
    let errors = plain.validate(&tree(&list(r#""b""#)));
    assert!(!errors.is_empty() && errors.len() < 1000, "{}", errors.len());
    let errors = plain.validate_update(&tree(&list(r#""b""#)), &tree(&list(r#""b""#))).errors;
    assert!(errors.is_empty(), "as before");
    let fields = |last: &str| {
        let same: Vec<String> = (0..20_000).map(|number| format!(r#""k{number}":"b""#)).collect();
        format!(r#"{{"f":{{{},"z":"{last}"}}}}"#, same.join(","))
    };
    let map = format!(
        r#"{{"type":"object","properties":{{"f":{{"type":"object","additionalProperties":{{"type":"string","enum":[{}]}}}}}}}}"#,
        values("a")
    );
    let errors =
        Validator::new(&schema(&map)).validate_update(&tree(&fields("c")), &tree(&fields("d"))).errors;
    assert_eq!(errors.len(), 1, "all others are as before");

    let either = format!(r#"[{{"enum":[{}]}},{{"enum":["b"]}}]"#, values("a"));
    for keyword in ["anyOf", "oneOf"] {
        let either = Validator::new(&of(&format!(r#"{{"type":"string","{keyword}":{either}}}"#)));
        assert!(either.validate(&tree(&list(r#""b""#))).is_empty());
        let wrong = list(r#""b""#).replacen(r#""b"]"#, r#""c"]"#, 1);
        assert_eq!(either.validate(&tree(&wrong)).len(), 2, "{keyword}");
        let errors = either.validate(&tree(&list(r#""c""#)));
        assert!(!errors.is_empty() && errors.len() < 1000, "{}", errors.len());
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(100), "{:?}", started.elapsed());
}
