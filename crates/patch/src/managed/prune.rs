//! Pruning of an apply: removes fields that its manager applied before and not now, and that no other manager owns.
//!
//! ```text
//! merged   live and configuration
//! pruned   merged without the manager's previous fields and everything below them
//! + owned      fields with a manager are restored, in the version of each
//! + dangling   and so are those that the manager did not own before
//! ```

use std::collections::BTreeMap;

use pintle_meta::Value;
use pintle_meta::value::Key;

use super::entries::{Id, Manager};
use super::update::Write;
use super::versions::{converted, normal};
use crate::fieldset::Set;
use crate::typed::{self, TypeRef, remove, to_field_set, with_named};

/// Object in some version; not always in normal form.
#[derive(Clone)]
struct Versioned<'a> {
    api_version: Key,
    of: TypeRef<'a>,
    object: Value,
    /// The normal object that it was derived from.
    before: Value,
}

impl<'a> Versioned<'a> {
    /// Converts to another version; `None` if there is no such version.
    fn to(&self, write: &Write<'a>, api_version: &Key) -> Result<Option<Versioned<'a>>, String> {
        if self.api_version == *api_version {
            return Ok(Some(self.clone()));
        }
        let object = normal(self.of, &self.object, &self.before)?;
        let found = converted(write, self.of, &object, api_version)?;
        let versioned = |(of, object): (TypeRef<'a>, Value)| Versioned {
            api_version: api_version.clone(),
            of,
            before: object.clone(),
            object,
        };
        Ok(found.map(versioned))
    }

    /// Returns its fields, with their ancestors.
    fn fields(&self, what: &str) -> Result<Set, String> {
        let failed = |invalid: typed::Invalid| format!("failed to create field set from {what}: {invalid}");
        Ok(with_named(self.of, &to_field_set(self.of, &self.object).map_err(failed)?))
    }

    fn without(&self, fields: &Set) -> Versioned<'a> {
        Versioned { object: remove(self.of, &self.object, fields), ..self.clone() }
    }
}

/// Returns the merged object without the fields that a manager released. `managers` has the manager's current fields,
/// `last` its previous ones.
pub(super) fn prune(
    write: &Write<'_>,
    live: &Value,
    merged: Value,
    managers: &BTreeMap<Id, Manager>,
    id: &Id,
    last: Option<&Manager>,
) -> Result<Value, String> {
    let (Some(own), Some(last)) = (managers.get(id), last) else { return Ok(merged) };
    // All previous fields are still applied, so nothing is removed. Their ancestors are applied as well. Managers of
    // other versions are converted all the same: the merged object may not be convertible to theirs.
    let is_one_version = || managers.values().all(|manager| manager.api_version == own.api_version);
    let goes_nothing = || last.api_version == own.api_version && last.fields.is_subset(&own.fields);
    if last.fields.is_empty() || goes_nothing() && is_one_version() {
        return Ok(merged);
    }
    let current = Versioned {
        api_version: own.api_version.clone(),
        of: write.of,
        object: merged,
        before: live.clone(),
    };
    let failed = |reason| format!("failed to convert merged object to last applied version: {reason}");
    let Some(merged) = current.to(write, &last.api_version).map_err(failed)? else {
        return Ok(current.object);
    };
    let last_fields = with_named(merged.of, &last.fields);
    let pruned = merged.without(&last_fields);
    let pruned = with_owned(write, &merged, pruned, managers)
        .map_err(|reason| format!("failed add back owned items: {reason}"))?;
    let pruned = with_dangling(write, &merged, &pruned, &last_fields)
        .map_err(|reason| format!("failed add back dangling items: {reason}"))?;
    match pruned.to(write, &own.api_version)? {
        Some(pruned) => Ok(pruned.object),
        None => Err(format!("there is no version {}", own.api_version)),
    }
}

fn with_owned<'a>(
    write: &Write<'a>,
    merged: &Versioned<'a>,
    mut pruned: Versioned<'a>,
    managers: &BTreeMap<Id, Manager>,
) -> Result<Versioned<'a>, String> {
    let mut by_version: BTreeMap<&Key, Vec<Set>> = BTreeMap::new();
    for manager in managers.values() {
        by_version.entry(&manager.api_version).or_default().push(manager.fields.clone());
    }
    let mut by_version: Vec<(&Key, Set)> =
        by_version.into_iter().map(|(version, sets)| (version, Set::union_of(sets))).collect();
    // The current version first: others may need fields that it restores.
    by_version.sort_by_key(|(version, _)| **version != merged.api_version);
    let mut merged = merged.clone();
    for (version, owned) in by_version {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |reason: String| format!("failed to convert {what} object at version {version}: {reason}")
        };
        let Some(merged_there) = merged.to(write, version).map_err(failed("merged"))? else { continue };
        merged = merged_there;
        let Some(pruned_there) = pruned.to(write, version).map_err(failed("pruned"))? else { continue };
        let all = merged.fields(&format!("merged object at version {version}"))?;
        let kept = pruned_there.fields(&format!("pruned object at version {version}"))?;
        pruned = merged.without(&all.difference(&kept.union(with_named(merged.of, &owned))));
    }
    Ok(pruned)
}

fn with_dangling<'a>(
    write: &Write<'a>,
    merged: &Versioned<'a>,
    pruned: &Versioned<'a>,
    last: &Set,
) -> Result<Versioned<'a>, String> {
    let failed = |reason| format!("failed to convert pruned object to last applied version: {reason}");
    let Some(pruned) = pruned.to(write, &merged.api_version).map_err(failed)? else {
        return Ok(merged.clone());
    };
    let kept = pruned.fields("pruned object in last applied version")?;
    let all = merged.fields("merged object in last applied version")?;
    Ok(merged.without(&all.difference(&kept).intersection(last)))
}
