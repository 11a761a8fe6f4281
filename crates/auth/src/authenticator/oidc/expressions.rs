//! CEL over claims and over the user that they make.

use pintle_cel::{Declarations, Field, ObjectType, Type, Val};
use pintle_meta::value::Node;
use pintle_meta::{Object, Value};

use crate::User;
use crate::expression::Expression;

/// Of one claim or several; of which type cannot be told before there is a token.
pub(crate) fn mapping(text: &str) -> Result<Expression, String> {
    compile(claims(), text)
}

/// Whether a token is accepted.
pub(crate) fn claims_condition(text: &str) -> Result<Expression, String> {
    condition(compile(claims(), text)?)
}

/// Whether a user is.
pub(crate) fn user_condition(text: &str) -> Result<Expression, String> {
    condition(compile(Declarations::new().variable("user", Type::object(UserInfo)), text)?)
}

fn claims() -> Declarations {
    Declarations::new().variable("claims", Type::map(Type::String, Type::Dyn))
}

fn compile(declarations: Declarations, text: &str) -> Result<Expression, String> {
    Expression::compile(declarations.unescape_keys(), text)
}

fn condition(expression: Expression) -> Result<Expression, String> {
    match expression.result_type() {
        Type::Bool => Ok(expression),
        _ => Err("must evaluate to bool".into()),
    }
}

/// The type of `user`.
#[derive(Debug)]
struct UserInfo;

impl ObjectType for UserInfo {
    fn name(&self) -> &str {
        "kubernetes.UserInfo"
    }

    fn field(&self, name: &str) -> Option<Field> {
        let texts = || Type::list(Type::String);
        let of = match name {
            "username" | "uid" => Type::String,
            "groups" => texts(),
            "extra" => Type::map(Type::String, texts()),
            _ => return None,
        };
        Some(Field { property: name.into(), of })
    }
}

/// Returns the variable `user`.
pub(crate) fn user_value(user: &User) -> Value {
    let texts = |all: &[String]| Value::list(all.iter().map(Value::string).collect());
    let extra: Object = user.extra.iter().map(|(key, values)| (key.as_str(), texts(values))).collect();
    Value::object(Object::from_iter([
        ("username", Value::string(&user.name)),
        ("uid", Value::string(&user.uid)),
        ("groups", texts(&user.groups)),
        ("extra", Value::object(extra)),
    ]))
}

/// Claims as Go reads JSON without a type: all numbers are floating.
pub(crate) fn claims_value(value: &Value) -> Value {
    match value.node() {
        Node::Int(number) => Value::from(number as f64),
        Node::List(items) => Value::list(items.iter().map(claims_value).collect()),
        Node::Object(object) => {
            Value::object(object.iter().map(|(key, value)| (key, claims_value(value))).collect())
        }
        _ => value.clone(),
    }
}

/// A text or a list of texts, or null; what is empty is not there.
pub(crate) fn texts(value: &Val<'_>) -> Result<Vec<String>, String> {
    let all = match value.as_str() {
        Some(one) => vec![one.to_owned()],
        None if matches!(value, Val::Null) => Vec::new(),
        None => value.as_strings().ok_or("expression must return a string or a list of strings")?,
    };
    Ok(all.into_iter().filter(|text| !text.is_empty()).collect())
}
