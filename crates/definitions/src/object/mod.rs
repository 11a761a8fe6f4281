//! Custom resources under their schema: pruning, defaulting, validation.
//!
//! Objects are trees as `Unstructured` has them. Everything that changes one finds out first whether there is something to
//! change, and builds anew only what lies on the way to it: what is right already, which is nearly always, stays the same
//! in memory.
//!
//! ```text
//! request: coerce (metadata, prune, nulls) -> default -> ... -> validate, embedded, lists, rules
//! store:   coerce (drops what is wrong with metadata) -> default
//! ```

mod bounded_errors;
mod change;
mod coerce;
mod default;
pub mod embedded;
pub mod lists;
mod metadata;
mod prune;
mod resource;
mod validator;

pub(crate) use coerce::error_value;
pub use coerce::{Coercion, coerce, coerce_embedded, coerce_metadata};
pub use default::{default, drop_nulls, prune_defaults};
pub use prune::prune;
pub use resource::{Scale, finalizer_warnings, validate_kind};
pub use validator::{Ratcheted, Validator, is_email, is_known_format};

#[cfg(test)]
mod tests;
