//! Random policies: evaluating one ends, twice with the same result, and the order in which variables are declared does not matter.

use pintle_meta::Value;
use pintle_registry::testing::object;

use super::*;
use crate::expressions::{Compiler, Inputs};
use crate::policies::VALIDATION_BUDGET;
use crate::policies::source::Compiled;

/// A generator of numbers that is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

const FIELDS: [&str; 8] = [
    "object.a",
    "object.b",
    "object.nope",
    "object.list",
    "oldObject",
    "params.most",
    "request.operation",
    "object.text",
];
const LITERALS: [&str; 6] = ["1", "'text'", "true", "[1, 2, 3]", "{'a': 1}", "null"];

/// Returns an expression that may read the first `variables` variables.
fn expression(numbers: &mut Numbers, variables: usize, depth: usize) -> String {
    let inner = |numbers: &mut Numbers| expression(numbers, variables, depth - 1);
    match numbers.below(if depth == 0 { 3 } else { 10 }) {
        0 if variables > 0 => format!("variables.v{}", numbers.below(variables)),
        0 | 1 => numbers.pick(&FIELDS).to_owned(),
        2 => numbers.pick(&LITERALS).to_owned(),
        3 => {
            let operator = numbers.pick(&["+", "==", "!=", "<", "-", "*", "in"]);
            format!("(dyn({}) {operator} dyn({}))", inner(numbers), inner(numbers))
        }
        4 => format!("(dyn({}) && dyn({}))", inner(numbers), inner(numbers)),
        5 => format!("(dyn({}) || dyn({}))", inner(numbers), inner(numbers)),
        6 => format!("(dyn({}) == true ? dyn({}) : dyn({}))", inner(numbers), inner(numbers), inner(numbers)),
        7 => format!("dyn({}).all(x, dyn({}) == x)", inner(numbers), inner(numbers)),
        8 => format!("dyn({}).map(x, [x, dyn({})])", inner(numbers), inner(numbers)),
        _ => format!("size(dyn({}))", inner(numbers)),
    }
}

/// Declares the variables in another order in which each still follows those that it reads.
fn shuffled(variables: &[(String, String)], numbers: &mut Numbers) -> Vec<(String, String)> {
    let mut left: Vec<&(String, String)> = variables.iter().collect();
    let mut ordered: Vec<(String, String)> = Vec::new();
    while !left.is_empty() {
        let is_ready = |(_, text): &(String, String)| left.iter().all(|(name, _)| !reads(text, name));
        let ready: Vec<usize> = (0..left.len()).filter(|place| is_ready(left[*place])).collect();
        let place = ready[numbers.below(ready.len())];
        ordered.push(left.remove(place).clone());
    }
    ordered
}

fn reads(text: &str, name: &str) -> bool {
    let whole = format!("variables.{name}");
    text.match_indices(&whole)
        .any(|(at, _)| !text[at + whole.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

fn policy(variables: &[(String, String)], validations: &[String]) -> Value {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\\\""));
    let variables: Vec<String> = variables
        .iter()
        .map(|(name, text)| format!("{{\"name\":\"{name}\",\"expression\":{}}}", quoted(text)))
        .collect();
    let validations: Vec<String> = validations
        .iter()
        .map(|text| {
            let message = format!("string({text})");
            format!("{{\"expression\":{},\"messageExpression\":{}}}", quoted(text), quoted(&message))
        })
        .collect();
    object(&format!(
        "{{\"spec\":{{\"paramKind\":{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}},\"variables\":[{}],\"validations\":[{}]}}}}",
        variables.join(","),
        validations.join(",")
    ))
}

fn verdicts(policy: &Value, object: &Value, params: &Value) -> Vec<(Verdict, String)> {
    let request = Value::from(pintle_meta::Object::from_iter([("operation", "CREATE")]));
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
        let variables: Vec<(String, String)> =
            (0..count).map(|place| (format!("v{place}"), expression(&mut numbers, place, 3))).collect();
        let validations: Vec<String> =
            (0..2).map(|_| format!("{} == true", expression(&mut numbers, count, 3))).collect();
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
