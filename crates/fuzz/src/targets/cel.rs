//! Expressions: whatever they are, they compile or are refused, and end within their budget.

use std::cell::LazyCell;

use pintle_cel::{Activation, Budget, Declarations, Environment, EvalError, Type};
use pintle_meta::{Object, Value};
use pintle_regex::Regex;

use super::{refused, skeleton, way};
use crate::Target;

pub(super) const TARGETS: &[Target] = &[
    Target {
        name: "cel",
        seeds: || SEEDS.iter().map(|seed| seed.as_bytes().to_vec()).collect(),
        tokens: TOKENS,
        run: expression,
    },
    Target {
        name: "regex",
        seeds: || [r"^[a-z]+(\d{1,3})?$", r"(?i)\Qa.b\E|[[:alpha:]-]\pL"].map(|seed| seed.into()).to_vec(),
        tokens: &[
            "\\d",
            "\\pL",
            "\\p{Greek}",
            "[^",
            "]",
            "(?:",
            "(?i)",
            ")",
            "{2,3}",
            "*?",
            "|",
            "\\Q",
            "\\E",
            "\\x{41}",
            "[:alnum:]",
            "-",
        ],
        run: pattern,
    },
];

/// More than this and a run would take long; less and loops would not get far.
const BUDGET: u64 = 20_000;

const SEEDS: &[&str] = &[
    "x.all(i, i > 0) && m.a.?b.orValue(1) == 2",
    "has(m.a) ? m['a'] + [1, 2u, 3.0] : {'k': b'v', ?'o': optional.none()}",
    "'%s %d'.format([s, 1]).split(' ').map(p, p.size()).sum()",
    "timestamp('2020-01-01T00:00:00Z') + duration('1h') < timestamp(0)",
    "m.transformMap(k, v, k + '!').exists(k, v, v.matches('^a+$'))",
    "x.sortBy(i, -i).slice(0, 2).flatten(1).distinct().reverse()",
    "quantity('1Mi').add(1).isGreaterThan(quantity('1M')) || semver('1.2.3').major() == 1",
    "cidr('10.0.0.0/8').containsIP(ip('10.1.1.1')) && url('https://a/b?c=d').getQuery()['c'][0] == 'd'",
    "optional.of(s).optMap(v, v.replace('a', 'b')).value()",
    "sets.contains(x, [1]) && format.dns1123Label().validate(s).hasValue()",
    "dyn(x)[0] in m || !(null == m.z) && -1 < 0x1F",
    "r'\\d' + '''a\nb''' + \"\\u00e4\" // why",
];

const TOKENS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ".",
    ".?",
    "[?",
    ",",
    ":",
    "?",
    "-",
    "!",
    "+",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    "<=",
    "in ",
    "&&",
    "||",
    "x",
    "m",
    "s",
    "has(",
    ".all(i, ",
    ".exists(i, ",
    ".map(i, ",
    ".filter(i, ",
    ".optMap(i, ",
    ".transformMap(k, v, ",
    "dyn(",
    "optional.of(",
    "lists.range(",
    "1",
    "-1",
    "1u",
    "1.5",
    "'a'",
    "b'a'",
    "true",
    "null",
    ".size()",
    "type(",
    "string(",
    "int(",
    "timestamp(",
    "duration(",
    ".matches(",
    ".replace('', ",
    ".split('')",
    ".join()",
    "'%s'.format(",
    ".flatten(",
];

fn expression(input: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(input);
    let (list, map) = (
        Value::from((0..5).map(Value::from).collect::<Vec<_>>()),
        Value::from(Object::from_iter([("a", Value::from("b")), ("n", Value::from(1.5))])),
    );
    let string = Value::from("some text");
    let environment = LazyCell::new(|| {
        Environment::new(
            Declarations::new()
                .variable("x", Type::list(Type::Int))
                .variable("m", Type::map(Type::String, Type::Dyn))
                .variable("s", Type::String),
        )
    });
    let program = match environment.compile(&text) {
        Ok(program) => program,
        Err(error) => {
            return refused(
                error.issues().first().map_or_else(|| error.to_string(), |issue| issue.message.clone()),
            );
        }
    };
    let activation = Activation::new().bind("x", &list).bind("m", &map).bind("s", &string);
    let done = program.evaluate(&activation, Budget::of(BUDGET));
    match done.value {
        Ok(value) => {
            let _ = value.to_value();
            way(skeleton(&value.type_of().to_string()))
        }
        Err(EvalError::Error(error)) => refused(error),
        Err(end) => {
            if end == EvalError::CostLimitExceeded {
                return way("too much");
            }
            refused(end)
        }
    }
}

fn pattern(input: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(input);
    match Regex::new(&text) {
        Ok(regex) => way((regex.is_match("some text 123"), regex.find_all("äöü abc", usize::MAX).len())),
        Err(error) => refused(error),
    }
}
