//! Objects that obey rules, and those that do not.

use pintle_meta::field_path::Path;
use pintle_schema::structural::Structural;

use super::{json, of_spec, said, schema};
use crate::rules::{BUDGET, Rules};

/// A schema of `spec`, an object, perhaps what it was before, what is said.
type Case<'c> = (&'c str, &'c str, Option<&'c str>, &'c [&'c str]);

#[track_caller]
fn check(cases: &[Case<'_>]) {
    for (spec, new, old, expect) in cases {
        let object = |spec: &str| {
            format!(r#"{{"apiVersion":"a/v1","kind":"B","metadata":{{"name":"n"}},"spec":{spec}}}"#)
        };
        let old = old.map(object);
        assert_eq!(said(&of_spec(spec), &object(new), old.as_deref()), *expect, "{spec}\n{new}");
    }
}

/// A schema whose rules are these.
fn with(schema: &str, rules: &str) -> String {
    format!(r#"{},"x-kubernetes-validations":[{rules}]}}"#, schema.strip_suffix('}').unwrap())
}

const AB: &str = r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}"#;

#[test]
fn a_broken_rule_says_its_message_or_itself() {
    let rules = r#"{"rule":"self.b > 1"},{"rule":" self.b > 2\n","message":" too small "},{"rule":"self.b > 0"},
        {"rule":" self.b\n> 3 "}"#;
    check(&[
        (
            &with(AB, rules),
            r#"{"b":1}"#,
            None,
            &[
                "spec: Invalid value: failed rule: self.b > 1",
                "spec: Invalid value: too small",
                "spec: Invalid value: failed rule: self.b\n> 3",
            ],
        ),
        (
            r#"{"type":"string","x-kubernetes-validations":[{"rule":"self == 'x'"}]}"#,
            r#""y""#,
            None,
            &[r#"spec: Invalid value: "y": failed rule: self == 'x'"#],
        ),
        (
            r#"{"x-kubernetes-int-or-string":true,"x-kubernetes-validations":[{"rule":"type(self) == string"}]}"#,
            "5",
            None,
            &["spec: Invalid value: 5: failed rule: type(self) == string"],
        ),
        (
            r#"{"type":"number","x-kubernetes-validations":[{"rule":"self > 2.0"}]}"#,
            "1.5",
            None,
            &["spec: Invalid value: 1.5: failed rule: self > 2.0"],
        ),
    ]);
}

#[test]
fn a_message_may_be_computed() {
    let rule = |message: &str| {
        with(AB, &format!(r#"{{"rule":"false","message":" plain ","messageExpression":{message}}}"#))
    };
    for (message, expect) in [
        (r#""'a is ' + self.a""#, "spec: Invalid value: a is x"),
        (r#""'  ' + self.a + ' '""#, "spec: Invalid value: x"),
        (r#""' '""#, "spec: Invalid value: plain"),
        (r#""'a\\nb'""#, "spec: Invalid value: plain"),
        (r#""'a\\n'""#, "spec: Invalid value: a"),
        (r#""['a'][7]""#, "spec: Invalid value: plain"),
        (r#""1""#, "spec: Invalid value: plain"),
        (r#""nope(""#, "spec: Invalid value: plain"),
        (r#""oldSelf.a""#, "spec: Invalid value: plain"),
    ] {
        check(&[(&rule(message), r#"{"a":"x"}"#, None, &[expect])]);
    }
    let long = |length: usize| format!(r#""'{}'""#, "a".repeat(length));
    check(&[(&rule(&long(5121)), r#"{"a":"x"}"#, None, &["spec: Invalid value: plain"])]);
    let expect = format!("spec: Invalid value: {}", "a".repeat(5120));
    check(&[(&rule(&long(5120)), r#"{"a":"x"}"#, None, &[&expect])]);
}

#[test]
fn a_rule_may_say_what_is_wrong_and_where() {
    let rule = |rest: &str| with(AB, &format!(r#"{{"rule":"false","message":"no",{rest}}}"#));
    for (rest, expect) in [
        (r#""reason":"FieldValueForbidden","fieldPath":".a""#, "spec.a: Forbidden: no"),
        (r#""reason":"FieldValueRequired","fieldPath":"['b']""#, "spec.b: Required value: no"),
        (r#""reason":"FieldValueDuplicate""#, "spec: Duplicate value"),
        (r#""reason":"FieldValueInvalid""#, "spec: Invalid value: no"),
        (r#""fieldPath":".nope""#, "spec: Invalid value: no"),
    ] {
        check(&[(&rule(rest), r#"{"a":"x"}"#, None, &[expect])]);
    }
    let map = r#"{"type":"object","additionalProperties":{"type":"string"}}"#;
    let rule = with(map, r#"{"rule":"false","message":"no","fieldPath":"['x.y']"}"#);
    check(&[(&rule, "{}", None, &["spec.[x.y]: Invalid value: no"])]);
    let text =
        r#"{"type":"string","x-kubernetes-validations":[{"rule":"false","reason":"FieldValueDuplicate"}]}"#;
    check(&[(text, r#""x""#, None, &[r#"spec: Duplicate value: "x""#])]);
}

#[test]
fn a_failed_evaluation_is_an_error() {
    let rules = r#"{"rule":"self.a == 'x'"},{"rule":"self.b / 0 == 1","message":"divided"},
        {"rule":"dyn(self.b) + 'x' == ''"},{"rule":"[1][self.b] == 1"}"#;
    check(&[(
        &with(AB, rules),
        r#"{"b":7}"#,
        None,
        &[
            r#"spec: Invalid value: "object": no such key: a evaluating rule: self.a == 'x'"#,
            r#"spec: Invalid value: "object": division by zero evaluating rule: divided"#,
            "spec: Invalid value: \"object\": 'no such overload': call arguments did not match a supported operator, \
             function or macro signature for rule: dyn(self.b) + 'x' == ''",
            r#"spec: Invalid value: "object": index out of bounds: 7 evaluating rule: [1][self.b] == 1"#,
        ],
    )]);
}

#[test]
fn an_invalid_rule_is_an_error_for_every_object() {
    check(&[(
        &with(AB, r#"{"rule":"self.c"},{"rule":"1"},{"rule":" "}"#),
        "{}",
        None,
        &[
            "spec: Invalid value: \"object\": rule compile error: compilation failed: ERROR: <input>:1:5: undefined \
                 field 'c'\n | self.c\n | ....^",
            "spec: Invalid value: \"object\": rule compile error: cel expression must evaluate to a bool",
        ],
    )]);
}

#[test]
fn rules_of_untyped_fields_do_not_compile() {
    let list = r#"{"type":"array","items":{"x-kubernetes-preserve-unknown-fields":true,
        "x-kubernetes-validations":[{"rule":"true"}]}}"#;
    check(&[(list, "[1]", None, &[])]);
    let why = "rule compiler initialization error: failed to convert to declType for CEL validation rules";
    let (errors, _) = budgeted(&schema(list), "[1]", BUDGET);
    assert_eq!(errors, [format!(r#"root[0]: Invalid value: "": {why}"#)]);
}

#[test]
fn rules_about_change_need_something_that_changed() {
    let immutable = r#"{"rule":"self == oldSelf","message":"fixed"}"#;
    let text = with(r#"{"type":"string"}"#, immutable);
    let optional = with(
        r#"{"type":"string"}"#,
        r#"{"rule":"oldSelf.hasValue() ? oldSelf.value() == self : self == 'x'","optionalOldSelf":true,"message":"first"}"#,
    );
    let fixed = &[r#"spec: Invalid value: "y": fixed"#][..];
    let first = &[r#"spec: Invalid value: "y": first"#][..];
    check(&[
        (&text, r#""y""#, None, &[]),
        (&text, r#""y""#, Some(r#""x""#), fixed),
        (&text, r#""y""#, Some(r#""y""#), &[]),
        (&text, r#""y""#, Some("null"), &[]),
        (&text, "null", Some(r#""x""#), &[]),
        (&optional, r#""x""#, None, &[]),
        (&optional, r#""y""#, None, first),
        (&optional, r#""y""#, Some(r#""x""#), first),
        (&optional, r#""y""#, Some(r#""y""#), &[]),
    ]);
    let keyed = r#"{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{
        "type":"object","properties":{"k":{"type":"string"},"v":{"type":"integer","x-kubernetes-validations":[
        {"rule":"self >= oldSelf","message":"less"}]}}}}"#;
    let list = r#"[{"k":"b","v":1},{"k":"c","v":0},{"k":"a","v":5}]"#;
    check(&[
        (keyed, list, Some(r#"[{"k":"a","v":5},{"k":"b","v":2}]"#), &["spec[0].v: Invalid value: 1: less"]),
        (&keyed.replace("map\",", "atomic\","), list, Some(list), &[]),
    ]);
    let several =
        keyed.replace(r#"["k"]"#, r#"["k","j"]"#).replace(r#""k":{"#, r#""j":{"type":"integer"},"k":{"#);
    check(&[(
        &several,
        r#"[{"k":"a","j":1,"v":1},{"k":"a","j":2,"v":1}]"#,
        Some(r#"[{"k":"a","j":2,"v":2},{"k":"a","j":1,"v":0}]"#),
        &["spec[1].v: Invalid value: 1: less"],
    )]);
    let map = r#"{"type":"object","additionalProperties":{"type":"integer","x-kubernetes-validations":[
        {"rule":"self >= oldSelf","message":"less"}]}}"#;
    check(&[(map, r#"{"a":1,"b":1}"#, Some(r#"{"a":2}"#), &["spec[a]: Invalid value: 1: less"])]);
}

#[test]
fn unchanged_violations_are_tolerated() {
    let bar =
        r#"{"type":"string","x-kubernetes-validations":[{"rule":"self == 'bar'","message":"not bar"}]}"#;
    let object = format!(r#"{{"type":"object","properties":{{"a":{bar},"b":{{"type":"integer"}}}}}}"#);
    check(&[
        (bar, r#""x""#, Some(r#""x""#), &[r#"W spec: Invalid value: "x": not bar"#]),
        (bar, r#""x""#, Some(r#""y""#), &[r#"spec: Invalid value: "x": not bar"#]),
        (&object, r#"{"a":"x","b":1}"#, Some(r#"{"a":"x"}"#), &[r#"W spec.a: Invalid value: "x": not bar"#]),
    ]);
    let list = |kind: &str| format!(r#"{{"type":"array",{kind}"items":{object}}}"#);
    let atomic = list("");
    check(&[
        (&atomic, r#"[{"a":"x"}]"#, Some(r#"[{"a":"x"}]"#), &[r#"W spec[0].a: Invalid value: "x": not bar"#]),
        (
            &atomic,
            r#"[{"a":"x"},{"a":"bar"}]"#,
            Some(r#"[{"a":"x"}]"#),
            &[r#"spec[0].a: Invalid value: "x": not bar"#],
        ),
    ]);
    let keyed = list(r#""x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["b"],"#);
    check(&[(
        &keyed,
        r#"[{"b":2,"a":"y"},{"b":1,"a":"x"}]"#,
        Some(r#"[{"b":1,"a":"x"},{"b":2,"a":"z"}]"#),
        &[r#"spec[0].a: Invalid value: "y": not bar"#, r#"W spec[1].a: Invalid value: "x": not bar"#],
    )]);
    let root = schema(&format!(
        r#"{{"type":"object","properties":{{"kind":{bar},"apiVersion":{bar},"spec":{{"type":"object",
            "properties":{{"kind":{bar}}}}}}}}}"#
    ));
    let object = r#"{"kind":"x","apiVersion":"y","spec":{"kind":"z"}}"#;
    assert_eq!(
        said(&root, object, Some(object)),
        [
            r#"apiVersion: Invalid value: "y": not bar"#,
            r#"kind: Invalid value: "x": not bar"#,
            r#"W spec.kind: Invalid value: "z": not bar"#,
        ]
    );
}

#[test]
fn a_rule_of_a_whole_is_not_tolerated_for_a_part() {
    let rule = with(AB, r#"{"rule":"self.a == 'bar'","message":"not bar","fieldPath":".a"}"#);
    check(&[(&rule, r#"{"a":"x","b":1}"#, Some(r#"{"a":"x"}"#), &["spec.a: Invalid value: not bar"])]);
    let preserving =
        rule.replacen("\"properties\"", "\"x-kubernetes-preserve-unknown-fields\":true,\"properties\"", 1);
    let unknown = r#"{"a":"x","unknown":1}"#;
    check(&[
        (&preserving, unknown, Some(unknown), &["spec.a: Invalid value: not bar"]),
        (&preserving, r#"{"a":"x"}"#, Some(r#"{"a":"x"}"#), &["W spec.a: Invalid value: not bar"]),
    ]);
    let change = with(AB, r#"{"rule":"self == oldSelf && false","message":"never"}"#);
    check(&[(&change, r#"{"a":"x"}"#, Some(r#"{"a":"x"}"#), &["spec: Invalid value: never"])]);
}

#[test]
fn rules_of_all_of_count_where_others_do() {
    let plain = r#"{"type":"object","properties":{"a":{"type":"string"}},"allOf":[
        {"properties":{"a":{"x-kubernetes-validations":[{"rule":"self != 'x'","message":"x"}]}},
         "x-kubernetes-validations":[{"rule":"self.a != 'x'","message":"whole"}]}]}"#;
    check(&[(plain, r#"{"a":"x"}"#, None, &[])]);
    let counts = with(plain, r#"{"rule":"true"}"#);
    check(&[(
        &counts,
        r#"{"a":"x"}"#,
        Some(r#"{"a":"x"}"#),
        &["spec: Invalid value: whole", r#"spec.a: Invalid value: "x": x"#],
    )]);
}

#[test]
fn resources_have_a_kind_a_version_and_a_name() {
    let root = schema(
        r#"{"type":"object","properties":{"spec":{"type":"object","properties":{
            "e":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"x":{"type":"string"}},
                "x-kubernetes-validations":[{"rule":"self.kind == 'K' && self.metadata.name == 'n' && self.x == 'y'"}]},
            "s":{"type":"object","properties":{"x":{"type":"string"}},"x-kubernetes-validations":[{"rule":"self.kind == ''"}]}}},
            "metadata":{"type":"object","properties":{"name":{"type":"string"}}}},
        "x-kubernetes-validations":[{"rule":"self.metadata.name != 'n' || !has(self.metadata.generateName)"},
            {"rule":"self.metadata.labels.a == ''"}]}"#,
    );
    let object = r#"{"apiVersion":"a/v1","kind":"B","metadata":{"name":"n","labels":{"a":"b"}},"spec":{"s":{},
        "e":{"kind":"K","apiVersion":"v","metadata":{"name":"n"},"x":"z"}}}"#;
    let said = said(&root, object, None);
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].starts_with("<nil>: Invalid value: \"object\": rule compile error"), "{said:?}");
    assert!(said[0].contains("undefined field 'labels'"), "{said:?}");
    assert!(said[1].starts_with("spec.e: Invalid value: failed rule: self.kind == 'K'"), "{said:?}");
    assert!(said[2].contains("undefined field 'kind'"), "{said:?}");
}

#[test]
fn names_are_escaped() {
    let spec = r#"{"type":"object","properties":{"a-b":{"type":"integer"},"namespace":{"type":"integer"},"c__d":{"type":"integer"},
        "x y":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1"}]}}}"#;
    let rules = r#"{"rule":"self.a__dash__b == 1 && self.__namespace__ == 2 && self.namespace == 2 && self.c__underscores__d == 3"}"#;
    check(&[(
        &with(spec, rules),
        r#"{"a-b":1,"namespace":2,"c__d":3,"x y":1}"#,
        None,
        &["spec.x y: Invalid value: 1: failed rule: self > 1"],
    )]);
}

#[test]
fn null_obeys_every_rule() {
    let spec = r#"{"type":"object","properties":{"a":{"type":"string","nullable":true,
        "x-kubernetes-validations":[{"rule":"false"}]}},"x-kubernetes-validations":[{"rule":"!has(self.a)"}]}"#;
    check(&[(spec, r#"{"a":null}"#, None, &[])]);
}

fn budgeted(schema: &Structural, object: &str, budget: i64) -> (Vec<String>, i64) {
    let rules = Rules::compile_part(schema, false);
    let checked = rules.check_value(schema, &json(object), None, &Path::new("root"), budget);
    (checked.errors.iter().map(ToString::to_string).collect(), checked.budget)
}

#[test]
fn checking_ends_with_its_budget() {
    let out = r#"root: Invalid value: "object": validation failed due to running out of cost budget, no further validation rules will be run"#;
    let ab = |rules: &str| schema(&with(AB, rules));
    let two = ab(r#"{"rule":"self.a == 'x'"},{"rule":"false"}"#);
    assert_eq!(budgeted(&two, r#"{"a":"x"}"#, 2), (vec![out.to_owned()], -1));
    assert_eq!(budgeted(&two, r#"{"a":"x"}"#, 0), (vec![out.to_owned()], -1));
    assert_eq!(
        budgeted(&two, r#"{"a":"x"}"#, 3),
        (vec!["root: Invalid value: failed rule: false".to_owned()], 0)
    );
    let message =
        ab(r#"{"rule":"false","messageExpression":"'string 1' + 'string 2' + 'string 3'"},{"rule":"false"}"#);
    let text = "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run";
    assert_eq!(budgeted(&message, "{}", 1), (vec![format!(r#"root: Invalid value: "object": {text}"#)], -1));
    let list = |rule: &str| schema(&with(r#"{"type":"array","items":{"type":"integer"}}"#, rule));
    let numbers = format!("[{}]", vec!["1"; 1000].join(","));
    let nested = list(r#"{"rule":"self.all(x, self.all(y, x == y))"},{"rule":"false"}"#);
    assert_eq!(
        budgeted(&nested, &numbers, BUDGET).0,
        [
            "root: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will \
          be run due to call cost exceeds limit for rule: self.all(x, self.all(y, x == y))"
        ]
    );
    let message =
        list(r#"{"rule":"false","messageExpression":"self.all(x, self.all(y, x == y)) ? 'a' : \"b\""}"#);
    assert_eq!(
        budgeted(&message, &numbers, BUDGET).0,
        [
            "root: Invalid value: \"array\": no further validation rules will be run due to call cost exceeds limit for \
          messageExpression: \"self.all(x, self.all(y, x == y)) ? 'a' : \\\"b\\\"\""
        ]
    );
}

#[test]
fn rules_of_many_items_stay_bounded() {
    let free =
        format!(r#"{{"type":"array","items":{{"type":"integer","x-kubernetes-validations":[{}]}}}}"#, {
            vec![r#"{"rule":"true"}"#; 200].join(",")
        });
    let numbers = format!("[{}]", vec!["1"; 100_000].join(","));
    let (errors, budget) = budgeted(&schema(&free), &numbers, BUDGET);
    assert_eq!(budget, -1);
    assert!(errors[0].contains("running out of cost budget"), "{errors:?}");
    let broken = free.replace("true", "false");
    let (errors, _) = budgeted(&schema(&broken), &numbers, BUDGET);
    assert_eq!(errors.len(), pintle_meta::field_path::MOST_ERRORS);
}

#[test]
fn a_large_value_is_not_shown_for_every_rule() {
    let many = vec![r#"{"rule":"false"}"#; 500].join(",");
    let object = format!(r#""{}""#, "x".repeat(1 << 20));
    let (errors, _) = budgeted(&schema(&with(r#"{"type":"string"}"#, &many)), &object, BUDGET);
    assert_eq!(errors.len(), 8);
}

#[test]
fn deep_schemas_and_many_rules_compile() {
    let depth = 120;
    let mut deep = r#"{"type":"string","x-kubernetes-validations":[{"rule":"self == 'x'"}]}"#.to_owned();
    let mut object = r#""y""#.to_owned();
    for _ in 0..depth {
        deep = format!(
            r#"{{"type":"object","properties":{{"p":{deep}}},"x-kubernetes-validations":[{{"rule":"has(self.p)"}}]}}"#
        );
        object = format!(r#"{{"p":{object}}}"#);
    }
    let said = said(&schema(&deep), &object, Some(&object));
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("W p.p.p."), "{said:?}");
    let many = vec![r#"{"rule":"self.a == 'x'"}"#; 5000].join(",");
    assert_eq!(budgeted(&schema(&with(AB, &many)), r#"{"a":"y"}"#, BUDGET).0.len(), 5000);
}
