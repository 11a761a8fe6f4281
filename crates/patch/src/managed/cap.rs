//! Limit of the number of managers.

use std::collections::BTreeMap;

use pintle_meta::value::Key;

use super::entries::{Id, Managed, Operation};
use crate::fieldset::Set;

/// Maximal number of update entries of an object.
const MAX_UPDATERS: usize = 10;

/// Manager of the fields of merged entries.
const ANCIENT: &str = "ancient-changes";

/// Merges the oldest update entries of a version until there are few enough.
///
/// As in the reference, a merged entry that is not the oldest of its version is lost when it is its turn.
pub(super) fn cap(managed: &mut Managed) {
    let managers = &mut managed.managers;
    let mut updaters: Vec<(i64, Vec<u8>, Id)> = Vec::new();
    let is_update = |id: &&Id| id.operation == Operation::Update;
    let mut left = managers.keys().filter(is_update).count();
    if left <= MAX_UPDATERS {
        return;
    }
    for (id, manager) in managers.iter().filter(|(id, _)| is_update(id)) {
        updaters.push((manager.seconds(), id.text(), id.clone()));
    }
    updaters.sort();
    let mut first_of: BTreeMap<Key, Id> = BTreeMap::new();
    // Sets that merged entries absorb, joined at the end: there may be thousands.
    let mut taken: BTreeMap<Id, Vec<Set>> = BTreeMap::new();
    for (.., id) in updaters {
        if left <= MAX_UPDATERS {
            break;
        }
        let Some(manager) = managers.get(&id) else { continue };
        let bucket = Id::new(ANCIENT, Operation::Update, &manager.api_version, "");
        let Some(first) = first_of.get(&manager.api_version) else {
            first_of.insert(manager.api_version.clone(), id);
            continue;
        };
        if !managers.contains_key(&bucket)
            && let Some(renamed) = managers.remove(first)
        {
            managers.insert(bucket.clone(), renamed);
        }
        left -= 1;
        let Some(joining) = managers.remove(&id) else { continue };
        if id == bucket {
            taken.remove(&bucket);
        } else if let Some(known) = managers.get_mut(&bucket) {
            // The time is that of the later entry, the one merged last.
            known.time = joining.time;
            taken.entry(bucket).or_default().push(joining.fields);
        }
    }
    for (bucket, mut sets) in taken {
        if let Some(known) = managers.get_mut(&bucket) {
            sets.push(std::mem::take(&mut known.fields));
            known.fields = Set::union_of(sets);
        }
    }
}
