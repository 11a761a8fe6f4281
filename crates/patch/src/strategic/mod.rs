//! Strategic merge patches: merge patches that know the types of what they change, so that lists can be merged by key.
//!
//! ```text
//! document  containers: [{name: a, image: x}, {name: b}]      merge key of containers: name
//! patch     containers: [{name: c}, {name: a, image: y}, {name: b, $patch: delete}]
//! result    containers: [{name: c}, {name: a, image: y}]
//! ```
//!
//! A patch may hold directives besides fields:
//!
//! - `$patch: replace | delete` in an object, or in an item of a list that is merged;
//! - `$retainKeys: [..]`: an object keeps no other fields;
//! - `$setElementOrder/FIELD: [..]`: how a merged list is to be ordered;
//! - `$deleteFromPrimitiveList/FIELD: [..]`: what goes from a list of plain values.
//!
//! The document is an object of its type as it is, in normal form: nothing is copied but the way to what changes. What
//! comes out is for [`pintle_codec::unstructured::to_typed_since`]: it may have unknown fields and values of the wrong type.
//!
//! Where the reference's maps make it go through a patch in any order, this goes in the order of the names.

mod list;
mod lookup;
mod map;
mod order;
#[cfg(test)]
pub(crate) mod properties;
mod scalar;
#[cfg(test)]
mod tests;
mod words;

use pintle_codec::{self as codec, Decoded, json};
use pintle_meta::{Node, Value};
use pintle_schema::{Shape, Type};

use crate::json_type;

/// Why a patch cannot be applied, in the reference's words.
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
    /// Something else, which the reference takes for its own fault.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// Whether the reference says that the patch is malformed.
    pub fn is_malformed(&self) -> bool {
        matches!(self, Error::PrimitiveList | Error::RetainKeys | Error::SetElementOrder)
    }
}

/// Reads a patch. What only a strict reader minds are duplicate fields.
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

/// The document, which is an object of a type, after a patch. The patch loses what was used up, as messages show it.
pub fn apply(of: &'static Type, document: Value, patch: &mut Value) -> Result<Value, Error> {
    match patch.as_object() {
        Some(_) => map::merge(document, patch, Shape::Named(of), &mut Work(MAX_WORK)),
        None => Ok(document),
    }
}

/// How many fields and items may be moved around. An object that fits into a store has a fraction of that; but a patch can make
/// us begin with the same long list or object again for each of thousands of items.
const MAX_WORK: usize = 2_000_000;

/// What may still be done.
struct Work(usize);

impl Work {
    fn spend(&mut self, work: usize) -> Result<(), Error> {
        pintle_work::check();
        self.0 = self.0.checked_sub(work).ok_or(Error::TooMuch)?;
        Ok(())
    }
}
