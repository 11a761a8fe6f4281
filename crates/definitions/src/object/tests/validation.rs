//! Validation of new objects by their schemas.

use super::{lines, schema, tree};
use crate::object::Validator;

/// Checks the errors of field `f` of an object, for a schema of `f`.
pub(super) fn check(of: &str, cases: &[(&str, &[&str])]) {
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
