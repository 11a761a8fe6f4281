//! Applies the operations of a JSON patch in order.

use std::borrow::Cow;
use std::num::IntErrorKind;

use pintle_codec::json;
use pintle_meta::value::Key;
use pintle_meta::{Node, Value, quote};

use super::{Error, MAX_COPY, MAX_DEPTH, MAX_MOVED, Operation};
use crate::lazy::{Opener, ValueType, depth};

/// Number of times the depth of a document is measured before the patch is rejected.
const LOOKS: usize = 16;

pub(super) struct Application {
    document: Value,
    /// Upper bound of the document's depth.
    depth: usize,
    looks: usize,
    copied: usize,
    /// Number of list items shifted so far.
    moved: usize,
    opener: Opener,
}

/// Parsed JSON pointer: the container and the key in it.
struct Pointer {
    parents: Vec<Key>,
    key: Key,
}

fn pointer(path: &str) -> Option<Pointer> {
    let decode = |part: &str| -> Key { if part.contains('~') { decoded(part).into() } else { part.into() } };
    let (_, rest) = path.split_once('/')?;
    let mut parts: Vec<Key> = rest.split('/').map(decode).collect();
    let key = parts.pop()?;
    Some(Pointer { parents: parts, key })
}

/// Decodes `~1` to a slash and `~0` to a tilde, in one pass.
fn decoded(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    while let Some(at) = rest.find('~') {
        out.push_str(&rest[..at]);
        let (c, length) = match rest.as_bytes().get(at + 1) {
            Some(b'1') => ('/', 2),
            Some(b'0') => ('~', 2),
            _ => ('~', 1),
        };
        out.push(c);
        rest = &rest[at + length..];
    }
    out + rest
}

impl Application {
    pub(super) fn new(mut document: Value) -> Application {
        let mut opener = Opener::new();
        opener.open(&mut document);
        let depth = depth(&document);
        Application { document, depth, looks: 0, copied: 0, moved: 0, opener }
    }

    pub(super) fn run(mut self, operations: &[Operation]) -> Result<Value, Error> {
        for operation in operations {
            pintle_work::check();
            match operation.op.as_deref().unwrap_or("unknown") {
                "add" => self.add(operation)?,
                "remove" => self.remove(operation)?,
                "replace" => self.replace(operation)?,
                "move" => self.relocate(operation)?,
                "test" => self.test(operation)?,
                "copy" => self.copy(operation)?,
                other => return Err(Error::Kind(other.into())),
            }
        }
        Ok(self.document)
    }

    fn add(&mut self, operation: &Operation) -> Result<(), Error> {
        let path = operation
            .path
            .as_deref()
            .ok_or_else(|| failed("add operation failed to decode path: missing value"))?;
        let value = operation.value.clone();
        let deep = depth(&value);
        let missing = || {
            failed(format!("add operation does not apply: doc is missing path: \"{path}\": missing value"))
        };
        let to = pointer(path).ok_or_else(missing)?;
        self.check_depth(&to, deep)?;
        let container = find(&mut self.document, &mut self.opener, &to.parents).ok_or_else(missing)?;
        charge(&mut self.moved, container, &to.key)?;
        insert(container, &to.key, value)
            .map_err(|error| failed(format!("error in add for path: '{path}': {error}")))
    }

    fn remove(&mut self, operation: &Operation) -> Result<(), Error> {
        let path = operation
            .path
            .as_deref()
            .ok_or_else(|| failed("remove operation failed to decode path: missing value"))?;
        let missing = || {
            failed(format!("remove operation does not apply: doc is missing path: \"{path}\": missing value"))
        };
        let from = pointer(path).ok_or_else(missing)?;
        let container = find(&mut self.document, &mut self.opener, &from.parents).ok_or_else(missing)?;
        charge(&mut self.moved, container, &from.key)?;
        take(container, &from.key)
            .map_err(|error| failed(format!("error in remove for path: '{path}': {error}")))?;
        Ok(())
    }

    fn replace(&mut self, operation: &Operation) -> Result<(), Error> {
        let path = operation.path.as_deref().ok_or_else(|| {
            failed("replace operation failed to decode path: operation missing path field: missing value")
        })?;
        let mut value = operation.value.clone();
        let deep = depth(&value);
        if path.is_empty() {
            if !matches!(self.opener.open(&mut value), ValueType::Object | ValueType::List) {
                return Err(failed("replace operation value must be object or array: %!w(<nil>)"));
            }
            (self.document, self.depth) = (value, deep);
            return Ok(());
        }
        let missing = |what: &str| {
            failed(format!("replace operation does not apply: doc is missing {what}: {path}: missing value"))
        };
        let to = pointer(path).ok_or_else(|| missing("path"))?;
        self.check_depth(&to, deep)?;
        let container =
            find(&mut self.document, &mut self.opener, &to.parents).ok_or_else(|| missing("path"))?;
        get(container, &to.key).map_err(|_| missing("key"))?;
        match container.as_list_mut() {
            Some(items) => {
                let at = index(&to.key, items.len(), items.len()).map_err(|_| missing("key"))?;
                items[at] = value;
            }
            None => insert(container, &to.key, value).map_err(|_| missing("key"))?,
        }
        Ok(())
    }

