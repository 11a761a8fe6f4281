//! Objects and the cells expected of them, as JSON.

use pintle_codec::json;
use pintle_meta::Value;
use pintle_meta::time::Time;

use super::Context;

/// The present of all tests.
pub(crate) const NOW: &str = "2026-01-11T00:00:00Z";

pub(crate) fn context() -> Context {
    Context { now: Time::parse(NOW).unwrap() }
}

/// An object of a type, in normal form and without defaults.
pub(crate) fn object(kind: &str, text: &str) -> Value {
    let of = pintle_schema::find(kind).unwrap_or_else(|| panic!("no type {kind}"));
    let decoded = json::decode(of, text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(decoded.strict, [""; 0], "{text}");
    decoded.value
}

pub(crate) fn cells(kind: &str, object: &Value) -> Vec<Value> {
    let mut cells = Vec::new();
    super::of(pintle_schema::find(kind).unwrap()).cells(object, &context(), &mut cells);
    cells
}

/// Whether the cells of an object are those.
#[track_caller]
pub(crate) fn check(kind: &str, text: &str, expected: &str) {
    let mut found = Vec::new();
    json::encode(&Value::list(cells(kind, &object(kind, text))), &mut found);
    assert_eq!(String::from_utf8(found).unwrap(), unescaped(expected), "{kind} {text}");
}

/// Go escapes these in JSON; expectations are easier to read without.
fn unescaped(text: &str) -> String {
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
