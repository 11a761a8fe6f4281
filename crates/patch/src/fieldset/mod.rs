//! Sets of fields.
//!
//! A [`Set`] is a tree of [`Element`]s. A node of it may be a member of the set, have members below it, or both,
//! which JSON marks with `.`:
//!
//! ```text
//! {"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:replicas":{}}}
//! members: metadata.labels, metadata.labels.app, spec.replicas
//! ```
//!
//! At every level elements are sorted and unique, and every node has a member at or below it, so that equal sets have
//! equal representations.

mod element;
mod filter;
mod order;
mod parse;
#[cfg(test)]
mod properties;
mod set;
#[cfg(test)]
mod tests;
mod write;

pub use self::element::Element;
pub use self::filter::{Filter, Matcher};
pub(crate) use self::order::{equal, is_in_json, read};
pub use self::parse::Error;
pub use self::set::{Entry, Set};
