//! Maps and objects: of a tree, or made by the expression.

use std::collections::BTreeMap;
use std::sync::Arc;

use pintle_meta::{Node, Object};
use smol_str::SmolStr;

use super::compare::no_such_overload;
use super::{Error, Text, Val, from_tree};
use crate::escaping::escape;
use crate::types::{ObjectType, Type};

/// A map from keys to values.
#[derive(Clone, Debug)]
pub enum Map<'v> {
    /// Of a tree, values being of one type, or what they look like.
    Tree { object: &'v Object, value: Option<Type> },
    /// An object of a tree, whose type knows its fields.
    Object { object: &'v Object, of: Arc<dyn ObjectType> },
    #[doc(hidden)]
    Entries(Arc<Entries<'v>>),
    /// An object that the expression made.
    #[doc(hidden)]
    Fields { of: Arc<dyn ObjectType>, fields: Arc<BTreeMap<SmolStr, Val<'v>>> },
}

/// How a property of two objects is to be compared.
pub(super) enum Compared<'a> {
    Same,
    Different,
    Values(Val<'a>, Val<'a>),
    /// Of no type that anybody declared.
    Trees(&'a pintle_meta::Value, &'a pintle_meta::Value),
}

/// Entries that an expression made: the key as it was given, and the value.
pub(super) type Entries<'v> = BTreeMap<Key<'v>, (Val<'v>, Val<'v>)>;

/// A key, so that numbers that are equal are the same key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key<'v> {
    Bool(bool),
    Number(i128),
    /// One that is no integer.
    Double(u64),
    String(Text<'v>),
}

impl<'v> Key<'v> {
    pub(crate) fn of(value: &Val<'v>) -> Option<Key<'v>> {
        Some(match value {
            Val::Bool(value) => Key::Bool(*value),
            Val::Int(value) => Key::Number(i128::from(*value)),
            Val::Uint(value) => Key::Number(i128::from(*value)),
            Val::Double(value) if value.fract() == 0.0 && value.abs() < 1e19 => Key::Number(*value as i128),
            Val::Double(value) if !value.is_nan() => Key::Double(value.to_bits()),
            Val::String(text) => Key::String(text.clone()),
            _ => return None,
        })
    }
}

impl<'v> Map<'v> {
    pub fn len(&self) -> usize {
        match self {
            // Only types of the program have fields that are there and yet not.
            Map::Tree { object, .. } | Map::Object { object, .. } if object.layout().is_none() => {
                object.len()
            }
            Map::Tree { object, .. } | Map::Object { object, .. } => present(object).count(),
            Map::Entries(entries) => entries.len(),
            Map::Fields { fields, .. } => fields.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key, if there is one.
    pub fn find(&self, key: &Val<'_>) -> Result<Option<Val<'v>>, Error> {
        match (self, key) {
            (Map::Entries(entries), key) => {
                Ok(Key::of(key).and_then(|key| entries.get(&key)).map(|(_, value)| value.clone()))
            }
            (_, Val::String(key)) => self.field(key),
            _ => Ok(None),
        }
    }

    /// The value of a key that is a string, if there is one.
    pub fn field(&self, key: &str) -> Result<Option<Val<'v>>, Error> {
        match self {
            Map::Tree { object, value } => match tree_field(object, key) {
                Some(found) => from_tree(found, value.as_ref().unwrap_or(&Type::Dyn)).map(Some),
                None => Ok(None),
            },
            Map::Object { object, of } => {
                let Some(field) = of.field(key) else { return Ok(None) };
                match object_field(object, &field.property) {
                    Some(found) => from_tree(found, &field.of).map(Some),
                    None => Ok(None),
                }
            }
            Map::Entries(entries) => {
                Ok(entries.get(&Key::String(Text::Borrowed(key))).map(|(_, value)| value.clone()))
            }
            Map::Fields { fields, .. } => Ok(fields.get(key).cloned()),
        }
    }

    /// What two objects of a tree say about a property of the first, by the name that they have for it.
    pub(super) fn compared<'a>(
        &'a self,
        other: &'a Map<'_>,
        property: &str,
        value: &'a pintle_meta::Value,
    ) -> Result<Compared<'a>, Error> {
        let Map::Object { of, .. } = self else { return Ok(Compared::Same) };
        let name = escape(property);
        if let Some(field) = of.field(name.as_deref().unwrap_or(property)) {
            let own = if value.is_null() { None } else { Some(from_tree(value, &field.of)?) };
            return Ok(match (own, other.field(name.as_deref().unwrap_or(property))?) {
                (Some(own), Some(other)) => Compared::Values(own, other),
                (None, None) => Compared::Same,
                _ => Compared::Different,
            });
        }
        let Map::Object { object, .. } = other else { return Err(no_such_overload()) };
        let there = tree_field(object, property);
        Ok(if of.hides(property) {
            match there.filter(|there| !there.is_null()) {
                Some(there) if !value.is_null() => Compared::Trees(value, there),
                there if there.is_some() || !value.is_null() => Compared::Different,
                _ => Compared::Same,
            }
        } else {
            // Nobody knows what it is. Without another it does not count.
            there.map_or(Compared::Same, |there| Compared::Trees(value, there))
        })
    }

    /// The value of a property by the name that the object has for it, which may be none that an expression could write.
    pub(crate) fn property(&self, name: &str) -> Result<Option<Val<'v>>, Error> {
        match self {
            Map::Object { object, .. } => match tree_field(object, name) {
                Some(found) => from_tree(found, &Type::Dyn).map(Some),
                None => Ok(None),
            },
            _ => self.field(name),
        }
    }

    /// All keys, sorted where the expression made them, else as the tree has them.
    pub fn keys(&self) -> Vec<Val<'v>> {
        match self {
            Map::Tree { object, .. } => {
                let object: &'v Object = object;
                present(object).map(|key| Val::String(Text::Borrowed(key))).collect()
            }
            // Fields that the type knows, by the names that expressions have for them.
            Map::Object { object, of } => {
                let object: &'v Object = object;
                let name = |property: &'v str| match escape(property) {
                    Some(escaped) if escaped != property => Text::from(escaped),
                    _ => Text::Borrowed(property),
                };
                present(object).map(name).filter(|name| of.field(name).is_some()).map(Val::String).collect()
            }
            Map::Entries(entries) => entries.values().map(|(key, _)| key.clone()).collect(),
            Map::Fields { fields, .. } => fields.keys().map(|key| Val::string(key.to_string())).collect(),
        }
    }
}

/// Fields that JSON would show.
fn present(object: &Object) -> impl Iterator<Item = &str> {
    object.iter().filter(|(_, value)| value.node() != Node::Hollow).map(|(key, _)| key)
}

/// A field that is null is as if it was not there.
fn object_field<'v>(object: &'v Object, key: &str) -> Option<&'v pintle_meta::Value> {
    tree_field(object, key).filter(|value| !value.is_null())
}

fn tree_field<'v>(object: &'v Object, key: &str) -> Option<&'v pintle_meta::Value> {
    object.get(key).filter(|value| value.node() != Node::Hollow)
}
