//! Rules that may be part of a definition, and those that may not.

use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};

use super::json;
use crate::rules::FieldPath;
use crate::rules::definition::{Scope, Total, syntax};

/// Walks a schema as the validation of definitions does: children first, expressions only where the texts are valid.
fn walk(schema: &Value, scope: &Scope<'_>, path: &Path<'_>, total: &mut Total) -> (Vec<Error>, Vec<Error>) {
    let (mut texts, mut expressions) = (Vec::new(), Vec::new());
    let mut below = |schema: &Value, scope: Option<Scope<'_>>, path: &Path<'_>, total: &mut Total| {
        let (more, others) = walk(schema, &scope.unwrap(), path, total);
        texts.extend(more);
        expressions.extend(others);
    };
    if let Some(schema) = schema.get("additionalProperties") {
        below(schema, scope.additional(), &path.child("additionalProperties"), total);
    }
    for (name, schema) in
        schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|all| all.iter())
    {
        below(schema, scope.property(name), &path.child("properties").key(name), total);
    }
    if let Some(schema) = schema.get("items") {
        below(schema, scope.items(path), &path.child("items"), total);
    }
    texts.extend(syntax(schema, Some(scope.schema()), path));
    if texts.is_empty() {
        expressions.extend(scope.validate(path, false, total));
    }
    (texts, expressions)
}

fn said(schema: &str) -> Vec<String> {
    let schema = json(schema);
    let structural = crate::compile(&schema).unwrap();
    let (mut total, path) = (Total::default(), Path::new("s"));
    let (texts, expressions) = walk(&schema, &Scope::root(&structural), &path, &mut total);
    let all = texts.into_iter().chain(expressions).chain(total.errors(&path));
    all.map(|error| error.to_string()).collect()
}

