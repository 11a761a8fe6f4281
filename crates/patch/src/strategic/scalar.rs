//! Primitive values as lookup keys of items.

use std::collections::BTreeMap;

use pintle_codec::unstructured::from_typed;
use pintle_meta::value::Key;
use pintle_meta::{Node, Value};

use super::Error;
use super::go_types::{Type, not_comparable};

/// Primitive value with an arbitrary order. An integer never equals a float.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Float(u64),
    String(Key),
}

impl Scalar {
    /// Returns `None` for lists and objects.
    pub(super) fn of(value: &Value) -> Option<Scalar> {
        Some(match value.node() {
            Node::Null | Node::Hollow => Scalar::Null,
            Node::Bool(bool) => Scalar::Bool(bool),
            Node::Int(int) => Scalar::Int(int),
            // Both zeros are equal.
            Node::Float(float) => Scalar::Float((float + 0.0).to_bits()),
            Node::String(text) => Scalar::String(Key::new(text)),
            Node::Bytes(_) => Scalar::String(from_typed(value).as_str().unwrap_or_default().into()),
            Node::Raw(_) | Node::List(_) | Node::Object(_) => return None,
        })
    }
}

/// Index of the first positions of values, so that long lists are not searched repeatedly.
#[derive(Debug, Default)]
pub(super) struct Positions {
    positions: BTreeMap<Scalar, usize>,
    /// Whether a value is a list or object, which cannot be looked up.
    lists: bool,
    objects: bool,
}

impl Positions {
    pub(super) fn of<'a>(values: impl Iterator<Item = Option<&'a Value>>) -> Positions {
        let mut positions = Positions::default();
        for (position, value) in values.enumerate() {
            if let Some(value) = value {
                positions.note(value, position);
            }
        }
        positions
    }

    pub(super) fn note(&mut self, value: &Value, position: usize) {
        match Scalar::of(value) {
            Some(scalar) => {
                self.positions.entry(scalar).or_insert(position);
            }
            None => match value.as_list() {
                Some(_) => self.lists = true,
                None => self.objects = true,
            },
        }
    }

    pub(super) fn find(&self, value: &Value) -> Result<Option<usize>, Error> {
        match Scalar::of(value) {
            Some(scalar) => Ok(self.positions.get(&scalar).copied()),
            None if self.lists && Type::of(value) == Type::List => Err(not_comparable(value)),
            None if self.objects && Type::of(value) == Type::Map => Err(not_comparable(value)),
            None => Ok(None),
        }
    }
}
