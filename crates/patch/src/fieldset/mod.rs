//! Sets of fields.
//!
//! A [`Set`] is a tree of [`Element`]s. A place in it may be a member of the set, have members below it, or both, which is
//! what `.` says in JSON:
//!
//! ```text
//! {"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:replicas":{}}}
//! members: metadata.labels, metadata.labels.app, spec.replicas
//! ```
//!
//! At every level elements are sorted and appear once, and there is no place without a member at or below it, so that equal
//! sets look the same.

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
pub(crate) use self::order::{equal, is_seen, read};
pub use self::parse::Error;
pub use self::set::{Entry, Set};
