//! Objects and patches that expressions build.

use crate::{Activation, AdmissionVariables, Budget, Environment, Unconvertible, Val, admission};

/// Evaluates an expression; text or the error.
fn text(expression: &str) -> String {
    let has = AdmissionVariables { patch_types: true, ..AdmissionVariables::default() };
    let program = Environment::new(admission(has, None)).compile(expression).unwrap();
    match program.evaluate(&Activation::new(), Budget::PER_CALL).value {
        Ok(value) => value.to_string(),
        Err(error) => error.to_string(),
    }
}

fn evaluated<T>(expression: &str, with: impl FnOnce(&Val<'_>) -> T) -> T {
    let has = AdmissionVariables { patch_types: true, ..AdmissionVariables::default() };
    let program = Environment::new(admission(has, None)).compile(expression).unwrap();
    with(&program.evaluate(&Activation::new(), Budget::PER_CALL).value.unwrap())
}

#[test]
fn fields_are_read_where_the_type_is_known() {
    for (expression, expected) in [
        ("Object{a: 1}.a", "1"),
        ("Object{a: 1}.b", "null"),
        ("has(Object{a: 1}.a)", "true"),
        ("has(Object{a: 1}.b)", "false"),
        ("Object{a: 1}.?b.hasValue()", "false"),
        ("Object{a: 1}.?a.value()", "1"),
        ("Object{a: Object.a{b: 2}}.a.b", "2"),
        ("Object{a: Object.a{b: 2}}.a == {'b': 2}", "true"),
        ("Object{a: [Object.a{b: 2}]}.a[0].b", "2"),
        ("dyn(Object{a: 1}).a", "no such key: a"),
        ("has(dyn(Object{a: 1}).a)", "false"),
        ("[Object{a: 1}].map(o, o.a)[0]", "1"),
        ("type(Object.a{})", "Object.a"),
        ("dyn(Object{}).exists(k, true)", "got 'Object', expected iterable type"),
        ("JSONPatch{op: 'a'}.op", "a"),
        ("JSONPatch{op: 'a'}.path", ""),
        ("JSONPatch{}.value", "null"),
        ("JSONPatch{value: 1}.value", "1"),
        ("dyn(JSONPatch{value: 1}).value", "1"),
        ("has(JSONPatch{value: 1}.value)", "true"),
        ("has(JSONPatch{}.value)", "false"),
        ("has(JSONPatch{from: ''}.from)", "false"),
        ("has(JSONPatch{from: 'a'}.from)", "true"),
        ("JSONPatch{op: dyn(1)}", "unexpected type int64 for JSONPatchType 'op' field"),
    ] {
        assert_eq!(text(expression), expected, "{expression}");
    }
}

#[test]
fn equal_objects_are_of_one_type_and_have_the_same_values() {
    for (expression, expected) in [
        ("Object{} == Object{}", "true"),
        ("Object{a: 1, b: 'x'} == Object{b: 'x', a: 1}", "true"),
        ("Object{a: 1} == Object{a: 2}", "false"),
        ("Object{a: 1} == Object{a: 1.0}", "false"),
        ("Object{a: 1} == Object{}", "false"),
        ("dyn(Object{}) == dyn(Object.a{})", "false"),
        ("dyn(Object{a: 1}) == dyn({'a': 1})", "false"),
        ("dyn({'a': 1}) == dyn(Object{a: 1})", "false"),
        ("Object{a: {'b': 1}} == Object{a: {'b': 1}}", "true"),
        ("Object{a: Object.a{b: 1}} == Object{a: Object.a{b: 1}}", "true"),
        ("Object{a: [1]} == Object{a: [1]}", "false"),
        ("JSONPatch{} == JSONPatch{}", "true"),
        ("JSONPatch{op: 'a', value: 1} == JSONPatch{op: 'a', value: 1}", "true"),
        ("JSONPatch{op: 'a', value: 1} == JSONPatch{op: 'a', value: '1'}", "false"),
        ("JSONPatch{op: 'a'} == JSONPatch{op: 'b'}", "false"),
        ("JSONPatch{path: 'a'} == JSONPatch{from: 'a'}", "false"),
        ("JSONPatch{value: null} == JSONPatch{}", "false"),
    ] {
        assert_eq!(text(expression), expected, "{expression}");
    }
}

#[test]
fn objects_are_named_after_the_fields_they_are_in() {
    let check = |expression: &str| evaluated(expression, |value| value.check_type_names());
    let wrong = |name: &str, expected: &str| {
        format!(
            "unexpected type name \"{name}\", expected \"{expected}\", which matches field name path from root Object type"
        )
    };
    assert_eq!(check("Object{a: Object.a{b: [Object.a.b{}], c: {'x': Object.a.c{}}}}"), Ok(()));
    assert_eq!(check("1"), Ok(()));
    assert_eq!(check("Object{a: [Object.b{}] + [Object.b{}]}"), Ok(()), "as in the reference");
    assert_eq!(check("Object{a: Object.b{}}"), Err(wrong("Object.b", "Object.a")));
    let two = [wrong("Object.c", "Object.a"), wrong("Object", "Object.a.b")].join("\n");
    assert_eq!(check("Object{a: [Object.c{b: {'x': Object{}}}]}"), Err(two));
    assert_eq!(check("Object.spec{x: Object.spec.x{}}"), Ok(()), "the root of a patch's value");
}

#[test]
fn configurations_hold_what_json_has() {
    let config = |expression: &str| evaluated(expression, |value| value.to_configuration());
    let json = |value: pintle_meta::Value| serde_json::to_string(&value_json(&value)).unwrap();
    let converted = config(
        "Object{a: 1, b: [dyn(1.5), dyn('x'), dyn(true)], c: {'d': 1}, e: Object.e{f: []}, ?g: optional.none()}",
    );
    assert_eq!(json(converted.unwrap()), r#"{"a":1,"b":[1.5,"x",true],"c":{"d":1},"e":{"f":[]}}"#);
    for (expression, go_type, source) in [
        ("Object{a: null}", "structpb.NullValue", "0"),
        ("Object{a: 1u}", "uint64", "0x1"),
        ("Object{a: b'x'}", "[]uint8", "[]byte{0x78}"),
        ("Object{a: duration('1s')}", "time.Duration", "1000000000"),
        ("Object{a: [[1]]}", "[]ref.Val", "list"),
        ("Object{a: {'b': {'c': 1}}}", "map[ref.Val]ref.Val", "map"),
    ] {
        match config(expression) {
            Err(Unconvertible::Foreign(foreign)) => {
                assert_eq!((foreign.go_type, foreign.source.as_str()), (go_type, source), "{expression}");
            }
            other => panic!("{expression}: {other:?}"),
        }
    }
    let sum = config("Object{a: [Object.a{b: 1}] + [Object.a{b: 2}], c: [[1] + [2]]}").unwrap();
    assert_eq!(json(sum), r#"{"a":[{"b":1},{"b":2}],"c":[[1,2]]}"#);
    assert_eq!(config("Object{a: {1: 1}}"), Err(Unconvertible::Key));
}

#[test]
fn values_of_patches_are_json_of_double_precision() {
    let value = |expression: &str| evaluated(expression, |value| value.to_patch_value());
    let json = |expression: &str| match value(expression) {
        Ok(value) => serde_json::to_string(&value_json(&value)).unwrap(),
        Err(error) => error.to_string(),
    };
    for (expression, expected) in [
        ("null", "null"),
        ("1", "1"),
        ("9007199254740993", "\"9007199254740993\""),
        ("2.0", "2"),
        ("0.5", "0.5"),
        ("b'x'", "\"eA==\""),
        ("timestamp('2020-01-01T00:00:00Z')", "\"2020-01-01T00:00:00Z\""),
        ("duration('90s')", "\"90s\""),
        ("[{'a': [1]}]", r#"[{"a":[1]}]"#),
        ("{1: 2}", "unsupported type conversion from 'int' to string"),
        ("Object.spec{a: 9007199254740993, b: 1u, c: b'x'}", r#"{"a":9007199254740992,"b":1,"c":"eA=="}"#),
        ("Object.spec{a: null}", "proto: invalid type: structpb.NullValue"),
        ("[Object.spec{a: 1}]", r#"[{"a":1}]"#),
    ] {
        assert_eq!(json(expression), expected, "{expression}");
    }
}

fn value_json(value: &pintle_meta::Value) -> serde_json::Value {
    use pintle_meta::Node;
    match value.node() {
        Node::Bool(value) => value.into(),
        Node::Int(value) => value.into(),
        Node::Float(value) => value.into(),
        Node::String(text) => text.into(),
        Node::List(items) => items.iter().map(value_json).collect(),
        Node::Object(object) => {
            object.iter().map(|(key, value)| (key.to_owned(), value_json(value))).collect()
        }
        _ => serde_json::Value::Null,
    }
}
