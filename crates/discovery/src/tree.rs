//! Objects of built-in types out of a few fields.

use pintle_meta::Value;
use pintle_schema::normal::Builder;
use pintle_schema::{Type, find};
use smol_str::SmolStr;

/// A type that documents are made of.
///
/// # Panics
/// If there is no such type: the names are written in this crate, and every test of a document uses them.
pub(crate) fn known(name: &str) -> &'static Type {
    find(name).unwrap_or_else(|| panic!("no type {name}"))
}

/// A struct of the type with these fields set, in normal form.
pub(crate) fn object<const N: usize>(of: &'static Type, fields: [(&str, Value); N]) -> Value {
    let Some(structure) = of.structure() else { return Value::NULL };
    let mut builder = Builder::default();
    let frame = builder.open(structure);
    for (name, value) in fields {
        if let Some(place) = structure.position(name) {
            builder.set(frame, place, value);
        } else {
            debug_assert!(false, "{} has no field {name}", of.name);
        }
    }
    builder.close(frame)
}

pub(crate) fn texts(texts: &[SmolStr]) -> Value {
    Value::list(texts.iter().cloned().map(Value::from).collect())
}
