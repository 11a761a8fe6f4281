//! What evaluations cost, in cel-go's units.

use super::object;
use crate::{Activation, Budget, Declarations, Environment, EvalError, Type};
use pintle_meta::Value;

fn environment() -> Environment {
    Environment::new(
        Declarations::new()
            .variable("x", Type::Int)
            .variable("s", Type::String)
            .variable("l", Type::list(Type::Int))
            .variable("m", Type::map(Type::String, Type::Dyn)),
    )
}

fn cost(expression: &str) -> u64 {
    let inner = object([("b", Value::from(1)), ("k", Value::from("b"))]);
    let (x, s, l, m) = (
        Value::from(1),
        Value::from("abcdefghijklmnop"),
        Value::from(vec![Value::from(1), Value::from(2), Value::from(3)]),
        object([("a", inner)]),
    );
    let activation = Activation::new().bind("x", &x).bind("s", &s).bind("l", &l).bind("m", &m);
    let program = environment().compile(expression).unwrap();
    program.evaluate(&activation, Budget::PER_CALL).cost
}

#[track_caller]
fn check(cases: &[(&str, u64)]) {
    let different: Vec<String> = cases
        .iter()
        .filter(|(expression, expect)| cost(expression) != *expect)
        .map(|(expression, expect)| format!("{expression} costs {}, expected {expect}", cost(expression)))
        .collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn the_way_into_a_value_is_counted() {
    check(&[
        ("1", 0),
        ("x", 1),
        ("m.a", 2),
        ("m.a.b", 3),
        ("m['a'].b", 3),
        ("l[0]", 2),
        ("l[x]", 2),
        ("m.a[m.a.k]", 5),
        ("l[x + 1]", 4),
        ("has(m.a)", 1),
        ("has(m.a.b)", 2),
        ("has(m.z)", 1),
        ("m.?z", 1),
        ("m.?a", 2),
        ("m.?z.orValue(1)", 1),
        ("[1, 2, 3][0]", 2),
        ("[x, 2, 3][0]", 13),
        ("{'a': x}.a", 33),
        ("[1, 2]", 0),
        ("{'a': 1}", 0),
    ]);
}

#[test]
fn operators_and_conditions_are_counted() {
    check(&[
        ("x + 1", 2),
        ("x == 1", 2),
        ("x < 1 && x > 0", 2),
        ("x == 1 && x > 0", 4),
        ("true || x > 0", 0),
        ("x > 0 ? x : 2", 2),
        ("x > 0 ? m.a : m.a", 3),
        ("(x > 0 ? m : m).a", 3),
        ("x > 0 ? x + 1 : 2", 4),
        ("!(x > 0)", 3),
        ("s == s", 4),
        ("s + s", 6),
        ("s.contains('cde')", 3),
        ("s.startsWith('abc')", 3),
        ("s.matches('^abc$')", 5),
        ("s.size()", 2),
        ("x in [1, 2]", 1),
        ("x in l", 5),
        ("x in []", 0),
        ("int('1')", 0),
        ("string(x)", 2),
        ("'a' in m", 2),
    ]);
}

#[test]
fn loops_are_counted() {
    check(&[
        // Each round: condition (accumulator, call), step (accumulator, and the comparison).
        ("l.all(i, i > 0)", 1 + 3 * (2 + 1 + 2) + 1),
        ("l.exists(i, i > 2)", 1 + 3 * (3 + 1 + 2) + 1),
        ("l.exists_one(i, i > 2)", 1 + 3 * 2 + 2 + 2),
        ("l.map(i, i)", 1 + 3 * (1 + 1 + 10 + 1) + 1),
        ("l.filter(i, i > 1)", 1 + 3 * 2 + 2 * (1 + 1 + 10 + 1) + 1),
        ("[].all(i, i > 0)", 1),
        ("optional.of(x).optMap(y, 1)", 4),
        ("optional.of(x).optMap(y, y)", 8),
    ]);
}

#[test]
fn an_evaluation_ends_where_its_budget_does() {
    let l = Value::from((0..100).map(Value::from).collect::<Vec<_>>());
    let program = environment().compile("l.all(i, i >= 0)").unwrap();
    let activation = Activation::new().bind("l", &l);
    let full = program.evaluate(&activation, Budget::PER_CALL);
    assert_eq!(full.value.unwrap().as_bool(), Some(true));
    assert_eq!(full.cost, 502);
    assert_eq!(program.evaluate(&activation, Budget::of(502)).value.unwrap().as_bool(), Some(true));
    let cut = program.evaluate(&activation, Budget::of(501));
    assert_eq!(cut.value.unwrap_err(), EvalError::CostLimitExceeded);
    let cut = program.evaluate(&activation, Budget::of(10));
    assert_eq!(cut.value.unwrap_err(), EvalError::CostLimitExceeded);
    assert_eq!(cut.cost, 11);
}

#[test]
fn an_evaluation_can_be_interrupted() {
    let l = Value::from((0..1000).map(Value::from).collect::<Vec<_>>());
    let program = environment().compile("l.all(i, i >= 0)").unwrap();
    let asked = std::cell::Cell::new(0);
    let interrupted = || {
        asked.set(asked.get() + 1);
        asked.get() == 3
    };
    let budget = Budget { cost: u64::MAX, interrupted: Some(&interrupted) };
    let done = program.evaluate(&Activation::new().bind("l", &l), budget);
    assert_eq!(done.value.unwrap_err().to_string(), "operation interrupted");
    assert_eq!(done.cost, 1 + 300 * 5);
}
