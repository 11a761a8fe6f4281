use pintle_patch::typed::TypeRef;
use pintle_schema::find;

use super::*;
use crate::expressions::Compiler;
use crate::expressions::Inputs;
use crate::policies::VALIDATION_BUDGET;
use crate::policies::source::Compiled;
use crate::testing::{decoded, text};
use pintle_codec::json;
use pintle_meta::{Object, Value};

fn policy(patch_type: &str, expression: &str, rest: &str) -> MutatingPolicy {
    let field = if patch_type == "JSONPatch" { "jsonPatch" } else { "applyConfiguration" };
    let of_expression = Value::from(Object::from_iter([("expression", expression)]));
    let mutation =
        Value::from(Object::from_iter([("patchType", Value::string(patch_type)), (field, of_expression)]));
    let mut spec = json::decode_untyped(rest.as_bytes()).unwrap().value;
    spec.as_object_mut().unwrap().insert("mutations", Value::list(vec![mutation]));
    MutatingPolicy::compile(&Value::from(Object::from_iter([("spec", spec)])), &Compiler::default())
}

/// Applies one mutation to a built-in object; the result in normal form.
fn mutate(
    policy: &MutatingPolicy,
    of: &str,
    object: &str,
    old: Option<&str>,
    budget: u64,
) -> Result<Value, String> {
    let (object, old) = (decoded(of, object), old.map(|old| decoded(of, old)));
    let of = find(of).unwrap();
    let request = Value::NULL;
    let inputs = Inputs {
        object: Some(&object),
        old_object: old.as_ref(),
        params: None,
        request: &request,
        namespace: None,
        authorizer: None,
    };
    let parse = |text: &[u8]| {
        let read = json::decode(of, text).map_err(|error| error.to_string())?;
        match read.strict.as_slice() {
            [] => Ok(read.value),
            strict => Err(format!("strict decoding error: {}", strict.join(", "))),
        }
    };
    let mutated = MutatedObject { object: &object, of: TypeRef::from(of), parse: &parse };
    match policy.mutations[0].apply(policy, &inputs, &mutated, budget) {
        Ok(new) => Ok(new.unwrap_or(object)),
        Err(Failure::Policy(why)) => Err(why),
        Err(Failure::Request(status)) => Err(status.message),
    }
}

const DEPLOYMENT: &str = "apps/v1.Deployment";

