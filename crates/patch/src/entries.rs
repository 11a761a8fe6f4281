//! Changes of many fields of an object at once.

use std::collections::HashSet;

use pintle_meta::Value;
use pintle_meta::value::{Key, Object};

/// Number of fields up to which they are inserted one by one.
const FEW: usize = 16;

/// Adds fields that an object does not have and removes others. A patch may have as many as fit into a request, and
/// moving all others for each would be quadratic.
pub(crate) fn update_fields(object: &mut Value, added: Vec<(Key, Value)>, removed: &HashSet<Key>) {
    let Some(object) = object.as_object_mut() else { return };
    if !removed.is_empty() {
        object.retain(|name, _| !removed.contains(name));
    }
    if added.len() <= FEW {
        for (name, value) in added {
            object.insert(name, value);
        }
        return;
    }
    let entries = object.entries().iter().cloned().chain(added).collect();
    *object = Object::from_unsorted(entries);
}
