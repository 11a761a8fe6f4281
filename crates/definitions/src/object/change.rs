//! Lists and objects with some of their parts changed, built only if there is a change.

use pintle_meta::Value;
use pintle_meta::value::{Key, Object};

/// Finds properties of a schema by the names of an object's fields. Both are sorted, so that most often the next name belongs to
/// the next property, which is looked at first.
pub(super) struct Properties<'s, T> {
    all: &'s [(Key, T)],
    next: usize,
}

impl<'s, T> Properties<'s, T> {
    /// Returns a lookup in sorted properties.
    pub(super) fn new(all: &'s [(Key, T)]) -> Properties<'s, T> {
        Properties { all, next: 0 }
    }

    pub(super) fn find(&mut self, name: &str) -> Option<&'s T> {
        let found = match self.all.get(self.next) {
            Some((known, _)) if known == name => self.next,
            _ => self.all.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?,
        };
        self.next = found + 1;
        Some(&self.all[found].1)
    }
}

/// The outcome for a field.
pub(super) enum FieldChange {
    Keep,
    Remove,
    Replace(Value),
}

impl From<Option<Value>> for FieldChange {
    fn from(changed: Option<Value>) -> FieldChange {
        changed.map_or(FieldChange::Keep, FieldChange::Replace)
    }
}

/// The fields of an object after all changes; `None` if nothing changes.
pub(super) fn fields(
    object: &Object,
    mut fate: impl FnMut(&Key, &Value) -> FieldChange,
) -> Option<Vec<(Key, Value)>> {
    let entries = object.entries();
    let mut changed: Option<Vec<(Key, Value)>> = None;
    for (place, (key, value)) in entries.iter().enumerate() {
        let fate = fate(key, value);
        if matches!(fate, FieldChange::Keep) && changed.is_none() {
            continue;
        }
        let new = changed.get_or_insert_with(|| entries[..place].to_vec());
        match fate {
            FieldChange::Keep => new.push((key.clone(), value.clone())),
            FieldChange::Remove => {}
            FieldChange::Replace(value) => new.push((key.clone(), value)),
        }
    }
    changed
}

/// The same for an object as a whole.
pub(super) fn object(object: &Object, fate: impl FnMut(&Key, &Value) -> FieldChange) -> Option<Value> {
    fields(object, fate).map(|entries| Value::object(Object::from_unsorted(entries)))
}

/// A list with items changed; nothing if all stay.
pub(super) fn list(items: &[Value], mut change: impl FnMut(usize, &Value) -> Option<Value>) -> Option<Value> {
    let mut changed: Option<Vec<Value>> = None;
    for (place, item) in items.iter().enumerate() {
        if let Some(new) = change(place, item) {
            changed.get_or_insert_with(|| items.to_vec())[place] = new;
        }
    }
    changed.map(Value::list)
}
