//! Times that would be all that a write changes.

use pintle_meta::Value;

/// Takes the old times where nothing but times has changed, so that the write is none.
pub fn keep_timestamps(old: &Value, new: &mut Value) {
    let path = ["metadata", "managedFields"];
    let (before, after) = (old.items_at(&path), new.items_at(&path));
    if before.len() != after.len() || after.is_empty() {
        return;
    }
    let time = |entry: &Value| entry.get("time").cloned();
    if before.iter().zip(after).all(|(a, b)| time(a) == time(b)) {
        return;
    }
    let timeless = |entry: &Value| {
        let mut entry = entry.clone();
        if let Some(object) = entry.as_object_mut() {
            object.remove("time");
        }
        entry
    };
    if !before.iter().zip(after).all(|(a, b)| timeless(a) == timeless(b)) {
        return;
    }
    let mut candidate = new.clone();
    let Some(entries) = old.at(&path).cloned() else { return };
    if let Some(metadata) = candidate.metadata_mut() {
        metadata.insert("managedFields", entries);
    }
    if candidate == *old {
        *new = candidate;
    }
}
