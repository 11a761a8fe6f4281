//! Costs of evaluations, in cel-go's units.

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
fn qualifiers_are_charged() {
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
fn operators_and_conditionals_are_charged() {
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
fn loops_are_charged() {
    check(&[
        // Each round: condition (accumulator, call), loop step (accumulator, comparison).
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
fn an_evaluation_ends_when_its_budget_is_exceeded() {
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
fn a_call_is_charged_once() {
    let l = Value::from((0..20).map(Value::from).collect::<Vec<_>>());
    let activation = Activation::new().bind("l", &l);
    for expression in
        ["l.distinct().size()", "sets.equivalent(l, l)", "l.sort().size()", "lists.range(50).size()"]
    {
        let program = environment().compile(expression).unwrap();
        let cost = program.evaluate(&activation, Budget::PER_CALL).cost;
        assert!(program.evaluate(&activation, Budget::of(cost)).value.is_ok(), "{expression} for {cost}");
        assert!(program.evaluate(&activation, Budget::of(cost - 1)).value.is_err(), "{expression} for less");
    }
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

/// Sizes: lists of up to ten items, strings of up to twenty characters.
struct Small;

impl crate::Sizes for Small {
    fn size(&self, path: &[String], of: &Type) -> Option<crate::Range> {
        let max = match (path.last()?.as_str(), of) {
            (_, Type::String) => 20,
            ("l", _) => 10,
            _ => return None,
        };
        Some(crate::Range { min: 0, max })
    }
}

#[track_caller]
fn estimated(cases: &[(&str, u64, u64)]) {
    let different: Vec<String> = cases
        .iter()
        .filter_map(|(expression, min, max)| {
            let estimate = environment().check(expression).unwrap().estimate(&Small);
            (estimate != crate::Range { min: *min, max: *max })
                .then(|| format!("{expression} is {estimate:?}"))
        })
        .collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn costs_are_estimated_from_sizes() {
    const MOST: u64 = u64::MAX;
    estimated(&[
        ("1", 0, 0),
        ("x", 1, 1),
        ("m.a", 2, 2),
        ("m['a']", 2, 2),
        ("l[0]", 2, 2),
        ("has(m.a)", 1, 1),
        ("[1, 2, 3]", 10, 10),
        ("{'a': 1}", 30, 30),
        ("x == 1", 2, 2),
        ("x > 0 && x < 5", 2, 4),
        ("x > 0 ? s : 'a'", 2, 3),
        ("s == 'abc'", 2, 2),
        ("s == s", 3, 4),
        ("s + s", 2, 6),
        ("s.contains('abc')", 1, 3),
        ("s.startsWith('abc')", 2, 2),
        ("s.matches('^abc$')", 3, 7),
        ("x in l", 2, 12),
        ("l.all(i, i > 0)", 2, 2 + 10 * 5),
        ("l.exists(i, i > 0)", 2, 2 + 10 * 6),
        ("l.map(i, i)", 12, 12 + 10 * 13),
        ("l.filter(i, i > 0)", 12, 12 + 10 * 15),
        ("[1, 2, 3].all(i, true)", 10 + 1 + 3 * 3, 10 + 1 + 3 * 3),
        ("m.all(k, true)", 2, MOST),
        ("l.map(i, i).sum()", 12, 12 + 10 * 13 + 10),
        ("dyn(x)", 2, 2),
        ("optional.of(x).optMap(y, y + 1)", 4, 19),
    ]);
}

#[test]
fn type_names_have_a_fixed_cost() {
    let estimate = |expression: &str| environment().check(expression).unwrap().estimate(&Small);
    assert_eq!(estimate("type(x) == google.protobuf.Duration"), estimate("type(x) == int"));
}

#[test]
fn costs_of_functions_are_estimated() {
    estimated(&[
        ("[1, 2, 3, 4, 5].sum()", 15, 15),
        ("[1, 2, 3, 4, 5].indexOf(3)", 15, 15),
        ("'a'.indexOf('b')", 1, 1),
        ("url('https:://kubernetes.io/').getHost()", 4, 4),
        ("url('https:://kubernetes.io/') == url('https:://kubernetes.io/')", 7, 9),
        ("ip('192.168.0.1').family()", 3, 3),
        ("ip('192.168.0.1') == ip('192.168.0.1')", 5, 5),
        ("ip.isCanonical('192.168.0.1')", 3, 3),
        ("cidr('192.168.0.0/16').masked()", 3, 3),
        ("cidr('192.168.0.0/16').containsIP(ip('192.0.0.1'))", 4, 7),
        ("cidr('192.168.0.0/16').containsIP('192.0.0.1')", 4, 7),
        ("cidr('192.168.0.0/16').containsCIDR('192.0.0.0/30')", 7, 11),
        ("s.lowerAscii()", 1, 3),
        ("s.replace('a', 'b')", 1, 5),
        ("s.split(',')", 1, 5),
        ("s.find('[0-9]+')", 3, 7),
        ("quantity('12345678').add(1)", 2, 2),
        ("semver('1.2.3').major()", 2, 2),
        ("format.dns1123Label().validate(s)", 2, 66),
        ("l.slice(0, 2)", 1 + 1 + 10 + 2, 1 + 1 + 10 + 2),
        ("l.sort()", 12, 12 + 200),
        ("l.distinct()", 12, 12 + 200),
        ("lists.range(5)", 16, 16),
        ("sets.contains(l, [1, 2])", 12, 12 + 20),
        ("sets.equivalent(l, [1, 2])", 12, 12 + 40),
    ]);
}
