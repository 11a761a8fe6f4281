//! Any expression ends within its budget, deterministically.

use pintle_meta::Value;
use proptest::prelude::*;

use super::{object, written};
use crate::{Activation, Budget, Declarations, Environment, EvalError, Type};

/// Generates expressions of any type, some of which type-check.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("0".to_owned()),
        Just("9223372036854775807".to_owned()),
        Just("2u".to_owned()),
        Just("1.5".to_owned()),
        Just("'text'".to_owned()),
        Just("b'x'".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just("duration('1h')".to_owned()),
        Just("timestamp(0)".to_owned()),
        Just("x".to_owned()),
        Just("l".to_owned()),
        Just("m".to_owned()),
        Just("i".to_owned()),
        Just("[]".to_owned()),
        Just("lists.range(7)".to_owned()),
    ];
    leaf.prop_recursive(6, 60, 4, |inner| {
        let one = inner.clone();
        let two = (inner.clone(), inner.clone());
        let three = (inner.clone(), inner.clone(), inner);
        prop_oneof![
            one.clone().prop_map(|a| format!("dyn({a})")),
            (one, 0..14usize).prop_map(|(a, method)| {
                let method = [
                    "size()",
                    "all(i, true)",
                    "map(i, [i, i])",
                    "filter(i, true)",
                    "exists(i, i == 1)",
                    "a",
                    "?a",
                    "sum()",
                    "reverse()",
                    "flatten()",
                    "distinct()",
                    "sort()",
                    "split('')",
                    "transformMap(k, i, i)",
                ][method];
                format!("dyn({a}).{method}")
            }),
            (two.clone(), 0..12usize).prop_map(|((a, b), operator)| {
                let operator = ["+", "-", "*", "/", "%", "==", "!=", "<", ">=", "in", "&&", "||"][operator];
                format!("(dyn({a}) {operator} dyn({b}))")
            }),
            two.clone().prop_map(|(a, b)| format!("dyn({a})[dyn({b})]")),
            two.clone().prop_map(|(a, b)| format!("[dyn({a}), dyn({b})]")),
            two.clone().prop_map(|(a, b)| format!("{{'a': dyn({a}), 'b': dyn({b})}}")),
            two.clone().prop_map(|(a, b)| format!("l.map(i, dyn({a})).all(i, dyn({b}) == i)")),
            two.prop_map(|(a, b)| format!("optional.of(dyn({a})).optMap(i, dyn({b})).orValue(1)")),
            three.prop_map(|(a, b, c)| format!("(dyn({a}) == 1 ? dyn({b}) : dyn({c}))")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn evaluation_ends_within_its_budget(text in expression(), budget in prop_oneof![Just(1_000_000), 0u64..500]) {
        let (x, l, m) = (
            Value::from(3),
            Value::from((0..20).map(Value::from).collect::<Vec<_>>()),
            object([("a", Value::from("b")), ("n", Value::NULL)]),
        );
        let declarations = ["x", "l", "m", "i"].iter().fold(Declarations::new(), |all, name| all.variable(*name, Type::Dyn));
        let environment = Environment::new(declarations);
        let Ok(program) = environment.compile(&text) else { return Ok(()) };
        let activation = Activation::new().bind("x", &x).bind("l", &l).bind("m", &m).bind("i", &x);
        let first = program.evaluate(&activation, Budget::of(budget));
        match &first.value {
            Err(EvalError::CostLimitExceeded) => {}
            _ => prop_assert!(first.cost <= budget, "{text} costs {}", first.cost),
        }
        let again = program.evaluate(&activation, Budget::of(budget));
        prop_assert_eq!(first.cost, again.cost);
        match (&first.value, &again.value) {
            (Ok(a), Ok(b)) => prop_assert_eq!(written(a), written(b)),
            (Err(a), Err(b)) => prop_assert_eq!(a, b),
            (a, b) => prop_assert!(false, "{text}: {a:?} and {b:?}"),
        }
        // A budget of exactly its cost gives the same result.
        if let Ok(value) = &first.value {
            let exact = program.evaluate(&activation, Budget::of(first.cost));
            prop_assert_eq!(exact.value.map(|value| written(&value)), Ok(written(value)));
        }
    }
}
