//! Reads metadata and selected fields of a stored object without a tree, for selectors and indexes.
//!
//! Paths are compiled once per type; scanning descends along them and skips everything else:
//!
//! ```text
//! core/v1.Pod                    protobuf          JSON, CBOR
//!   metadata                     1                 metadata
//!   spec.nodeName                2 > 10            spec > nodeName
//!   status.phase                 3 > 1             status > phase
//! ```

mod protobuf;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use pintle_meta::time::Time;
use pintle_schema::{Scalar as ScalarType, Shape, Struct, Type};

use crate::protobuf::envelope;
use crate::{Error, cbor, json};

/// Paths of fields to read from objects of one type.
#[derive(Debug)]
pub struct Paths {
    pub(crate) names: Node<Box<str>>,
    numbers: Node<u32>,
    /// Field number of the metadata.
    metadata: Option<u32>,
    leaves: Vec<Leaf>,
    count: usize,
    /// Whether field numbers are known.
    typed: bool,
}

/// Node of the tree of paths.
#[derive(Debug)]
pub(crate) struct Node<K> {
    pub(crate) children: Vec<(K, Node<K>)>,
    /// Index of the path that ends here.
    pub(crate) leaf: Option<usize>,
}

impl Node<Box<str>> {
    pub(crate) fn child(&self, key: &str) -> Option<&Node<Box<str>>> {
        self.children.iter().find(|(known, _)| **known == *key).map(|(_, node)| node)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Leaf {
    String,
    Bool,
    Int32,
    Int64,
}

/// Value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'a> {
    String(Cow<'a, str>),
    Bool(bool),
    Int(i64),
}

impl Scalar<'_> {
    /// Formats the value as field selectors compare it.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Scalar::String(text) => Cow::Borrowed(text),
            Scalar::Bool(true) => Cow::Borrowed("true"),
            Scalar::Bool(false) => Cow::Borrowed("false"),
            Scalar::Int(number) => Cow::Owned(number.to_string()),
        }
    }
}

/// Scan result. Text is borrowed from the input unless it has escapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found<'a> {
    pub name: Cow<'a, str>,
    pub generate_name: Cow<'a, str>,
    pub namespace: Cow<'a, str>,
    pub uid: Cow<'a, str>,
    pub resource_version: Cow<'a, str>,
    pub deletion_timestamp: Option<Time>,
    /// Sorted by key.
    pub labels: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// UIDs of the owners, in order.
    pub owners: Vec<Cow<'a, str>>,
    /// One per path; `None` if the object has no such field.
    pub fields: Vec<Option<Scalar<'a>>>,
}

impl<'a> Found<'a> {
    pub fn label(&self, key: &str) -> Option<&str> {
        let index = self.labels.binary_search_by(|(known, _)| known.as_ref().cmp(key)).ok()?;
        Some(&self.labels[index].1)
    }

    pub(crate) fn expecting(paths: usize) -> Found<'a> {
        Found { fields: vec![None; paths], ..Found::default() }
    }

    /// Returns the destination of a text field of metadata, if it is one of those.
    pub(crate) fn text(&mut self, field: &str) -> Option<&mut Cow<'a, str>> {
        Some(match field {
            "name" => &mut self.name,
            "generateName" => &mut self.generate_name,
            "namespace" => &mut self.namespace,
            "uid" => &mut self.uid,
            "resourceVersion" => &mut self.resource_version,
            _ => return None,
        })
    }

    /// Sorts labels; of equal keys the last one wins.
    pub(crate) fn finish(&mut self) {
        if !self.labels.is_sorted_by(|(a, _), (b, _)| a < b) {
            self.labels.reverse();
            self.labels.sort_by(|(a, _), (b, _)| a.cmp(b));
            self.labels.dedup_by(|(a, _), (b, _)| a == b);
        }
    }
}

