//! Short ways to write documents down.

use pintle_meta::Value;
use pintle_meta::value::{Key, Object};

/// An object of these entries; what is null is left out.
pub(crate) fn object<const N: usize>(entries: [(&'static str, Value); N]) -> Value {
    let entries = entries.into_iter().filter(|(_, value)| !value.is_null());
    Value::object(entries.map(|(key, value)| (Key::new_static(key), value)).collect())
}

pub(crate) fn empty() -> Value {
    Value::object(Object::new())
}

pub(crate) fn map(entries: Vec<(String, Value)>) -> Value {
    Value::object(entries.into_iter().map(|(key, value)| (Key::from(key), value)).collect())
}

pub(crate) fn set(object: &mut Value, key: &'static str, value: impl Into<Value>) {
    if let Some(object) = object.as_object_mut() {
        object.insert(Key::new_static(key), value);
    }
}

pub(crate) fn texts(texts: &[&'static str]) -> Value {
    Value::list(texts.iter().map(|text| Value::literal(text)).collect())
}

pub(crate) fn optional(text: Option<&str>) -> Value {
    text.map_or(Value::NULL, Value::from)
}

/// With a capital first letter.
pub(crate) fn title(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
