//! Schemas and objects in JSON, and what is said about them.

mod checks;
mod definitions;

use pintle_meta::Value;
use pintle_schema::structural::Structural;

use super::Rules;

pub(super) fn json(text: &str) -> Value {
    let wrapped = format!(r#"{{"x":{text}}}"#);
    let decoded = pintle_codec::json::decode_untyped(wrapped.as_bytes());
    let decoded = decoded.unwrap_or_else(|error| panic!("{error}: {text}"));
    decoded.value.get("x").unwrap().clone()
}

pub(super) fn schema(text: &str) -> Structural {
    crate::compile(&json(text)).unwrap()
}

/// Everything that is said about an object, warnings with a `W`.
pub(super) fn said(schema: &Structural, new: &str, old: Option<&str>) -> Vec<String> {
    let rules = Rules::compile(schema);
    let (new, old) = (json(new), old.map(json));
    let checked = rules.check(schema, &new, old.as_ref());
    let errors = checked.errors.iter().map(ToString::to_string);
    errors.chain(checked.warnings.iter().map(|text| format!("W {text}"))).collect()
}

/// A resource whose `spec` has one more thing to say.
pub(super) fn of_spec(spec: &str) -> Structural {
    schema(&format!(r#"{{"type":"object","properties":{{"spec":{spec}}}}}"#))
}