impl Paths {
    /// Compiles paths of strings, bools and integers in a built-in type, such as `spec.nodeName`.
    pub fn new(of: &'static Type, paths: &[&str]) -> Result<Paths, Error> {
        let structure = of.structure().ok_or_else(|| Error::new(format!("{} has no fields", of.name)))?;
        let mut compiled = Paths { typed: true, ..Paths::untyped(paths) };
        compiled.metadata =
            numbers_of(structure, "metadata").and_then(|(numbers, _)| numbers.first().copied());
        for (index, path) in paths.iter().enumerate() {
            let (numbers, leaf) = resolve(structure, path)
                .ok_or_else(|| Error::new(format!("{} has no string, bool or integer {path}", of.name)))?;
            compiled.numbers.insert(numbers.into_iter(), index);
            compiled.leaves.push(leaf);
        }
        Ok(compiled)
    }

    /// Compiles paths in custom resources, which are never protobuf.
    pub fn untyped(paths: &[&str]) -> Paths {
        let mut names = Node::empty();
        for (index, path) in paths.iter().enumerate() {
            names.insert(path.split('.').map(Box::from), index);
        }
        Paths {
            names,
            numbers: Node::empty(),
            metadata: None,
            leaves: Vec::new(),
            count: paths.len(),
            typed: false,
        }
    }

    /// Scans a stored value: protobuf in its envelope, self-described CBOR, or JSON.
    pub fn scan<'a>(&self, stored: &'a [u8]) -> Result<Found<'a>, Error> {
        if envelope::is_enveloped(stored) {
            return self.scan_protobuf(envelope::open(stored)?.raw);
        }
        if cbor::is_self_described(stored) {
            return self.scan_cbor(stored);
        }
        self.scan_json(stored)
    }

    /// Returns the UID of a stored object of any kind.
    pub fn uid(stored: &[u8]) -> Result<Cow<'_, str>, Error> {
        // Every stored kind has metadata as its first field.
        let paths = Paths { typed: true, metadata: Some(1), ..Paths::untyped(&[]) };
        paths.scan(stored).map(|found| found.uid)
    }

    /// Scans a bare message.
    pub fn scan_protobuf<'a>(&self, message: &'a [u8]) -> Result<Found<'a>, Error> {
        if !self.typed {
            return Err(Error::new("custom resources have no protobuf messages"));
        }
        protobuf::scan(self, message)
    }

    pub fn scan_json<'a>(&self, text: &'a [u8]) -> Result<Found<'a>, Error> {
        json::scan(&self.names, self.count, text)
    }

    pub fn scan_cbor<'a>(&self, data: &'a [u8]) -> Result<Found<'a>, Error> {
        cbor::scan(&self.names, self.count, data)
    }
}

impl<K: PartialEq> Node<K> {
    fn empty() -> Node<K> {
        Node { children: Vec::new(), leaf: None }
    }

    fn insert(&mut self, mut path: impl Iterator<Item = K>, index: usize) {
        let Some(first) = path.next() else {
            self.leaf = Some(index);
            return;
        };
        let found = self.children.iter().position(|(key, _)| *key == first).unwrap_or_else(|| {
            self.children.push((first, Node::empty()));
            self.children.len() - 1
        });
        self.children[found].1.insert(path, index);
    }
}

/// Returns the field numbers on the path to a field of a struct, through inline fields, and its shape.
fn numbers_of(of: &'static Struct, name: &str) -> Option<(Vec<u32>, Shape)> {
    of.fields.iter().find_map(|field| {
        if field.name == name {
            return Some((vec![field.number?], field.shape));
        }
        let inner = field.shape.structure().filter(|_| field.is_inline())?;
        let (mut numbers, shape) = numbers_of(inner, name)?;
        numbers.insert(0, field.number?);
        Some((numbers, shape))
    })
}

fn resolve(of: &'static Struct, path: &str) -> Option<(Vec<u32>, Leaf)> {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let (mut numbers, mut shape) = numbers_of(of, name)?;
    while let Shape::Pointer(to) = shape.underlying() {
        shape = *to;
    }
    let leaf = match rest {
        Some(rest) => {
            let (more, leaf) = resolve(shape.structure()?, rest)?;
            numbers.extend(more);
            leaf
        }
        None => match shape.underlying() {
            Shape::Scalar(ScalarType::String) => Leaf::String,
            Shape::Scalar(ScalarType::Bool) => Leaf::Bool,
            Shape::Scalar(ScalarType::Int32) => Leaf::Int32,
            Shape::Scalar(ScalarType::Int64) => Leaf::Int64,
            _ => return None,
        },
    };
    Some((numbers, leaf))
}