/// Checks the errors of the rule of a property with this schema.
#[track_caller]
fn check(cases: &[(&str, &[&str])]) {
    for (schema, expect) in cases {
        let said = said(&format!(r#"{{"type":"object","properties":{{"f":{schema}}}}}"#));
        let expect: Vec<String> = expect
            .iter()
            .map(|text| text.replace("$", "s.properties[f].x-kubernetes-validations[0]"))
            .collect();
        assert_eq!(said, expect, "{schema}");
    }
}

fn with(schema: &str, rule: &str) -> String {
    format!(r#"{},"x-kubernetes-validations":[{{{rule}}}]}}"#, schema.strip_suffix('}').unwrap())
}

const TEXT: &str = r#"{"type":"string","maxLength":10}"#;
const HINT: &str = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

#[test]
fn texts_must_be_there_and_in_one_line() {
    let text = |rule: &str| with(TEXT, rule);
    check(&[
        (&text(r#""rule":"self == 'x'""#), &[]),
        (&text(r#""rule":" ""#), &["$.rule: Required value: rule is not specified"]),
        (
            &text(r#""rule":"true","message":" ""#),
            &[r#"$.message: Invalid value: " ": must be non-empty if specified"#],
        ),
        (
            &text(r#""rule":"true","message":"a\nb""#),
            &[r#"$.message: Invalid value: "a\nb": must not contain line breaks"#],
        ),
        (
            &text(r#""rule":"true\n&& true""#),
            &["$.message: Required value: message must be specified if rule contains line breaks"],
        ),
        (&text(r#""rule":"true\n","message":"a\n""#), &[]),
        (
            &text(r#""rule":"true","messageExpression":" ""#),
            &["$.messageExpression: Required value: messageExpression must be non-empty if specified"],
        ),
        (
            &text(r#""rule":"true","reason":"Nope""#),
            &[
                "$.reason: Unsupported value: \"Nope\": supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \
               \"FieldValueInvalid\", \"FieldValueRequired\"",
            ],
        ),
        (
            &text(r#""rule":"true","fieldPath":" \n""#),
            &[
                r#"$.fieldPath: Invalid value: " \n": must be non-empty if specified"#,
                r#"$.fieldPath: Invalid value: " \n": must not contain line breaks"#,
                r#"$.fieldPath: Invalid value: " \n": must be a valid path"#,
            ],
        ),
        (
            &text(r#""rule":"true","fieldPath":".a""#),
            &[r#"$.fieldPath: Invalid value: ".a": must be a valid path"#],
        ),
    ]);
}

#[test]
fn expressions_must_be_of_the_right_type() {
    let shown = |rule: &str| {
        format!(
            r#"{{"Rule":{rule},"Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}}"#
        )
    };
    let invalid = |rule: &str, why: &str| format!("$.rule: Invalid value: {}: {why}", shown(rule));
    check(&[
        (
            &with(TEXT, r#""rule":"self ===""#),
            &[&invalid(
                r#""self ===""#,
                "compilation failed: ERROR: <input>:1:8: Syntax error: token recognition error at: '='\n | self ===\n | \
                 .......^\nERROR: <input>:1:9: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', \
                 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self ===\n | ........^",
            )],
        ),
        (
            &with(TEXT, r#""rule":"self > 1 && x < 2""#),
            &[&invalid(
                r#""self \u003e 1 \u0026\u0026 x \u003c 2""#,
                "compilation failed: ERROR: <input>:1:6: found no matching overload for '_>_' applied to '(string, int)'\n | \
                 self > 1 && x < 2\n | .....^\nERROR: <input>:1:13: undeclared reference to 'x' (in container '')\n | \
                 self > 1 && x < 2\n | ............^",
            )],
        ),
        (&with(TEXT, r#""rule":"self""#), &[&invalid(r#""self""#, "cel expression must evaluate to a bool")]),
        (
            &with(TEXT, r#""rule":"self.matches('[')""#),
            &[&invalid(
                r#""self.matches('[')""#,
                "compilation failed: ERROR: <input>:1:14: invalid matches argument\n | self.matches('[')\n | .............^",
            )],
        ),
    ]);
    let message = |expression: &str, reason: &str| {
        format!(
            r#"$.messageExpression: Invalid value: {{"Rule":"true","Message":"","MessageExpression":"{expression}","Reason":null,"FieldPath":"","OptionalOldSelf":null}}: {reason}"#
        )
    };
    check(&[
        (
            &with(TEXT, r#""rule":"true","messageExpression":"1""#),
            &[&message("1", "messageExpression must evaluate to a string")],
        ),
        (
            &with(TEXT, r#""rule":"true","messageExpression":"nope""#),
            &[&message(
                "nope",
                "messageExpression compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n \
                 | nope\n | ^",
            )],
        ),
    ]);
}

#[test]
fn messages_name_types_by_their_place() {
    let schema = r#"{"type":"object","properties":{"l":{"type":"array","maxItems":3,"items":{"type":"object","properties":{
        "a":{"type":"object"},"m":{"type":"object","maxProperties":3,"additionalProperties":{"type":"object","properties":{
        "z":{"type":"object"}}}}}}}}}"#;
    for (rule, expect) in [
        ("self == 1", ""),
        ("self.l[0] == 1", ".l.@idx"),
        ("self.l[0].a == 1", ".l.@idx.a"),
        ("self.l[0].m['x'] == 1", ".l.@idx.m.@elem"),
        ("self.l[0].m['x'].z == 1", ".l.@idx.m.@elem.z"),
    ] {
        let said = said(&with(schema, &format!(r#""rule":"{rule}""#)));
        let text = "found no matching overload for '_==_' applied to '(selfType";
        let (_, named) = said[0].split_once(text).unwrap();
        let named = named.trim_start_matches(|c: char| c.is_ascii_digit());
        assert!(named.starts_with(&format!("{expect}, int)'")), "{rule}: {named}");
    }
}

#[test]
fn change_is_only_seen_where_it_can_be_followed() {
    let items = r#""items":{"type":"object","properties":{"k":{"type":"string","x-kubernetes-validations":[
        {"rule":"self == oldSelf"}]}}}"#;
    let keyed = r#""x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"#;
    let list = |kind: &str| format!(r#"{{"type":"array","maxItems":2,{kind}{items}}}"#);
    let place = "s.properties[f].items.properties[k].x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\"";
    let text = format!(
        "{place}: oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[f]"
    );
    check(&[
        (&list(keyed), &[]),
        (&list(""), &[&text]),
        (&list(r#""x-kubernetes-list-type":"set","#), &[&text]),
    ]);
    check(&[
        (&with(TEXT, r#""rule":"self == oldSelf.orValue('')","optionalOldSelf":true"#), &[]),
        (&with(TEXT, r#""rule":"self == oldSelf","optionalOldSelf":false"#), &[]),
        (
            &with(TEXT, r#""rule":"self == ''","optionalOldSelf":true"#),
            &["$.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"],
        ),
    ]);
}

#[test]
fn too_costly_rules_are_forbidden() {
    let list = |bounds: &str, rule: &str| {
        with(
            &format!(r#"{{"type":"array",{bounds}"items":{{"type":"string"}}}}"#),
            &format!(r#""rule":"{rule}""#),
        )
    };
    let too = |what: &str, factor: &str| format!("{what} exceeds budget by factor of {factor} {HINT}");
    let part = "$.rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    let whole =
        "s: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    let nested = "self.all(x, self.all(y, x == y))";
    check(&[
        (&list(r#""maxItems":5,"#, "self.all(x, x != '')"), &[]),
        (
            &list("", nested),
            &[
                &format!("$.rule: Forbidden: {}", too("estimated rule cost", "more than 100x")),
                part,
                &too(whole, "more than 100x"),
            ],
        ),
    ]);
    // A message's cost counts once, a rule's for every value that there can be.
    let message = r#"{"type":"array","items":{"type":"string","x-kubernetes-validations":[
        {"rule":"true","messageExpression":"self + self"}]}}"#;
    check(&[(message, &[])]);
    let items = |bounds: &str, rule: &str| {
        format!(
            r#"{{"type":"array",{bounds}"items":{{"type":"string","maxLength":1000,"x-kubernetes-validations":[{{"rule":"{rule}"}}]}}}}"#
        )
    };
    let place = "s.properties[f].items.x-kubernetes-validations[0].rule";
    check(&[
        (&items(r#""maxItems":1000,"#, "self.contains('x')"), &[]),
        (
            &items(r#""maxItems":50000,"#, "self.contains('x')"),
            &[&format!("{place}: Forbidden: {}", too("estimated rule cost", "2.0x"))],
        ),
        (
            &items(r#""maxItems":26000,"#, "self.contains('x')"),
            &[&format!("{place}: Forbidden: {}", too("estimated rule cost", "1.042600x"))],
        ),
        (
            &items("", "self.contains('x')"),
            &[
                &format!("{place}: Forbidden: {}", too("estimated rule cost", "42.0x")),
                &format!(
                    "{place}: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
                ),
                &too(whole, "4.2x"),
            ],
        ),
    ]);
}

#[test]
fn the_four_most_expensive_rules_are_named() {
    let field = |name: &str, items: u32| {
        format!(
            r#""{name}":{{"type":"array","maxItems":{items},"items":{{"type":"string","maxLength":1000,"x-kubernetes-validations":[
                {{"rule":"self.contains('x')"}}]}}}}"#
        )
    };
    let many: Vec<String> = (0..12)
        .map(|index| field(&format!("f{index:02}"), 22_000 + 100 * index))
        .chain([field("g", 10)])
        .collect();
    let said = said(&format!(r#"{{"type":"object","properties":{{{}}}}}"#, many.join(",")));
    let places: Vec<&str> = said.iter().filter_map(|text| text.split(": ").next()).collect();
    let place = |name: &str| format!("s.properties[{name}].items.x-kubernetes-validations[0].rule");
    assert_eq!(places, [&place("f11"), &place("f10"), &place("f09"), &place("f08"), "s"]);
    assert!(said[4].contains("exceeds budget by factor of 1.085146x"), "{}", said[4]);
}

#[test]
fn rules_of_what_nobody_sees_are_refused() {
    check(&[(
        &with(r#"{"x-kubernetes-preserve-unknown-fields":true}"#, r#""rule":"true""#),
        &[
            "s.properties[f].x-kubernetes-validations: Internal error: internal error: failed to construct type information for \
           x-kubernetes-validations rules: unable to convert structural schema to CEL declarations",
        ],
    )]);
}

#[test]
fn paths_lead_through_properties_and_maps() {
    let schema = crate::compile(&json(
        r#"{"type":"object","properties":{"a":{"type":"object","properties":{"b.c":{"type":"string"},"it's":{"type":"string"}}},
            "m":{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"string"}}}},
            "any":{"type":"object","additionalProperties":true},"l":{"type":"array","items":{"type":"string"}}}}"#,
    ))
    .unwrap();
    for (path, expect) in [
        (".a", Ok("a")),
        (".a['b.c']", Ok("a.b.c")),
        (r".a['it\'s']", Ok("a.it's")),
        ("['a']", Ok("a")),
        (".m.k.x", Ok("m[k].x")),
        (".m['k'].x", Ok("m[k].x")),
        (".any.k", Ok("any[k]")),
        (".any.k.l", Err("does not refer to a valid field")),
        (".a.b", Err("does not refer to a valid field")),
        (".l[0]", Err("expected single quoted string but got 0")),
        (".a['b.c'", Err("unexpected end of JSON path")),
        (".", Err("unexpected end of JSON path")),
        ("a", Err("expected [ or . but got: a")),
        (r".a['\q']", Err(r"invalid string literal: invalid escape char \q")),
        (".a..b", Err("does not refer to a valid field")),
        (".a['b.c'x", Err("expected ] but got x")),
    ] {
        let resolved = FieldPath::resolve(path, &schema, true).map(|path| path.to_string());
        assert_eq!(resolved, expect.map(str::to_owned).map_err(str::to_owned), "{path}");
    }
    let refused = FieldPath::resolve(".m['k']", &schema, false).err();
    assert_eq!(refused.as_deref(), Some("array notation is not allowed"));
    assert_eq!(FieldPath::resolve(".m.k", &schema, false).unwrap().root(), "m");
}

#[test]
fn words_of_the_language_are_fields_after_a_dot_unless_they_are_values() {
    for word in ["if", "namespace", "as", "self", "int", "while", "package"] {
        let schema = format!(r#"{{"type":"object","properties":{{"{word}":{{"type":"integer"}}}}}}"#);
        assert_eq!(said(&with(&schema, &format!(r#""rule":"self.{word} > 0""#))), [""; 0], "{word}");
    }
    for word in ["true", "false", "null", "in"] {
        let schema = format!(r#"{{"type":"object","properties":{{"{word}":{{"type":"integer"}}}}}}"#);
        let said = said(&with(&schema, &format!(r#""rule":"self.{word} > 0""#)));
        assert!(said[0].contains("Syntax error"), "{word}: {said:?}");
    }
}

#[test]
fn so_much_is_said_and_no_more() {
    let rule = format!(r#"{{"rule":"[{}x] == []"}}"#, "x,".repeat(4000));
    let schema = format!(r#"{{"type":"string","x-kubernetes-validations":[{}]}}"#, vec![rule; 100].join(","));
    let said = said(&schema);
    let length: usize = said.iter().map(String::len).sum();
    assert!((1 << 20..8 << 20).contains(&length), "{length}");
}
