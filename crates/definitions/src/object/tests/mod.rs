//! Schemas, objects, and what becomes of them.

mod changes;
mod properties;
mod validation;

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
