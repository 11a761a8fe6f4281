//! Random policies: evaluating one ends, twice with the same result, and the order in which variables are declared does not matter.

use pintle_meta::{Object, Value};
use pintle_registry::testing::object;

use super::*;
use crate::expressions::{Compiler, Inputs};
use crate::policies::VALIDATION_BUDGET;
use crate::policies::random::{Grammar, Numbers, Variables, declared, shuffled};
use crate::policies::source::Compiled;

const GRAMMAR: Grammar = Grammar {
    fields: &[
        "object.a",
        "object.b",
        "object.nope",
        "object.list",
        "oldObject",
        "params.most",
        "request.operation",
        "object.text",
    ],
    literals: &["1", "'text'", "true", "[1, 2, 3]", "{'a': 1}", "null"],
};

fn policy(variables: &[(String, String)], validations: &[String]) -> Value {
    let validation = |text: &String| {
        let message = format!("string({text})");
        Value::from(Object::from_iter([("expression", text.as_str()), ("messageExpression", &message)]))
    };
    let kind = Value::from(Object::from_iter([("apiVersion", "v1"), ("kind", "ConfigMap")]));
    let spec = Value::from(Object::from_iter([
        ("paramKind", kind),
        ("variables", declared(variables)),
        ("validations", Value::list(validations.iter().map(validation).collect())),
    ]));
    Value::from(Object::from_iter([("spec", spec)]))
}

fn verdicts(policy: &Value, object: &Value, params: &Value) -> Vec<(Verdict, String)> {
    let request = Value::from(Object::from_iter([("operation", "CREATE")]));
    let inputs = Inputs {
        object: Some(object),
        old_object: None,
        params: Some(params),
        request: &request,
        namespace: None,
        authorizer: None,
    };
    let compiled = ValidatingPolicy::compile(policy, &Compiler::default());
    let evaluated = compiled.evaluate(&inputs, &inputs, VALIDATION_BUDGET);
    evaluated.decisions.into_iter().map(|decision| (decision.verdict, decision.message)).collect()
}

#[test]
fn verdicts_do_not_depend_on_the_order_of_variables() {
    let objects = [
        r#"{"a":1,"b":"x","list":[1,2,3],"text":"abc"}"#,
        r#"{"a":"one","b":{"c":[true]},"list":[],"text":""}"#,
        r#"{"list":{"k":"v"}}"#,
    ];
    let objects: Vec<Value> = objects.into_iter().map(object).collect();
    let params = object(r#"{"most":3}"#);
    let mut numbers = Numbers(7);
    let mut seen = [0usize; 3];
    for _ in 0..400 {
        let count = 1 + numbers.below(6);
        let variables: Variables = GRAMMAR.variables(&mut numbers, count);
        let validations: Vec<String> =
            (0..2).map(|_| format!("{} == true", GRAMMAR.expression(&mut numbers, count, 3))).collect();
        let first = policy(&variables, &validations);
        let second = policy(&shuffled(&variables, &mut numbers), &validations);
        for object in &objects {
            let verdict = verdicts(&first, object, &params);
            assert_eq!(verdict, verdicts(&first, object, &params), "again: {variables:?} {validations:?}");
            assert_eq!(
                verdict,
                verdicts(&second, object, &params),
                "shuffled: {variables:?} {validations:?}"
            );
            for (verdict, _) in verdict {
                seen[match verdict {
                    Verdict::Admit => 0,
                    Verdict::Deny => 1,
                    _ => 2,
                }] += 1;
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 20), "all kinds of verdicts: {seen:?}");
}
