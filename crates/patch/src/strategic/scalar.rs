//! Plain values, as what items are found by.

use std::collections::BTreeMap;

use pintle_codec::unstructured::from_typed;
use pintle_meta::value::Key;
use pintle_meta::{Node, Value};

use super::Error;
use super::words::{Type, not_comparable};

/// A plain value, in an order that means nothing. An integer is no float, also where they are the same number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Float(u64),
    String(Key),
}

impl Scalar {
    /// `None` for lists and objects.
    pub(super) fn of(value: &Value) -> Option<Scalar> {
        Some(match value.node() {
            Node::Null | Node::Hollow => Scalar::Null,
            Node::Bool(bool) => Scalar::Bool(bool),
            Node::Int(int) => Scalar::Int(int),
            // Both zeros are the same.
            Node::Float(float) => Scalar::Float((float + 0.0).to_bits()),
            Node::String(text) => Scalar::String(Key::new(text)),
            Node::Bytes(_) => Scalar::String(from_typed(value).as_str().unwrap_or_default().into()),
            Node::Raw(_) | Node::List(_) | Node::Object(_) => return None,
        })
    }
}

/// Where values stand first, so that nobody has to go through long lists again and again.
#[derive(Debug, Default)]
pub(super) struct Places {
    places: BTreeMap<Scalar, usize>,
    /// Values by which nothing can be found: lists, objects.
    lists: bool,
    objects: bool,
}

impl Places {
    pub(super) fn of<'a>(values: impl Iterator<Item = Option<&'a Value>>) -> Places {
        let mut places = Places::default();
        for (place, value) in values.enumerate() {
            if let Some(value) = value {
                places.note(value, place);
            }
        }
        places
    }

    pub(super) fn note(&mut self, value: &Value, place: usize) {
        match Scalar::of(value) {
            Some(scalar) => {
                self.places.entry(scalar).or_insert(place);
            }
            None => match value.as_list() {
                Some(_) => self.lists = true,
                None => self.objects = true,
            },
        }
    }

    pub(super) fn find(&self, value: &Value) -> Result<Option<usize>, Error> {
        match Scalar::of(value) {
            Some(scalar) => Ok(self.places.get(&scalar).copied()),
            None if self.lists && Type::of(value) == Type::List => Err(not_comparable(value)),
            None if self.objects && Type::of(value) == Type::Map => Err(not_comparable(value)),
            None => Ok(None),
        }
    }
}
