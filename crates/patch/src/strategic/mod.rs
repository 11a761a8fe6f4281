//! Strategic merge patches: merge patches directed by the types, so that lists can be merged by key.
//!
//! ```text
//! document  containers: [{name: a, image: x}, {name: b}]      merge key of containers: name
//! patch     containers: [{name: c}, {name: a, image: y}, {name: b, $patch: delete}]
//! result    containers: [{name: c}, {name: a, image: y}]
//! ```
//!
//! A patch may contain directives:
//!
//! - `$patch: replace | delete` in an object, or in an item of a list that is merged;
//! - `$retainKeys: [..]`: fields that an object keeps;
//! - `$setElementOrder/FIELD: [..]`: the order of a merged list;
//! - `$deleteFromPrimitiveList/FIELD: [..]`: values to delete from a list of primitives.
//!
//! The document is a typed object in normal form: only ancestors of changes are copied. The result is for
//! [`pintle_codec::unstructured::to_typed_since`]: it may have unknown fields and values of wrong types.
//!
//! Where the reference visits a patch in random map order, this visits names in order.

mod go_types;
mod list;
mod lookup;
mod map;
mod order;
#[cfg(test)]
pub(crate) mod properties;
mod scalar;
#[cfg(test)]
mod tests;

use pintle_codec::{self as codec, Decoded, json};
use pintle_meta::{Node, Value};
use pintle_schema::{Shape, Type};

use crate::json_type;

/// Reason why a patch cannot be applied, in the reference's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("invalid patch format of primitive list")]
    PrimitiveList,
    #[error("invalid patch format of retainKeys")]
    RetainKeys,
    #[error("invalid patch format of setElementOrder list")]
    SetElementOrder,
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// The reference has no such limit; its maps grow in place.
    #[error("the patch takes too much work")]
    TooMuch,
    /// Any other error, which the reference reports as an internal one.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// Returns whether the reference reports a malformed patch.
    pub fn is_malformed(&self) -> bool {
        matches!(self, Error::PrimitiveList | Error::RetainKeys | Error::SetElementOrder)
    }
}

/// Decodes a patch. Strict errors are duplicate fields only.
pub fn decode(patch: &[u8]) -> Result<Decoded, codec::Error> {
    let decoded = json::decode_any(patch)?;
    match decoded.value.node() {
        Node::Object(_) | Node::Null => Ok(decoded),
        other => Err(codec::Error::new(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            json_type(other)
        ))),
    }
}

/// Applies a patch to a document, an object of a type. The patch loses consumed parts, as messages show.
pub fn apply(of: &'static Type, document: Value, patch: &mut Value) -> Result<Value, Error> {
    match patch.as_object() {
        Some(_) => map::merge(document, patch, Shape::Named(of), &mut Work(MAX_WORK)),
        None => Ok(document),
    }
}

/// Limit of moved fields and items. A storable object has a fraction of that; but a patch can start over with the
/// same long list or object for each of thousands of items.
const MAX_WORK: usize = 2_000_000;

/// Remaining work.
struct Work(usize);

impl Work {
    fn spend(&mut self, work: usize) -> Result<(), Error> {
        pintle_work::check();
        self.0 = self.0.checked_sub(work).ok_or(Error::TooMuch)?;
        Ok(())
    }
}
