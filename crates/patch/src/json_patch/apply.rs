//! One operation after the other.

use std::num::IntErrorKind;

use pintle_codec::json;
use pintle_meta::value::Key;
use pintle_meta::{Node, Value, quote};

use super::{Error, MAX_COPY, MAX_DEPTH};

/// How often we look how deep the document is, before we refuse to go on.
const LOOKS: usize = 16;

pub(super) struct Application {
    document: Value,
    /// No place is deeper than this.
    depth: usize,
    looks: usize,
    copied: usize,
}

/// A place: the container that a path leads to, and what follows.
struct Place {
    parents: Vec<Key>,
    key: Key,
}

fn place(path: &str) -> Option<Place> {
    let decode = |part: &str| -> Key { if part.contains('~') { decoded(part).into() } else { part.into() } };
    let (_, rest) = path.split_once('/')?;
    let mut parts: Vec<Key> = rest.split('/').map(decode).collect();
    let key = parts.pop()?;
    Some(Place { parents: parts, key })
}

/// `~1` is a slash and `~0` a tilde, read once from left to right.
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
    pub(super) fn new(document: Value) -> Application {
        let depth = depth(&document);
        Application { document, depth, looks: 0, copied: 0 }
    }

    pub(super) fn run(mut self, operations: &[Value]) -> Result<Value, Error> {
        for operation in operations {
            match operation.text_at(&["op"]) {
                "add" => self.add(operation)?,
                "remove" => self.remove(operation)?,
                "replace" => self.replace(operation)?,
                "move" => self.relocate(operation)?,
                "test" => self.test(operation)?,
                "copy" => self.copy(operation)?,
                other => {
                    let has = operation.get("op").and_then(Value::as_str).is_some();
                    return Err(Error::Kind(if has { other.into() } else { "unknown".into() }));
                }
            }
        }
        Ok(self.document)
    }

    fn add(&mut self, operation: &Value) -> Result<(), Error> {
        let path = text(operation, "path")
            .ok_or_else(|| failed("add operation failed to decode path: missing value"))?;
        let value = value(operation);
        let deep = depth(&value);
        let missing = || {
            failed(format!("add operation does not apply: doc is missing path: \"{path}\": missing value"))
        };
        let to = place(path).ok_or_else(missing)?;
        self.check_depth(&to, deep)?;
        let container = find_mut(&mut self.document, &to.parents).ok_or_else(missing)?;
        insert(container, &to.key, value)
            .map_err(|error| failed(format!("error in add for path: '{path}': {error}")))
    }

    fn remove(&mut self, operation: &Value) -> Result<(), Error> {
        let path = text(operation, "path")
            .ok_or_else(|| failed("remove operation failed to decode path: missing value"))?;
        let missing = || {
            failed(format!("remove operation does not apply: doc is missing path: \"{path}\": missing value"))
        };
        let from = place(path).ok_or_else(missing)?;
        let container = find_mut(&mut self.document, &from.parents).ok_or_else(missing)?;
        take(container, &from.key)
            .map_err(|error| failed(format!("error in remove for path: '{path}': {error}")))?;
        Ok(())
    }

    fn replace(&mut self, operation: &Value) -> Result<(), Error> {
        let path = text(operation, "path").ok_or_else(|| {
            failed("replace operation failed to decode path: operation missing path field: missing value")
        })?;
        let value = value(operation);
        let deep = depth(&value);
        if path.is_empty() {
            if !matches!(value.node(), Node::Object(_) | Node::List(_)) {
                return Err(failed("replace operation value must be object or array: %!w(<nil>)"));
            }
            (self.document, self.depth) = (value, deep);
            return Ok(());
        }
        let missing = |what: &str| {
            failed(format!("replace operation does not apply: doc is missing {what}: {path}: missing value"))
        };
        let to = place(path).ok_or_else(|| missing("path"))?;
        self.check_depth(&to, deep)?;
        let container = find_mut(&mut self.document, &to.parents).ok_or_else(|| missing("path"))?;
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

    fn relocate(&mut self, operation: &Value) -> Result<(), Error> {
        let from = text(operation, "from").ok_or_else(|| {
            failed("move operation failed to decode from: operation, missing from field: missing value")
        })?;
        let missing = || {
            failed(format!("move operation does not apply: doc is missing from path: {from}: missing value"))
        };
        let source = place(from).ok_or_else(missing)?;
        let container = find_mut(&mut self.document, &source.parents).ok_or_else(missing)?;
        let moved = take(container, &source.key)
            .map_err(|error| failed(format!("error in move for path: '{}': {error}", source.key)))?;
        let path = text(operation, "path").ok_or_else(|| {
            failed("move operation failed to decode path: operation missing path field: missing value")
        })?;
        let missing = || {
            failed(format!(
                "move operation does not apply: doc is missing destination path: {path}: missing value"
            ))
        };
        let to = place(path).ok_or_else(missing)?;
        self.check_moved(&source, &to, &moved)?;
        let container = find_mut(&mut self.document, &to.parents).ok_or_else(missing)?;
        insert(container, &to.key, moved)
            .map_err(|error| failed(format!("error in move for path: '{path}': {error}")))
    }

    fn test(&mut self, operation: &Value) -> Result<(), Error> {
        let path = text(operation, "path").ok_or_else(|| {
            failed("test operation failed to decode path: operation missing path field: missing value")
        })?;
        let found = match path.is_empty() {
            true => self.document.clone(),
            false => {
                let missing = || {
                    failed(format!("test operation does not apply: is missing path: {path}: missing value"))
                };
                let at = place(path).ok_or_else(missing)?;
                let container = find(&self.document, &at.parents).ok_or_else(missing)?;
                get(container, &at.key)
                    .map_err(|error| failed(format!("error in test for path: '{path}': {error}")))?
            }
        };
        match found == value(operation) {
            true => Ok(()),
            false => Err(failed(format!("testing value {path} failed: test failed"))),
        }
    }

    fn copy(&mut self, operation: &Value) -> Result<(), Error> {
        let from = text(operation, "from").ok_or_else(|| {
            failed("copy operation failed to decode from: operation, missing from field: missing value")
        })?;
        let missing = || {
            failed(format!("copy operation does not apply: doc is missing from path: {from}: missing value"))
        };
        let source = place(from).ok_or_else(missing)?;
        let container = find(&self.document, &source.parents).ok_or_else(missing)?;
        let copied = get(container, &source.key)
            .map_err(|error| failed(format!("error in copy for from: '{from}': {error}")))?;
        let path = text(operation, "path")
            .ok_or_else(|| failed("copy operation failed to decode path: missing value"))?;
        let missing = || {
            failed(format!(
                "copy operation does not apply: doc is missing destination path: {path}: missing value"
            ))
        };
        let to = place(path).ok_or_else(missing)?;
        find(&self.document, &to.parents).ok_or_else(missing)?;
        // What is not there has no size.
        if container_has(&copied) {
            let mut written = Vec::new();
            json::encode(&copied, &mut written);
            self.copied += written.len();
        }
        if self.copied > MAX_COPY {
            return Err(Error::Copied { copied: self.copied });
        }
        self.check_moved(&source, &to, &copied)?;
        let container = find_mut(&mut self.document, &to.parents).ok_or_else(missing)?;
        insert(container, &to.key, copied)
            .map_err(|error| failed(format!("error while adding value during copy: {error}")))
    }

    /// Notes that something so deep comes to a place.
    fn check_depth(&mut self, to: &Place, deep: usize) -> Result<(), Error> {
        let depth = to.parents.len() + 1 + deep;
        if depth > MAX_DEPTH {
            return Err(Error::Depth);
        }
        self.depth = self.depth.max(depth);
        Ok(())
    }

    /// The same for something out of the document. How deep it is at most is known; only if that would be too deep
    /// somebody looks, and not too often, since the document may be large.
    fn check_moved(&mut self, from: &Place, to: &Place, moved: &Value) -> Result<(), Error> {
        let deep = self.depth.saturating_sub(from.parents.len() + 1);
        if self.check_depth(to, deep).is_ok() {
            return Ok(());
        }
        self.looks += 1;
        match self.looks > LOOKS {
            true => Err(Error::Depth),
            false => self.check_depth(to, depth(moved)),
        }
    }
}

