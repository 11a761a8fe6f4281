//! Go values in messages, as the reference prints them.
//!
//! The reference validates internal types, which have no JSON tags. A value that is wrong shows as their JSON, with Go's field
//! names and everything that is not set:
//!
//! ```text
//! spec.updateStrategy: Invalid value: {"Type":"Bar","RollingUpdate":null}: must be 'RollingUpdate' or 'OnDelete'
//! ```
//!
//! Pintle's objects are of the storage version. The functions here take a Go type and such an object, and print what the
//! reference would have had in its place. Types are named as Go names them: `core.SecurityContext`, `[]core.Toleration`,
//! `*int64`, `map[string]string`; those that are versioned everywhere as the type graph does: `meta/v1.LabelSelector`.
//!
//! One difference remains: an empty list or map of a field with `omitempty` is not in the tree, so it shows as `null` also
//! where a client sent `[]`.

mod diff;
mod facts;
mod json;
mod tree;
mod verbs;

use pintle_meta::{Value, field_path};

use crate::graph::{Scalar, Type};

pub use verbs::{display, sharp, source, type_name};

/// The internal struct that objects of a type of the storage version become: `core.SecurityContext` for
/// `core/v1.SecurityContext`. Types that are versioned everywhere have none.
pub fn internal(of: &Type) -> Option<&'static str> {
    facts::kept_as(of)
}

/// The JSON of an internal value.
pub fn json(of: &str, value: &Value) -> String {
    let mut out = String::new();
    match facts::shape(of) {
        Some(shape) => json::write(&tree::build(&shape, Some(value), None), &mut out),
        None => {
            debug_assert!(false, "there is no type {of}");
            json::write_tree(value, &mut out);
        }
    }
    out
}

/// A wrong value as a field error shows it: plain numbers, bools and strings as `%v` and `%q`, all else (also strings of
/// a named type, and pointers) as JSON.
pub fn shown(of: &str, value: &Value) -> field_path::Value {
    match (facts::shape(of), value.as_str()) {
        (Some(facts::Shape::Scalar(Scalar::String)), Some(text)) => text.into(),
        (Some(facts::Shape::Scalar(Scalar::Float64)), _) => value.as_f64().unwrap_or_default().into(),
        _ => field_path::Value::Shown(json(of, value)),
    }
}

/// What changed between two internal values: a unified diff of their indented JSON, empty if nothing did.
pub fn diff(of: &str, old: &Value, new: &Value) -> String {
    diff::unified(&json::indented(&json(of, old)), &json::indented(&json(of, new)))
}

#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod tests;