fn deployment(rest: &str) -> String {
    format!(r#"{{"kind":"Deployment","apiVersion":"apps/v1"{rest}}}"#)
}

fn spec(rest: &str) -> String {
    deployment(&format!(r#","spec":{rest}"#))
}

/// Checks a table of expressions, objects and results; errors begin with `!`.
fn check(patch_type: &str, cases: &[(&str, String, String)]) {
    for (expression, object, expected) in cases {
        let policy = policy(patch_type, expression, "{}");
        match (mutate(&policy, DEPLOYMENT, object, None, VALIDATION_BUDGET), expected.strip_prefix('!')) {
            (Ok(new), None) => {
                let expected = decoded(DEPLOYMENT, expected);
                assert_eq!(text(&new), text(&expected), "{expression}");
                assert_eq!(new, decoded(DEPLOYMENT, &text(&new)), "in normal form: {expression}");
            }
            (Err(why), Some(expected)) => assert_eq!(why, expected, "{expression}"),
            (got, expected) => panic!("{expression}: {got:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn apply_configurations_are_merged() {
    let containers = |list: &str| spec(&format!(r#"{{"template":{{"spec":{{"containers":[{list}]}}}}}}"#));
    check(
        "ApplyConfiguration",
        &[
            ("Object{}", spec(r#"{"replicas":1}"#), spec(r#"{"replicas":1}"#)),
            ("Object{spec: Object.spec{replicas: 3}}", spec(r#"{"replicas":1}"#), spec(r#"{"replicas":3}"#)),
            (
                "Object{spec: Object.spec{replicas: object.spec.replicas % 2 == 0 ? object.spec.replicas + 1 : 5}}",
                spec(r#"{"replicas":2}"#),
                spec(r#"{"replicas":3}"#),
            ),
            (
                "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
                    containers: [Object.spec.template.spec.containers{name: 'b', image: 'i',
                        ports: [Object.spec.template.spec.containers.ports{containerPort: 80}],
                        resources: Object.spec.template.spec.containers.resources{limits: {'cpu': '128M'}}}]}}}}",
                containers(r#"{"name":"a"}"#),
                containers(
                    r#"{"name":"a"},{"name":"b","image":"i","ports":[{"containerPort":80}],"resources":{"limits":{"cpu":"128M"}}}"#,
                ),
            ),
            (
                "Object{metadata: Object.metadata{labels: {'a': 'x', ?'b': object.metadata.?labels.c.optMap(v, string(v)), ?'d': object.metadata.?labels.e.optMap(v, string(v))}}}",
                deployment(r#","metadata":{"labels":{"c":"y","a":"z"}}"#),
                deployment(r#","metadata":{"labels":{"c":"y","a":"x","b":"y"}}"#),
            ),
            (
                "Object{spec: Object.spec{?replicas: optional.none(), ?paused: optional.of(true)}}",
                spec(r#"{"replicas":2}"#),
                spec(r#"{"replicas":2,"paused":true}"#),
            ),
            // Of the object's own items.
            (
                "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers:
                    object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{
                        name: c.name, env: [Object.spec.template.spec.containers.env{name: 'E', value: c.name}]})}}}}",
                containers(r#"{"name":"a"},{"name":"b","env":[{"name":"E","value":"x"},{"name":"F","value":"y"}]}"#),
                containers(
                    r#"{"name":"a","env":[{"name":"E","value":"a"}]},{"name":"b","env":[{"name":"E","value":"b"},{"name":"F","value":"y"}]}"#,
                ),
            ),
        ],
    );
}

#[test]
fn apply_configurations_that_cannot_be_merged_are_errors() {
    let typed = "!error applying patch: failed to convert patch object to typed object: ";
    let object = || spec(r#"{"replicas":1}"#);
    let expected = |why: &str| format!("{typed}{why}");
    check(
        "ApplyConfiguration",
        &[
            (
                "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'l': 'v'}}}}",
                object(),
                "!error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.selector"
                    .into(),
            ),
            (
                "Object{spec: Object.specx{replicas: 1}}",
                object(),
                "!type mismatch: unexpected type name \"Object.specx\", expected \"Object.spec\", which matches field name path from root Object type"
                    .into(),
            ),
            ("Object{spec: Object.spec{replicasx: 1}}", object(), expected(".spec.replicasx: field not declared in schema")),
            (
                "Object{spec: Object.spec{replicas: 'a'}}",
                object(),
                expected(".spec.replicas: expected numeric (int or float), got string"),
            ),
            (
                "Object{spec: Object.spec{replicas: null}}",
                object(),
                expected(".spec.replicas: expected numeric (int or float), got structpb.NullValue"),
            ),
            (
                "Object{metadata: Object.metadata{labels: {'a': 1}}}",
                object(),
                expected(".metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}"),
            ),
            (
                "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [{'name': 'a'}]}}}}",
                object(),
                expected(
                    ".spec.template.spec.containers: element 0: associative list with keys may not have non-map elements",
                ),
            ),
            ("'tea'", object(), "!must evaluate to Object but got string".into()),
            ("Object.spec{}", object(), "!must evaluate to Object but got Object.spec".into()),
            (
                "Object{spec: Object.spec{replicas: object.spec.nosuch}}",
                object(),
                "!expression 'Object{spec: Object.spec{replicas: object.spec.nosuch}}' resulted in error: no such key: nosuch"
                    .into(),
            ),
        ],
    );
    let bad = policy("ApplyConfiguration", "Object{", "{}");
    let why = mutate(&bad, DEPLOYMENT, &object(), None, VALIDATION_BUDGET).unwrap_err();
    assert!(why.starts_with("compilation failed: ERROR: <input>:1:8: Syntax error"), "{why}");
}

#[test]
fn patches_are_applied() {
    let containers = |list: &str| spec(&format!(r#"{{"template":{{"spec":{{"containers":[{list}]}}}}}}"#));
    let labels = |labels: &str| deployment(&format!(r#","metadata":{{"labels":{labels}}}"#));
    check(
        "JSONPatch",
        &[
            (
                "[JSONPatch{op: 'test', path: '/spec/replicas', value: 100}, JSONPatch{op: 'replace', path: '/spec/replicas', value: 3}]",
                spec(r#"{"replicas":1}"#),
                spec(r#"{"replicas":1}"#),
            ),
            (
                "[JSONPatch{op: 'test', path: '/spec/replicas', value: 1}, JSONPatch{op: 'replace', path: '/spec/replicas', value: 3}]",
                spec(r#"{"replicas":1}"#),
                spec(r#"{"replicas":3}"#),
            ),
            ("[JSONPatch{op: 'remove', path: '/spec/replicas'}]", spec(r#"{"replicas":1}"#), spec("{}")),
            ("[JSONPatch{op: 'remove', path: '/metadata/labels/y'}]", labels(r#"{"x":"1","y":"1"}"#), labels(r#"{"x":"1"}"#)),
            (
                "[JSONPatch{op: 'copy', from: '/metadata/labels/x', path: '/metadata/labels/y'}]",
                labels(r#"{"x":"1"}"#),
                labels(r#"{"x":"1","y":"1"}"#),
            ),
            (
                "[JSONPatch{op: 'move', from: '/spec/template/spec/containers/0', path: '/spec/template/spec/containers/-'}]",
                containers(r#"{"name":"a"},{"name":"b"}"#),
                containers(r#"{"name":"b"},{"name":"a"}"#),
            ),
            ("[JSONPatch{op: 'add', path: '/metadata/labels', value: {'y': '2'}}]", deployment(""), labels(r#"{"y":"2"}"#)),
            (
                "[JSONPatch{op: 'add', path: '/spec/template/spec/containers/0', value: {'name': 'x'}}]",
                containers(r#"{"name":"a"}"#),
                containers(r#"{"name":"x"},{"name":"a"}"#),
            ),
            (
                "[JSONPatch{op: 'add', path: '/metadata/labels', value: {}}, JSONPatch{op: 'add',
                    path: '/metadata/labels/' + jsonpatch.escapeKey('k8s.io/x~y'), value: 'true'}]",
                deployment(""),
                labels(r#"{"k8s.io/x~y":"true"}"#),
            ),
            (
                "[JSONPatch{op: 'add', path: '/spec/template/spec/containers/-', value: Object.spec.template.spec.containers{
                    name: 'x', ports: [Object.spec.template.spec.containers.ports{containerPort: 8080}]}}]",
                containers(r#"{"name":"a"}"#),
                containers(r#"{"name":"a"},{"name":"x","ports":[{"containerPort":8080}]}"#),
            ),
            (
                "[JSONPatch{op: 'add', path: '/spec/template/spec/containers/-', value: Object.spec.template.spec.containers{
                    name: 'x', ports: [Object.spec.template.spec.containers.ports{containerPortZ: 8080}]}}]",
                containers(r#"{"name":"a"}"#),
                "!Internal error occurred: strict decoding error: unknown field \"spec.template.spec.containers[1].ports[0].containerPortZ\""
                    .into(),
            ),
            (
                "[JSONPatch{op: 'add', path: '/spec/template/spec/containers/-', value: Object.spec.template.spec.containers{
                    name: 'x', ports: [Object.spec.template.spec.containers.portsZ{containerPort: 8080}]}}]",
                containers(r#"{"name":"a"}"#),
                "!type mismatch: unexpected type name \"Object.spec.template.spec.containers.portsZ\", expected \"Object.spec.template.spec.containers.ports\", which matches field name path from root Object type"
                    .into(),
            ),
            (
                "[JSONPatch{op: 'replace', path: '/spec/template/spec/containers/-', value: {'name': 'x'}}]",
                containers(r#"{"name":"a"}"#),
                "!JSON Patch: replace operation does not apply: doc is missing key: /spec/template/spec/containers/-: missing value"
                    .into(),
            ),
            (
                "[JSONPatch{op: 'turn', path: '/spec'}]",
                spec("{}"),
                "!JSON Patch: Unexpected kind: turn".into(),
            ),
            (
                "[JSONPatch{op: 'add', path: '/spec/replicas', value: quantity('1')}]",
                spec("{}"),
                "!JSONPath valueExpression evaluated to a type that could not marshal to JSON: unsupported type conversion from 'kubernetes.Quantity' to *structpb.Value"
                    .into(),
            ),
            ("[1]", spec("{}"), "!must evaluate to list(JSONPatch) but got list(int)".into()),
        ],
    );
}

#[test]
fn mutations_see_the_old_object_and_variables() {
    let rest = r#"{"variables":[{"name":"n","expression":"oldObject.spec.replicas * 2"}]}"#;
    let policy = policy("ApplyConfiguration", "Object{spec: Object.spec{replicas: variables.n}}", rest);
    let new = mutate(&policy, DEPLOYMENT, &spec("{}"), Some(&spec(r#"{"replicas":2}"#)), VALIDATION_BUDGET)
        .unwrap();
    assert_eq!(new.at(&["spec", "replicas"]).and_then(Value::as_i64), Some(4));
}

#[test]
fn variables_cannot_make_objects_and_mutations_have_a_budget() {
    let rest = r#"{"variables":[{"name":"n","expression":"Object{}"}]}"#;
    let with_object = policy("ApplyConfiguration", "Object{spec: variables.n}", rest);
    let why = mutate(&with_object, DEPLOYMENT, &spec("{}"), None, VALIDATION_BUDGET).unwrap_err();
    assert!(why.contains("composited variable \"n\" fails to compile: compilation failed: "), "{why}");
    let costly = policy(
        "ApplyConfiguration",
        "Object{spec: Object.spec{replicas: [1, 2, 3].map(i, i * i).size()}}",
        "{}",
    );
    let why = mutate(&costly, DEPLOYMENT, &spec("{}"), None, 10).unwrap_err();
    assert_eq!(
        why,
        "validation failed due to running out of cost budget, no further validation rules will be run"
    );
    assert_eq!(ErrorType::of(&why), ErrorType::OutOfBudget);
    assert_eq!(ErrorType::of("compilation failed: x"), ErrorType::Compile);
    assert_eq!(ErrorType::of("must evaluate to Object but got string"), ErrorType::Invalid);
}

#[test]
fn hostile_mutations_are_bounded() {
    // Doubled thirty times: two to the thirty parts.
    let variables: Vec<String> = (1..30)
        .map(|number| {
            let before = number - 1;
            format!(r#"{{"name":"v{number}","expression":"[variables.v{before}, variables.v{before}]"}}"#)
        })
        .collect();
    let rest = format!(r#"{{"variables":[{{"name":"v0","expression":"['a']"}},{}]}}"#, variables.join(","));
    for (patch_type, expression) in [
        ("JSONPatch", "[JSONPatch{op: 'add', path: '/metadata/annotations', value: variables.v29}]"),
        ("ApplyConfiguration", "Object{spec: Object.spec{selector: variables.v29}}"),
        (
            "ApplyConfiguration",
            "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': variables.v29}}}}",
        ),
    ] {
        mutate(&policy(patch_type, expression, &rest), DEPLOYMENT, &spec("{}"), None, VALIDATION_BUDGET)
            .unwrap_err();
    }
    let copies = "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a': 'aaaaaaaaaaaaaaaa'}}] + \
                  lists.range(64).map(i, JSONPatch{op: 'copy', from: '/metadata', path: '/metadata/annotations/' + string(i)})";
    let why = mutate(&policy("JSONPatch", copies, "{}"), DEPLOYMENT, &spec("{}"), None, VALIDATION_BUDGET)
        .unwrap_err();
    assert!(why.starts_with("JSON Patch: ") || why.contains("lists.range"), "{why}");
}