    fn relocate(&mut self, operation: &Operation) -> Result<(), Error> {
        let from = operation.from.as_deref().ok_or_else(|| {
            failed("move operation failed to decode from: operation, missing from field: missing value")
        })?;
        let missing = || {
            failed(format!("move operation does not apply: doc is missing from path: {from}: missing value"))
        };
        let source = pointer(from).ok_or_else(missing)?;
        let container = find(&mut self.document, &mut self.opener, &source.parents).ok_or_else(missing)?;
        charge(&mut self.moved, container, &source.key)?;
        let moved = take(container, &source.key)
            .map_err(|error| failed(format!("error in move for path: '{}': {error}", source.key)))?;
        let path = operation.path.as_deref().ok_or_else(|| {
            failed("move operation failed to decode path: operation missing path field: missing value")
        })?;
        let missing = || {
            failed(format!(
                "move operation does not apply: doc is missing destination path: {path}: missing value"
            ))
        };
        let to = pointer(path).ok_or_else(missing)?;
        self.check_moved(&source, &to, &moved)?;
        let container = find(&mut self.document, &mut self.opener, &to.parents).ok_or_else(missing)?;
        charge(&mut self.moved, container, &to.key)?;
        insert(container, &to.key, moved)
            .map_err(|error| failed(format!("error in move for path: '{path}': {error}")))
    }

    fn test(&mut self, operation: &Operation) -> Result<(), Error> {
        let path = operation.path.as_deref().ok_or_else(|| {
            failed("test operation failed to decode path: operation missing path field: missing value")
        })?;
        let opener = &mut self.opener;
        let mut wanted = operation.value.clone();
        let is_same = if path.is_empty() {
            is_same(opener, &mut self.document, &mut wanted)
        } else {
            let missing =
                || failed(format!("test operation does not apply: is missing path: {path}: missing value"));
            let at = pointer(path).ok_or_else(missing)?;
            let container = find(&mut self.document, opener, &at.parents).ok_or_else(missing)?;
            let mut found = get(container, &at.key)
                .map_err(|error| failed(format!("error in test for path: '{path}': {error}")))?;
            let is_same = is_same(opener, &mut found, &mut wanted);
            // The compared value stays open.
            replace_at(container, &at.key, found);
            is_same
        };
        if is_same { Ok(()) } else { Err(Error::Test(path.to_owned())) }
    }

    fn copy(&mut self, operation: &Operation) -> Result<(), Error> {
        let from = operation.from.as_deref().ok_or_else(|| {
            failed("copy operation failed to decode from: operation, missing from field: missing value")
        })?;
        let missing = || {
            failed(format!("copy operation does not apply: doc is missing from path: {from}: missing value"))
        };
        let source = pointer(from).ok_or_else(missing)?;
        let container = find(&mut self.document, &mut self.opener, &source.parents).ok_or_else(missing)?;
        let copied = get(container, &source.key)
            .map_err(|error| failed(format!("error in copy for from: '{from}': {error}")))?;
        let path = operation
            .path
            .as_deref()
            .ok_or_else(|| failed("copy operation failed to decode path: missing value"))?;
        let missing = || {
            failed(format!(
                "copy operation does not apply: doc is missing destination path: {path}: missing value"
            ))
        };
        let to = pointer(path).ok_or_else(missing)?;
        find(&mut self.document, &mut self.opener, &to.parents).ok_or_else(missing)?;
        // A missing value has no size.
        if container_has(&copied) {
            let mut written = Vec::new();
            json::encode(&copied, &mut written);
            self.copied += written.len();
        }
        if self.copied > MAX_COPY {
            return Err(Error::Copied { copied: self.copied });
        }
        self.check_moved(&source, &to, &copied)?;
        let container = find(&mut self.document, &mut self.opener, &to.parents).ok_or_else(missing)?;
        charge(&mut self.moved, container, &to.key)?;
        insert(container, &to.key, copied)
            .map_err(|error| failed(format!("error while adding value during copy: {error}")))
    }

    /// Checks the depth of adding a value of this depth at a pointer.
    fn check_depth(&mut self, to: &Pointer, deep: usize) -> Result<(), Error> {
        let depth = to.parents.len() + 1 + deep;
        if depth > MAX_DEPTH {
            return Err(Error::Depth);
        }
        self.depth = self.depth.max(depth);
        Ok(())
    }

    /// Like [`Application::check_depth`] for a value of the document. An upper bound of its depth is known; only if
    /// that exceeds the limit is it measured, and not too often, since the document may be large.
    fn check_moved(&mut self, from: &Pointer, to: &Pointer, moved: &Value) -> Result<(), Error> {
        let deep = self.depth.saturating_sub(from.parents.len() + 1);
        if self.check_depth(to, deep).is_ok() {
            return Ok(());
        }
        self.looks += 1;
        if self.looks > LOOKS { Err(Error::Depth) } else { self.check_depth(to, depth(moved)) }
    }
}

