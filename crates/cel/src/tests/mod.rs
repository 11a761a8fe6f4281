//! Tables of expressions and results: `check(expression, expect)`, where the expectation is a value written as a
//! literal, or a message.

mod built;
mod costs;
mod functions;
mod language;
mod libraries;
mod messages;
mod properties;
mod trees;

use pintle_meta::{Object, Value};

use crate::{Activation, Budget, Declarations, Environment, Type, Val};

/// Evaluates an expression with variables of type `dyn`.
pub(crate) fn evaluated(expression: &str, variables: &[(&str, Value)]) -> String {
    let declarations =
        variables.iter().fold(Declarations::new(), |all, (name, _)| all.variable(*name, Type::Dyn));
    let program = match Environment::new(declarations).compile(expression) {
        Ok(program) => program,
        Err(error) => return format!("{error}"),
    };
    let activation = variables.iter().fold(Activation::new(), |all, (name, value)| all.bind(name, value));
    match program.evaluate(&activation, Budget::PER_CALL).value {
        Ok(value) => written(&value),
        Err(error) => format!("error: {error}"),
    }
}

#[track_caller]
pub(crate) fn check(expression: &str, expect: &str) {
    assert_eq!(evaluated(expression, &[]), expect, "{expression}");
}

#[track_caller]
pub(crate) fn check_all(cases: &[(&str, &str)]) {
    let different: Vec<String> = cases
        .iter()
        .filter_map(|(expression, expect)| {
            let actual = evaluated(expression, &[]);
            (actual != *expect).then(|| format!("{expression}\n  is       {actual}\n  expected {expect}"))
        })
        .collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Compiles an expression and returns the messages.
pub(crate) fn compiled(expression: &str, declarations: Declarations) -> String {
    match Environment::new(declarations).compile(expression) {
        Ok(program) => program.result_type().to_string(),
        Err(error) => error.to_string(),
    }
}

pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::from(Object::from_iter(fields))
}

/// Writes a value as a literal.
pub(crate) fn written(value: &Val<'_>) -> String {
    match value {
        Val::Uint(value) => format!("{value}u"),
        Val::Double(value) => format!("{value:?}"),
        Val::String(text) => format!("'{}'", &**text),
        Val::Bytes(bytes) => format!("b'{}'", bytes.escape_ascii()),
        Val::Timestamp(at) => format!("timestamp('{at}')"),
        Val::Duration(nanos) => format!("duration('{}')", pintle_meta::format_duration(*nanos)),
        Val::List(list) => {
            let items: Vec<String> = list
                .iter()
                .map(|item| item.map_or_else(|error| error.to_string(), |item| written(&item)))
                .collect();
            format!("[{}]", items.join(", "))
        }
        Val::Map(map) => {
            let entries: Vec<String> = map
                .keys()
                .iter()
                .map(|key| {
                    let value = map.find(key).ok().flatten().unwrap_or(Val::Null);
                    format!("{}: {}", written(key), written(&value))
                })
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        Val::Optional(None) => "optional.none()".to_owned(),
        Val::Optional(Some(value)) => format!("optional.of({})", written(value)),
        Val::Other(other) => format!("<{other}>"),
        other => other.to_string(),
    }
}
