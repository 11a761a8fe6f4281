//! Schemas, objects, and what becomes of them.

mod changes;
mod limits;
mod properties;
mod ratcheting;
mod resource;
mod validation;

use std::fmt::Write;

use pintle_codec::json;
use pintle_meta::Value;
use pintle_schema::structural::Structural;

fn tree(text: &str) -> Value {
    json::decode_any(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}")).value
}

fn text(value: &Value) -> String {
    let mut text = Vec::new();
    json::encode(value, &mut text);
    String::from_utf8(text).unwrap()
}

fn schema(text: &str) -> Structural {
    crate::compile(&tree(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Errors, one on a line.
fn lines(errors: &[pintle_meta::field_path::Error]) -> String {
    errors.iter().fold(String::new(), |mut text, error| {
        _ = writeln!(text, "{error}");
        text
    })
}
