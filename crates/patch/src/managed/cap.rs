//! Not too many managers.

use std::collections::BTreeMap;

use pintle_meta::value::Key;

use super::entries::{Id, Managed, Manager, Operation};

/// How many entries of updates an object keeps.
const MAX_UPDATERS: usize = 10;

/// Who the fields of forgotten managers belong to.
const ANCIENT: &str = "ancient-changes";

/// Joins the oldest updaters of the same version until there are few enough.
///
/// As in the reference, a bucket that is not the oldest of its version is lost when it is its turn.
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
    for (.., id) in updaters {
        if left <= MAX_UPDATERS {
            break;
        }
        let Some(manager) = managers.get(&id).cloned() else { continue };
        let bucket = Id::new(ANCIENT, Operation::Update, &manager.api_version, "");
        let Some(first) = first_of.get(&manager.api_version) else {
            first_of.insert(manager.api_version, id);
            continue;
        };
        if !managers.contains_key(&bucket)
            && let Some(renamed) = managers.remove(first)
        {
            managers.insert(bucket.clone(), renamed);
        }
        let before = managers.remove(&bucket).map(|before| before.fields).unwrap_or_default();
        // The later of the two times is that of the one which joins.
        let joined = Manager { fields: manager.fields.union(before), ..manager };
        managers.insert(bucket, joined);
        managers.remove(&id);
        left -= 1;
    }
}