fn failed(message: impl Into<String>) -> Error {
    Error::Failed(message.into())
}

fn container_has(value: &Value) -> bool {
    !value.is_null()
}

/// Returns the list or object at a pointer. All its ancestors are opened.
fn find<'a>(document: &'a mut Value, opener: &mut Opener, parents: &[Key]) -> Option<&'a mut Value> {
    let mut found = document;
    for key in parents {
        found = match found.as_list() {
            Some(items) => {
                let at = index(key, items.len(), items.len()).ok()?;
                &mut found.as_list_mut()?[at]
            }
            None => found.get_mut(key)?,
        };
        if !matches!(opener.open(found), ValueType::List | ValueType::Object) {
            return None;
        }
    }
    Some(found)
}

/// Returns whether both values are equal: the same fields in any order, and scalars as written.
fn is_same(opener: &mut Opener, found: &mut Value, wanted: &mut Value) -> bool {
    match (opener.open(found), opener.open(wanted)) {
        (ValueType::Null, ValueType::Null) => true,
        (ValueType::Scalar, ValueType::Scalar) => written(found) == written(wanted),
        (ValueType::List, ValueType::List) => {
            let (Some(found), Some(wanted)) = (found.as_list_mut(), wanted.as_list_mut()) else {
                return false;
            };
            found.len() == wanted.len()
                && found.iter_mut().zip(wanted).all(|(found, wanted)| is_same(opener, found, wanted))
        }
        (ValueType::Object, ValueType::Object) => {
            let (Some(found), Some(wanted)) = (found.as_object_mut(), wanted.as_object_mut()) else {
                return false;
            };
            // Both are sorted.
            found.len() == wanted.len()
                && found
                    .iter_mut()
                    .zip(wanted.iter_mut())
                    .all(|((name, found), (other, wanted))| name == other && is_same(opener, found, wanted))
        }
        _ => false,
    }
}

/// Returns a scalar's JSON text: `1.0` is not `1`.
fn written(value: &Value) -> Cow<'_, [u8]> {
    match value.node() {
        Node::Raw(raw) => Cow::Borrowed(raw.trim_ascii()),
        _ => {
            let mut text = Vec::new();
            json::encode(value, &mut text);
            Cow::Owned(text)
        }
    }
}

/// Returns the child of a container; null for a missing field.
fn get(container: &Value, key: &str) -> Result<Value, String> {
    match container.node() {
        Node::List(items) => Ok(items[index(key, items.len(), items.len())?].clone()),
        _ => Ok(container.get(key).cloned().unwrap_or_default()),
    }
}

/// Puts a value back.
fn replace_at(container: &mut Value, key: &str, value: Value) {
    match container.as_list() {
        Some(items) => {
            if let Ok(at) = index(key, items.len(), items.len())
                && let Some(items) = container.as_list_mut()
            {
                items[at] = value;
            }
        }
        None => {
            if let Some(before) = container.get_mut(key) {
                *before = value;
            }
        }
    }
}

/// Counts the items after an index that are shifted.
fn charge(moved: &mut usize, container: &Value, key: &str) -> Result<(), Error> {
    *moved += match container.node() {
        Node::List(items) => index(key, items.len() + 1, items.len() + 1).map_or(0, |at| items.len() - at),
        Node::Object(object) if !object.contains(key) => object.len() / 2,
        _ => 0,
    };
    if *moved > MAX_MOVED { Err(Error::Moved) } else { Ok(()) }
}

fn insert(container: &mut Value, key: &str, value: Value) -> Result<(), String> {
    if let Some(items) = container.as_list_mut() {
        let at = match key {
            "-" => items.len(),
            _ => {
                let proper = |error: String| {
                    if error.starts_with("strconv") {
                        format!("value was not a proper array index: '{key}': {error}")
                    } else {
                        error
                    }
                };
                index(key, items.len() + 1, items.len() + 1).map_err(proper)?
            }
        };
        items.insert(at, value);
    } else if let Some(object) = container.as_object_mut() {
        object.insert(key, value);
    }
    Ok(())
}

fn take(container: &mut Value, key: &str) -> Result<Value, String> {
    if let Some(items) = container.as_list_mut() {
        let at = index(key, items.len(), items.len())?;
        return Ok(items.remove(at));
    }
    let missing = || format!("Unable to remove nonexistent key: {key}: missing value");
    container.as_object_mut().and_then(|object| object.remove(key)).ok_or_else(missing)
}

/// Parses a list index: below `end`, or counted from `length` if it is negative.
fn index(key: &str, end: usize, length: usize) -> Result<usize, String> {
    let at: i64 = key.parse().map_err(|error: std::num::ParseIntError| {
        let why = match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.Atoi: parsing {}: {why}", quote(key))
    })?;
    let counted = if at < 0 { at.saturating_add_unsigned(length as u64) } else { at };
    let found = usize::try_from(counted).ok().filter(|found| *found < end);
    found.ok_or_else(|| format!("Unable to access invalid index: {at}: invalid index referenced"))
}
