//! Coverage: the fields of a kind's types that occurred in accepted objects.

use std::collections::{BTreeSet, HashSet};

use pintle_meta::{Node, Value};
use pintle_schema::{Shape, Type};

use crate::author::is_of_the_server;

/// A field: index of its struct's type, and its name.
type Known = (usize, &'static str);

/// Fields that occurred.
#[derive(Default)]
pub(crate) struct Coverage(HashSet<Known>);

impl Coverage {
    pub(crate) fn has(&self, of: &Type, field: &'static str) -> bool {
        self.0.contains(&(of.index, field))
    }

    /// Adds the fields of an object that have a value. Reports whether there are new ones.
    pub(crate) fn add(&mut self, shape: Shape, value: &Value) -> bool {
        let known = self.0.len();
        self.collect(shape, value);
        self.0.len() > known
    }

    fn collect(&mut self, shape: Shape, value: &Value) {
        match shape.underlying() {
            Shape::Pointer(of) => self.collect(*of, value),
            Shape::List(of) => value.as_list().into_iter().flatten().for_each(|item| self.collect(*of, item)),
            Shape::Map(_, of) => {
                value
                    .as_object()
                    .into_iter()
                    .flat_map(|map| map.iter())
                    .for_each(|(_, value)| self.collect(*of, value));
            }
            Shape::Named(of) => {
                for field in of.structure().into_iter().flat_map(|of| of.flat) {
                    let Some(below) = value.get(field.name).filter(|below| is_set(field.shape, below)) else {
                        continue;
                    };
                    self.0.insert((of.index, field.name));
                    self.collect(field.shape, below);
                }
            }
            Shape::Scalar(_) | Shape::Bytes => {}
        }
    }

    /// Returns the number of fields that occurred, and of all that requests can write, below a kind.
    pub(crate) fn share(&self, kind: &'static Type) -> (usize, usize) {
        let all = fields(kind);
        (all.iter().filter(|field| self.0.contains(field)).count(), all.len())
    }

    /// Returns the fields below a kind that did not occur.
    pub(crate) fn missing(&self, kind: &'static Type) -> String {
        let missing = fields(kind).into_iter().filter(|field| !self.0.contains(field));
        let names: BTreeSet<_> =
            missing.map(|(of, field)| format!("{}.{field}", pintle_schema::types()[of].go_name())).collect();
        names.into_iter().collect::<Vec<_>>().join(" ")
    }
}

/// Whether there is a value that JSON would not leave out anyway.
fn is_set(shape: Shape, value: &Value) -> bool {
    match value.node() {
        Node::Null | Node::Hollow | Node::String("") => false,
        Node::Object(fields) => !fields.is_empty() || matches!(shape, Shape::Pointer(_)),
        Node::List(items) => !items.is_empty(),
        _ => true,
    }
}

fn fields(kind: &'static Type) -> HashSet<Known> {
    let mut found = HashSet::new();
    collect(Shape::Named(kind), &mut HashSet::new(), &mut found);
    found
}

fn collect(shape: Shape, seen: &mut HashSet<usize>, found: &mut HashSet<Known>) {
    match shape.underlying() {
        Shape::Pointer(of) | Shape::List(of) | Shape::Map(_, of) => collect(*of, seen, found),
        Shape::Named(of) if seen.insert(of.index) => {
            for field in of.structure().into_iter().flat_map(|of| of.flat) {
                if !is_of_the_server(of, field.name) {
                    found.insert((of.index, field.name));
                    collect(field.shape, seen, found);
                }
            }
        }
        _ => {}
    }
}
