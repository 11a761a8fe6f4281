//! Go values in messages, as the reference prints them.
//!
//! The reference validates internal types, which have no JSON tags. An invalid value is printed as their JSON, with
//! Go's field names and all unset fields:
//!
//! ```text
//! spec.updateStrategy: Invalid value: {"Type":"Bar","RollingUpdate":null}: must be 'RollingUpdate' or 'OnDelete'
//! ```
//!
//! Pintle's objects are of the storage version. The functions here take a Go type and such an object, and print the
//! reference's internal value. Types are named as in Go: `core.SecurityContext`, `[]core.Toleration`, `*int64`,
//! `map[string]string`; types without an internal counterpart as in the type graph: `meta/v1.LabelSelector`.
//!
//! An empty list or map of a field with `omitempty` is not in the tree and is printed as `null`, unless the caller puts
//! [`Value::hollow`] in its place.

mod diff;
mod facts;
mod json;
mod tree;
mod verbs;

use pintle_meta::{Value, field_path};

use crate::graph::{Scalar, Type};

pub use verbs::{display, sharp, source, type_name};

/// Returns the internal struct of a type of the storage version: `core.SecurityContext` for
/// `core/v1.SecurityContext`. Types used unconverted by internal types have none.
pub fn internal(of: &Type) -> Option<&'static str> {
    facts::internal_of(of)
}

/// Returns the JSON of an internal value.
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

/// Returns an invalid value for a field error: plain numbers, bools and strings as `%v` and `%q`, all else (also
/// strings of a named type, and pointers) as JSON.
pub fn printed(of: &str, value: &Value) -> field_path::Value {
    match (facts::shape(of), value.as_str()) {
        (Some(facts::Shape::Scalar(Scalar::String)), Some(text)) => text.into(),
        (Some(facts::Shape::Scalar(Scalar::Float64)), _) => value.as_f64().unwrap_or_default().into(),
        _ => field_path::Value::Printed(json(of, value)),
    }
}

/// Returns a unified diff of the indented JSON of two internal values; empty if they are equal.
pub fn diff(of: &str, old: &Value, new: &Value) -> String {
    diff::unified(&json::indented(&json(of, old)), &json::indented(&json(of, new)))
}

#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod tests;
