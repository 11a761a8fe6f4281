//! Maps and objects: of a tree, or built by the expression.

use std::collections::BTreeMap;
use std::sync::Arc;

use pintle_meta::{Node, Object};
use smol_str::SmolStr;

use super::compare::no_such_overload;
use super::{Error, Text, Val, from_tree};
use crate::escaping::escape;
use crate::types::{ObjectType, Type};

#[derive(Clone, Debug)]
pub enum Map<'v> {
    /// A map of a tree; values are of one declared type, or of their JSON type.
    Tree { object: &'v Object, value: Option<Type> },
    /// Object of a tree, whose type declares its fields.
    Object { object: &'v Object, of: Arc<dyn ObjectType> },
    #[doc(hidden)]
    Entries(Arc<Entries<'v>>),
    /// Object built by the expression.
    #[doc(hidden)]
    Fields { of: Arc<dyn ObjectType>, fields: Arc<BTreeMap<SmolStr, Val<'v>>> },
}

/// Comparison of a property of two objects.
pub(super) enum Compared<'a> {
    Same,
    Different,
    Values(Val<'a>, Val<'a>),
    /// Property without a declared type.
    Trees(&'a pintle_meta::Value, &'a pintle_meta::Value),
}

/// Entries built by an expression: the key as it was given, and the value.
pub(super) type Entries<'v> = BTreeMap<Key<'v>, (Val<'v>, Val<'v>)>;

/// Map key; equal numbers of different types are one key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key<'v> {
    Bool(bool),
    Number(i128),
    /// A double that is no integer.
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
            // Only objects with a layout have fields that are stored but absent in JSON.
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

    /// Returns the value of a key, if present.
    pub fn find(&self, key: &Val<'_>) -> Result<Option<Val<'v>>, Error> {
        match (self, key) {
            (Map::Entries(entries), key) => {
                Ok(Key::of(key).and_then(|key| entries.get(&key)).map(|(_, value)| value.clone()))
            }
            (_, Val::String(key)) => self.field(key),
            _ => Ok(None),
        }
    }

    /// Returns the value of a string key, if present.
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

    /// Determines how a property of the first object compares with the second, by the property's own name.
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
            // Undeclared property: it counts only if both objects have it.
            there.map_or(Compared::Same, |there| Compared::Trees(value, there))
        })
    }

    /// Returns a property by its own name, which may not be an identifier.
    pub(crate) fn property(&self, name: &str) -> Result<Option<Val<'v>>, Error> {
        match self {
            Map::Object { object, .. } => match tree_field(object, name) {
                Some(found) => from_tree(found, &Type::Dyn).map(Some),
                None => Ok(None),
            },
            _ => self.field(name),
        }
    }

    /// Returns all keys: sorted if the expression built the map, else in the tree's order.
    pub fn keys(&self) -> Vec<Val<'v>> {
        match self {
            Map::Tree { object, .. } => {
                let object: &'v Object = object;
                present(object).map(|key| Val::String(Text::Borrowed(key))).collect()
            }
            // Declared fields, by their names in expressions.
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

/// Returns the fields that JSON contains.
fn present(object: &Object) -> impl Iterator<Item = &str> {
    object.iter().filter(|(_, value)| value.node() != Node::Hollow).map(|(key, _)| key)
}

/// Returns a field's value; a null field is absent.
fn object_field<'v>(object: &'v Object, key: &str) -> Option<&'v pintle_meta::Value> {
    tree_field(object, key).filter(|value| !value.is_null())
}

fn tree_field<'v>(object: &'v Object, key: &str) -> Option<&'v pintle_meta::Value> {
    object.get(key).filter(|value| value.node() != Node::Hollow)
}
