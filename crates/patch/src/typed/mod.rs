//! Objects by their schema, as field management sees them: values owned as a whole, and values owned by part.
//!
//! [`TypeRef`] is the type of a value in a tree. The rest of this module uses only its [`Atom`], which the
//! reference's schemas consist of, independent of the schema's origin: the type graph, or the definition of a custom
//! resource.

mod atom;
mod compare;
mod custom;
#[cfg(test)]
mod custom_tests;
mod field_set;
mod items;
mod keys;
mod merge;
#[cfg(test)]
mod merge_tests;
mod named;
mod reconcile;
mod remove;
#[cfg(test)]
mod tests;
mod validate;

pub use self::atom::{Atom, Fields, Leaf, List, Map, Relation, TypeRef};
pub use self::compare::{Comparison, compare};
pub use self::custom::Custom;
pub use self::field_set::to_field_set;
pub use self::keys::Keys;
pub use self::merge::merge;
pub use self::named::with_named;
pub use self::reconcile::reconcile;
pub use self::remove::remove;
pub use self::validate::validate;

/// Mismatch between a tree and its schema, with its path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", if path.is_empty() { String::new() } else { format!("{path}: ") })]
pub struct Invalid {
    /// Such as `.spec.containers[name="a"]`.
    pub path: String,
    pub message: String,
}

/// Formats all mismatches for a message.
pub fn describe(found: &[Invalid]) -> String {
    match found {
        [only] => only.to_string(),
        _ => {
            let mut text = String::from("errors:");
            for invalid in found {
                text.push_str("\n  ");
                text.push_str(&invalid.to_string());
            }
            text
        }
    }
}

impl Invalid {
    fn new(message: impl Into<String>) -> Invalid {
        Invalid { path: String::new(), message: message.into() }
    }

    /// Prepends an element to the path.
    fn below(mut self, element: &dyn std::fmt::Display) -> Invalid {
        self.path.insert_str(0, &element.to_string());
        self
    }
}
