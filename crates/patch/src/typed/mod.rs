//! Objects seen through their schema, as field management sees them: what is owned as a whole, and what by parts.
//!
//! [`TypeRef`] says of what type something in a tree is. The rest of this module only asks it for the [`Atom`], which is
//! what the reference's schemas are made of; so another kind of schema (that of a custom resource) is one more variant.

mod atom;
mod compare;
mod field_set;
mod items;
mod reconcile;
#[cfg(test)]
mod tests;
mod validate;

pub use self::atom::{Atom, List, Map, Relation, TypeRef};
pub use self::compare::{Comparison, compare};
pub use self::field_set::to_field_set;
pub use self::reconcile::reconcile;
pub use self::validate::validate;

/// Why a tree does not fit its schema: where, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", if path.is_empty() { String::new() } else { format!("{path}: ") })]
pub struct Invalid {
    /// Such as `.spec.containers[name="a"]`.
    pub path: String,
    pub message: String,
}

impl Invalid {
    fn new(message: impl Into<String>) -> Invalid {
        Invalid { path: String::new(), message: message.into() }
    }

    /// The same, seen from one level above.
    fn below(mut self, element: &dyn std::fmt::Display) -> Invalid {
        self.path.insert_str(0, &element.to_string());
        self
    }
}
