//! Fields that a schema does not know go.

use std::fmt::Write;

use pintle_meta::{Node, Value};
use pintle_schema::structural::Structural;

use super::change::{self, FieldChange, Properties};

/// No more text than this is put together about what went: a tree may have a million unknown fields at the end of a
/// long path.
pub(super) const MAX_TEXT: usize = 4 << 20;

/// Removes what a schema does not know and says what that was (`spec.ports[0].foo`), sorted. A root is an object with kind,
/// version and metadata, which stay whatever the schema says.
pub fn prune(schema: &Structural, value: &mut Value, root: bool) -> Vec<String> {
    let mut pruner = Pruner { removed: Vec::new(), room: MAX_TEXT };
    if let Some(pruned) = pruner.pruned(value, Some(schema), root, None) {
        *value = pruned;
    }
    let mut removed = pruner.removed;
    removed.sort_unstable();
    removed
}

/// Whether a field is one that every object has, the root or an embedded one.
pub(super) fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

struct Pruner {
    removed: Vec<String>,
    room: usize,
}

/// Where in the tree it is. On the stack, so that it costs nothing until shown.
#[derive(Clone, Copy)]
struct TreePath<'p> {
    before: Option<&'p TreePath<'p>>,
    step: PathSegment<'p>,
}

#[derive(Clone, Copy)]
enum PathSegment<'p> {
    Key(&'p str),
    Index(usize),
}

type At<'p> = Option<&'p TreePath<'p>>;

impl Pruner {
    /// Returns the pruned value, or `None` if nothing was pruned. Without a schema every field is unknown.
    fn pruned(
        &mut self,
        value: &Value,
        schema: Option<&Structural>,
        root: bool,
        at: At<'_>,
    ) -> Option<Value> {
        match value.node() {
            Node::Object(object) => {
                let Some(schema) = schema else {
                    object.keys().for_each(|key| self.unknown(key, at));
                    return (!object.is_empty()).then(|| Value::object(pintle_meta::Object::new()));
                };
                let embedded = root || schema.embedded;
                let mut properties = Properties::new(&schema.properties);
                change::object(object, |key, value| {
                    if embedded && is_meta(key) {
                        return FieldChange::Keep;
                    }
                    let next = match (properties.find(key), &schema.additional) {
                        (Some(property), _) => Some(property),
                        (None, Some(_)) => schema.additional_schema(),
                        (None, None) if schema.preserves_unknown => return FieldChange::Keep,
                        (None, None) => {
                            self.unknown(key, at);
                            return FieldChange::Remove;
                        }
                    };
                    if is_scalar(value) {
                        return FieldChange::Keep;
                    }
                    let place = TreePath { before: at, step: PathSegment::Key(key) };
                    self.pruned(value, next, false, Some(&place)).into()
                })
            }
            Node::List(items) => {
                let next = schema.and_then(|schema| schema.items.as_deref());
                let preserves = schema.is_some_and(|schema| schema.preserves_unknown);
                if preserves && next.is_none() {
                    return None;
                }
                change::list(items, |place, item| {
                    if is_scalar(item) {
                        return None;
                    }
                    let place = TreePath { before: at, step: PathSegment::Index(place) };
                    match next {
                        // Unknown fields of items stay where those of the list do, also if they have a schema.
                        Some(next) if preserves => self.preserved(item, next, Some(&place)),
                        next => self.pruned(item, next, false, Some(&place)),
                    }
                })
            }
            _ => None,
        }
    }

    /// A value in a list that preserves unknown fields.
    fn preserved(&mut self, value: &Value, schema: &Structural, at: At<'_>) -> Option<Value> {
        match value.node() {
            Node::Object(object) => change::object(object, |key, value| {
                if schema.embedded && is_meta(key) {
                    return FieldChange::Keep;
                }
                let next = match (schema.property(key), &schema.additional) {
                    (Some(property), _) => Some(property),
                    (None, Some(_)) => schema.additional_schema(),
                    (None, None) => return FieldChange::Keep,
                };
                let place = TreePath { before: at, step: PathSegment::Key(key) };
                self.pruned(value, next, false, Some(&place)).into()
            }),
            Node::List(items) => {
                let next = schema.items.as_deref()?;
                change::list(items, |place, item| {
                    let place = TreePath { before: at, step: PathSegment::Index(place) };
                    self.preserved(item, next, Some(&place))
                })
            }
            _ => None,
        }
    }

    #[cold]
    fn unknown(&mut self, key: &str, at: At<'_>) {
        if self.room == 0 {
            return;
        }
        let steps: Vec<PathSegment<'_>> =
            std::iter::successors(at, |place| place.before).map(|place| place.step).collect();
        let mut path = String::new();
        for step in steps.iter().rev().chain([&PathSegment::Key(key)]) {
            match step {
                PathSegment::Key(key) if path.is_empty() => path.push_str(key),
                PathSegment::Key(key) => {
                    path.push('.');
                    path.push_str(key);
                }
                PathSegment::Index(place) => _ = write!(path, "[{place}]"),
            }
        }
        match self.room.checked_sub(path.len()) {
            Some(room) => {
                self.room = room;
                self.removed.push(path);
            }
            None => self.room = 0,
        }
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value.node(), Node::Object(_) | Node::List(_))
}
