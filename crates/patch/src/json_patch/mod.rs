//! JSON patches (RFC 6902), with the reference's extensions: negative indexes count from the end, replacing a missing
//! value adds it, and a missing `value` is null.
//!
//! Trees share copies, so a patch cannot use more memory than it could send; the size of its output is bounded by the
//! total size of copies, and its depth by [`MAX_DEPTH`].

mod apply;
#[cfg(test)]
mod tests;

use pintle_codec::{self as codec, MAX_DEPTH, json};
use pintle_meta::{Node, Object, Value};
use pintle_schema::{Scalar, Shape};

use crate::json_type;

/// The reference's limit of operations.
pub const MAX_OPERATIONS: usize = 10_000;

/// Limit of the bytes of JSON copied by all operations together.
pub const MAX_COPY: usize = 3 * 1024 * 1024;

/// Limit of the list items shifted by all operations together by insertions and removals: less than a second of work.
/// Ten thousand operations at the start of a list of as many items are half of it.
pub const MAX_MOVED: usize = 200_000_000;

/// Reason why a patch cannot be applied. Clients only see that it cannot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("Unexpected kind: {0}")]
    Kind(String),
    #[error("{0}")]
    Failed(String),
    /// A test operation found another value.
    #[error("testing value {0} failed: test failed")]
    Test(String),
    #[error(
        "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {MAX_COPY}"
    )]
    Copied { copied: usize },
    #[error("exceeded max depth")]
    Depth,
    #[error("too many items of lists would have to be moved")]
    Moved,
}

/// Operations of a patch.
#[derive(Clone, Debug)]
pub struct Patch {
    operations: Vec<Operation>,
}

/// An operation of a patch that is not decoded from JSON.
#[derive(Clone, Debug, Default)]
pub struct NewOperation {
    pub op: String,
    pub path: String,
    /// Empty if there is none.
    pub from: String,
    pub value: Value,
}

/// Missing fields and fields of a wrong type are `None`.
#[derive(Clone, Debug, Default)]
struct Operation {
    op: Option<String>,
    path: Option<String>,
    from: Option<String>,
    /// As written.
    value: Value,
}

/// Operation as the reference decodes it strictly. The value is any JSON; duplicates in it count too.
static STRICT_OPERATION: json::Record = json::Record {
    go_name: "handlers.jsonPatchOp",
    fields: &[
        ("op", Shape::Scalar(Scalar::String)),
        ("path", Shape::Scalar(Scalar::String)),
        ("from", Shape::Scalar(Scalar::String)),
        ("value", Shape::Scalar(Scalar::Any)),
    ],
};

/// Returns the strict errors of a patch; fails if it cannot be decoded.
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

    /// Makes a patch of operations that a program has made; their number is not limited.
    pub fn new(operations: impl IntoIterator<Item = NewOperation>) -> Patch {
        let operation = |NewOperation { op, path, from, value }: NewOperation| Operation {
            op: Some(op),
            path: Some(path),
            from: (!from.is_empty()).then_some(from),
            value,
        };
        Patch { operations: operations.into_iter().map(operation).collect() }
    }

    /// Returns the number of operations, to be checked against [`MAX_OPERATIONS`].
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Applies all operations to a document, an object with or without types.
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