fn failed(message: impl Into<String>) -> Error {
    Error::Failed(message.into())
}

fn container_has(value: &Value) -> bool {
    !value.is_null()
}

fn text<'a>(operation: &'a Value, name: &str) -> Option<&'a str> {
    operation.get(name).and_then(Value::as_str)
}

fn value(operation: &Value) -> Value {
    operation.get("value").cloned().unwrap_or_default()
}

/// How many lists and objects lie in each other; no tree has more than a decoder or this module lets it have.
fn depth(value: &Value) -> usize {
    match value.node() {
        Node::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Node::Object(object) => 1 + object.iter().map(|(_, value)| depth(value)).max().unwrap_or(0),
        _ => 0,
    }
}

/// The list or object that a path leads to.
fn find<'a>(document: &'a Value, parents: &[Key]) -> Option<&'a Value> {
    let mut found = document;
    for key in parents {
        found = match found.node() {
            Node::List(items) => &items[index(key, items.len(), items.len()).ok()?],
            _ => found.get(key)?,
        };
    }
    matches!(found.node(), Node::List(_) | Node::Object(_)).then_some(found)
}

fn find_mut<'a>(document: &'a mut Value, parents: &[Key]) -> Option<&'a mut Value> {
    find(document, parents)?;
    let mut found = document;
    for key in parents {
        found = match found.as_list() {
            Some(items) => {
                let at = index(key, items.len(), items.len()).ok()?;
                &mut found.as_list_mut()?[at]
            }
            None => found.get_mut(key)?,
        };
    }
    Some(found)
}

/// What a container has; null where an object has nothing.
fn get(container: &Value, key: &str) -> Result<Value, String> {
    match container.node() {
        Node::List(items) => Ok(items[index(key, items.len(), items.len())?].clone()),
        _ => Ok(container.get(key).cloned().unwrap_or_default()),
    }
}

fn insert(container: &mut Value, key: &str, value: Value) -> Result<(), String> {
    if let Some(items) = container.as_list_mut() {
        let at = match key {
            "-" => items.len(),
            _ => {
                let proper = |error: String| match error.starts_with("strconv") {
                    true => format!("value was not a proper array index: '{key}': {error}"),
                    false => error,
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

/// A place in a list: below `end`, or counted from `length` if it is negative.
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
