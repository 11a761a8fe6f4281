//! Lists and objects with some of their parts changed, built only if there is a change.

use pintle_meta::Value;
use pintle_meta::value::{Key, Object};

/// What becomes of a field.
pub(super) enum Fate {
    Stays,
    Goes,
    Becomes(Value),
}

impl From<Option<Value>> for Fate {
    fn from(changed: Option<Value>) -> Fate {
        changed.map_or(Fate::Stays, Fate::Becomes)
    }
}

/// The fields of an object after each had its fate; nothing if all stay.
pub(super) fn fields(
    object: &Object,
    mut fate: impl FnMut(&Key, &Value) -> Fate,
) -> Option<Vec<(Key, Value)>> {
    let entries = object.entries();
    let mut changed: Option<Vec<(Key, Value)>> = None;
    for (place, (key, value)) in entries.iter().enumerate() {
        let fate = fate(key, value);
        if matches!(fate, Fate::Stays) && changed.is_none() {
            continue;
        }
        let new = changed.get_or_insert_with(|| entries[..place].to_vec());
        match fate {
            Fate::Stays => new.push((key.clone(), value.clone())),
            Fate::Goes => {}
            Fate::Becomes(value) => new.push((key.clone(), value)),
        }
    }
    changed
}

/// The same for an object as a whole.
pub(super) fn object(object: &Object, fate: impl FnMut(&Key, &Value) -> Fate) -> Option<Value> {
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
