//! Objects of the tree: of a known type, in declaration order; or without one, sorted.

use std::fmt;

use smol_str::SmolStr;

use super::Value;

/// Name of a field. Names of built-in types are static; up to 23 bytes need no allocation.
pub type Key = SmolStr;

/// Order of a type's fields.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    /// In JSON's order, with inline fields replaced by their own fields.
    pub names: &'static [&'static str],
}

impl Layout {
    /// Returns the position of a field; after all others if the type has no such field.
    fn rank(&self, name: &str) -> usize {
        self.names.iter().position(|known| *known == name).unwrap_or(self.names.len())
    }
}

/// Fields with their values.
///
/// ```text
/// layout: kind, apiVersion, metadata, spec, status     entries: kind, metadata, status   (built-in type)
/// layout: none                                         entries: a, b, z                  (map, custom resource)
/// ```
#[derive(Clone, Default)]
pub struct Object {
    layout: Option<&'static Layout>,
    entries: Vec<(Key, Value)>,
}

impl Object {
    /// Returns an empty object without a type, whose keys are sorted.
    pub const fn new() -> Object {
        Object { layout: None, entries: Vec::new() }
    }

    /// Returns an empty object of a type.
    pub const fn of(layout: &'static Layout) -> Object {
        Object { layout: Some(layout), entries: Vec::new() }
    }

    /// Builds an object of entries that are in the layout's order already, as decoders know.
    pub fn of_ordered(layout: &'static Layout, entries: Vec<(Key, Value)>) -> Object {
        debug_assert!(entries.is_sorted_by_key(|(key, _)| layout.rank(key)), "{entries:?} not in order");
        Object { layout: Some(layout), entries }
    }

    /// Builds an object of entries in any order; of equal keys the last one wins.
    pub fn from_unsorted(mut entries: Vec<(Key, Value)>) -> Object {
        if !entries.is_sorted_by(|(a, _), (b, _)| a < b) {
            // The sort is stable, so the last of equals is the last one given.
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            entries.dedup_by(|later, earlier| {
                let same = later.0 == earlier.0;
                if same {
                    std::mem::swap(later, earlier);
                }
                same
            });
        }
        Object { layout: None, entries }
    }

    pub fn layout(&self) -> Option<&'static Layout> {
        self.layout
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn position(&self, key: &str) -> Result<usize, usize> {
        match self.layout {
            None => self.entries.binary_search_by(|(known, _)| known.as_str().cmp(key)),
            Some(layout) => match self.entries.iter().position(|(known, _)| known == key) {
                Some(found) => Ok(found),
                None => {
                    let rank = layout.rank(key);
                    Err(self.entries.partition_point(|(known, _)| layout.rank(known) <= rank))
                }
            },
        }
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        match self.layout {
            None => self.position(key).ok().map(|found| &self.entries[found].1),
            Some(_) => self.entries.iter().find(|(known, _)| known == key).map(|(_, value)| value),
        }
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        match self.layout {
            None => self.position(key).ok().map(|found| &mut self.entries[found].1),
            Some(_) => self.entries.iter_mut().find(|(known, _)| known == key).map(|(_, value)| value),
        }
    }

    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets a field in its position and returns the previous value.
    pub fn insert(&mut self, key: impl Into<Key>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        match self.position(&key) {
            Ok(found) => Some(std::mem::replace(&mut self.entries[found].1, value)),
            Err(index) => {
                self.entries.insert(index, (key, value));
                None
            }
        }
    }

    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.position(key).ok().map(|found| self.entries.remove(found).1)
    }

    /// Returns the field's value, inserted if absent.
    pub fn get_or_insert_with(&mut self, key: impl Into<Key>, value: impl FnOnce() -> Value) -> &mut Value {
        let key = key.into();
        let index = match self.position(&key) {
            Ok(found) => found,
            Err(index) => {
                self.entries.insert(index, (key, value()));
                index
            }
        };
        &mut self.entries[index].1
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut Value) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> + DoubleEndedIterator {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&str, &mut Value)> + DoubleEndedIterator {
        self.entries.iter_mut().map(|(key, value)| (key.as_str(), value))
    }

    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator {
        self.entries.iter().map(|(key, _)| key.as_str())
    }

    /// Returns keys and values as stored, to build another object of them.
    pub fn entries(&self) -> &[(Key, Value)] {
        &self.entries
    }
}

/// Equal fields with equal values in any order.
impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        self.entries.len() == other.entries.len()
            && (self.entries == other.entries
                || self.iter().all(|(key, value)| other.get(key).is_some_and(|found| found == value)))
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Into<Key>, V: Into<Value>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Object {
        Object::from_unsorted(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}
