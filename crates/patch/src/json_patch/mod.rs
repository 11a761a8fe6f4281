//! JSON patches (RFC 6902), with the reference's liberties: negative indices count from the end, a replacement of what is
//! not there adds it, and a value that is not given is null.
//!
//! Trees share what they copy, so a patch cannot make us hold more than it could send; what it could make us write is
//! bounded by the size of all copies, and how deep it can build by [`MAX_DEPTH`].

mod apply;
#[cfg(test)]
mod tests;

use pintle_codec::{self as codec, MAX_DEPTH, json};
use pintle_meta::{Node, Object, Value};
use pintle_schema::{Scalar, Shape};

use crate::json_type;

/// How many operations the reference takes.
pub const MAX_OPERATIONS: usize = 10_000;

/// How much may be copied, in bytes of JSON, by all operations together.
pub const MAX_COPY: usize = 3 * 1024 * 1024;

/// How many items of lists may be moved by all operations together, to make room before or close a gap: so much is done in
/// less than a second. Ten thousand operations at the beginning of a list of as many items are half of it.
pub const MAX_MOVED: usize = 200_000_000;

/// Why a patch cannot be applied. Clients only see that it cannot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("Unexpected kind: {0}")]
    Kind(String),
    #[error("{0}")]
    Failed(String),
    #[error(
        "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {MAX_COPY}"
    )]
    Copied { copied: usize },
    #[error("exceeded max depth")]
    Depth,
    #[error("too many items of lists would have to be moved")]
    Moved,
}

/// The operations of a patch.
#[derive(Clone, Debug)]
pub struct Patch {
    operations: Vec<Operation>,
}

/// What is missing or no text is `None`.
#[derive(Clone, Debug, Default)]
struct Operation {
    op: Option<String>,
    path: Option<String>,
    from: Option<String>,
    /// As it was written.
    value: Value,
}

/// An operation as the reference reads it when it looks for fields that it should not have. The value is anything; what is
/// repeated in it counts too.
static STRICT_OPERATION: json::Record = json::Record {
    go_name: "handlers.jsonPatchOp",
    fields: &[
        ("op", Shape::Scalar(Scalar::String)),
        ("path", Shape::Scalar(Scalar::String)),
        ("from", Shape::Scalar(Scalar::String)),
        ("value", Shape::Scalar(Scalar::Any)),
    ],
};

/// What a strict reader minds about a patch; an error where it is none.
pub fn strict(patch: &[u8]) -> Result<Vec<String>, codec::Error> {
    let found = json::strict_records(&STRICT_OPERATION, patch)?;
    Ok(found.into_iter().map(|message| format!("json patch {message}")).collect())
}

impl Patch {
    pub fn decode(patch: &[u8]) -> Result<Patch, codec::Error> {
        let opened = json::open(patch)?;
        let items = list(&opened, "jsonpatch.Patch")?;
        Ok(Patch { operations: items.iter().map(Operation::read).collect::<Result<_, _>>()? })
    }

    /// How many operations there are, to be checked against [`MAX_OPERATIONS`].
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The document, which is an object with or without types, after all operations.
    pub fn apply(&self, document: Value) -> Result<Value, Error> {
        apply::Application::new(document).run(&self.operations)
    }
}

impl Operation {
    fn read(item: &Value) -> Result<Operation, codec::Error> {
        let opened = item.as_raw().map_or(Ok(Value::NULL), json::open)?;
        let Some(fields) = object(&opened, "jsonpatch.Operation")? else { return Ok(Operation::default()) };
        let text = |name: &str| {
            let text = json::decode_any(fields.get(name)?.as_raw()?).ok()?.value;
            text.as_str().map(str::to_owned)
        };
        Ok(Operation {
            op: text("op"),
            path: text("path"),
            from: text("from"),
            value: fields.get("value").cloned().unwrap_or_default(),
        })
    }
}

fn list<'a>(value: &'a Value, wanted: &str) -> Result<&'a [Value], codec::Error> {
    match value.node() {
        Node::List(items) => Ok(items),
        Node::Null => Ok(&[]),
        other => Err(mismatch(other, wanted)),
    }
}

fn object<'a>(value: &'a Value, wanted: &str) -> Result<Option<&'a Object>, codec::Error> {
    match value.node() {
        Node::Object(object) => Ok(Some(object)),
        Node::Null => Ok(None),
        other => Err(mismatch(other, wanted)),
    }
}

fn mismatch(found: Node<'_>, wanted: &str) -> codec::Error {
    codec::Error::new(format!("json: cannot unmarshal {} into Go value of type {wanted}", json_type(found)))
}
