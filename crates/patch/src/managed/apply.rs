//! Server-side apply: the resulting object and its managers.
//!
//! ```text
//! begin      an object without managers gets "before-first-apply" for all its fields
//! merge      the configuration is merged into the live object
//! prune      fields applied before and not any more are removed, unless another manager owns them
//! conflicts  changed fields of other managers are rejected, or taken over by force
//! own        all fields of the configuration; those of other managers are shared
//! ```

use std::collections::BTreeMap;

use pintle_codec::unstructured;
use pintle_meta::value::Key;
use pintle_meta::{Status, Value};
use pintle_schema::find;

use super::conflicts::Conflicts;
use super::entries::{Id, Managed, Manager, Operation};
use super::last_applied::{self, still_applied};
use super::prune::prune;
use super::update::{STRIPPED, Write, advance, zero};
use super::versions::{Versions, normal};
use crate::fieldset::{Set, equal};
use crate::typed::{self, Comparison};

/// Manager of the fields of an object without managers.
const BEFORE: &str = "before-first-apply";

/// Reason why an apply failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Invalid request.
    #[error("{0}")]
    BadRequest(String),
    #[error("{}", .0.describe().0)]
    Conflicts(Conflicts),
    /// Invalid configuration; the reference does not distinguish it from an internal error.
    #[error("{0}")]
    Failed(String),
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Status {
        match refusal {
            Refusal::BadRequest(message) => Status::bad_request(message),
            Refusal::Failed(message) => Status::plain(message),
            Refusal::Conflicts(conflicts) => {
                let (message, causes) = conflicts.describe();
                Status::apply_conflict(causes, message)
            }
        }
    }
}

/// Result of an apply.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The object in normal form, without defaults for new fields, and with its previous managers; `None` if it is
    /// unchanged.
    pub object: Option<Value>,
    /// The same as it was merged, with the empty lists and maps that the normal form leaves out.
    pub merged: Option<Value>,
    pub managed: Managed,
}

/// Applies a configuration, decoded without defaults, to an object of the same version.
pub fn apply(write: &Write<'_>, live: &Value, config: &Value, force: bool) -> Result<Applied, Refusal> {
    let failed = Refusal::Failed;
    let mut managed =
        Managed::of(live).map_err(|error| failed(format!("failed to decode managed fields: {error}")))?;
    if config.at(&["metadata", "managedFields"]).is_some_and(are_some) {
        return Err(Refusal::BadRequest("metadata.managedFields must be nil".into()));
    }
    if managed.is_empty() && !live.uid().is_empty() {
        let before = Write { manager: BEFORE, ..*write };
        managed = advance(&before, managed, &zero(write.of), live)
            .map_err(|reason| failed(format!("failed to create manager for existing fields: {reason}")))?;
    }
    typed::validate(write.of, config, false).map_err(|found| {
        let what = about(config);
        failed(format!("failed to create typed patch object ({what}): {}", typed::describe(&found)))
    })?;

    let mut versions = Versions::new(write, live, live, Ok(live));
    let managed = versions.reconciled(managed).map_err(failed)?;
    let mut managers = managed.managers;
    let merged = typed::merge(write.of, live, config)
        .map_err(|found| failed(format!("failed to merge config: {}", typed::describe(&found))))?;
    let mut fields = typed::to_field_set(write.of, config)
        .map_err(|invalid| failed(format!("failed to get field set: {invalid}")))?;
    if let Some(filter) = write.resets.at(write.api_version) {
        fields = filter.apply(fields);
    }
    let id = Id::new(write.manager, Operation::Apply, write.api_version, write.subresource);
    let last = managers.remove(&id);
    let time = last.as_ref().and_then(|last| last.time.clone());
    let own = Manager { api_version: Key::new(write.api_version), fields, time };
    managers.insert(id.clone(), own);
    let new = prune(write, live, merged, &managers, &id, last.as_ref())
        .map_err(|reason| failed(format!("failed to prune fields: {reason}")))?;

    let is_same = new.is_same(live) || equal(live, &new);
    let normalized = if is_same { Ok(live.clone()) } else { normal(write.of, &new, live) };
    if !is_same {
        let versions = versions.after(&new, normalized.as_ref().map_err(String::as_str));
        take(versions, write, &mut managers, &id, live, force)?;
    }
    managers.retain(|_, manager| !manager.fields.is_empty());
    if let Some(mut own) = managers.remove(&id) {
        own.fields = own.fields.difference(&STRIPPED);
        if !is_same {
            own.time = Some(Key::new(write.now));
        }
        if !own.fields.is_empty() {
            managers.insert(id, own);
        }
    }
    let (object, merged) = if is_same {
        (None, None)
    } else {
        let object = normalized.map_err(|reason| {
            let (what, kind) = (about(config), config.group_version_kind());
            failed(format!(
                "failed to convert new object ({what}) to proper version: unable to convert unstructured object to \
                 {kind}: {reason}"
            ))
        })?;
        (Some(object), Some(new))
    };
    Ok(Applied { object, merged, managed: Managed { managers } })
}

/// Removes changed fields from their managers, if there are no conflicts or `force` is set.
fn take(
    mut versions: Versions<'_>,
    write: &Write<'_>,
    managers: &mut BTreeMap<Id, Manager>,
    id: &Id,
    live: &Value,
    force: bool,
) -> Result<(), Refusal> {
    let own = versions.own().map_err(Refusal::Failed)?;
    let mut by_version = BTreeMap::from([(Key::new(write.api_version), Some(Changes::new(own)))]);
    let mut conflicts = Vec::new();
    let mut gone = Vec::new();
    for (other, manager) in managers.iter().filter(|(other, _)| *other != id) {
        if !by_version.contains_key(&manager.api_version) {
            let changes = versions.compare(&manager.api_version).map_err(Refusal::Failed)?;
            by_version.insert(manager.api_version.clone(), changes.cloned().map(Changes::new));
        }
        match by_version.get(&manager.api_version) {
            Some(Some(changes)) => {
                conflicts.push((other.clone(), manager.fields.intersection(&changes.set)));
                gone.push((other.clone(), manager.fields.intersection(&changes.removed)));
            }
            // The object does not exist in their version any more.
            _ => gone.push((other.clone(), manager.fields.clone())),
        }
    }
    let conflicts = Conflicts::new(conflicts);
    if !force && !conflicts.is_empty() {
        let allowed = if write.manager == last_applied::MANAGER {
            still_applied(write, live).unwrap_or_default()
        } else {
            Set::new()
        };
        let left = conflicts.clone().without(&allowed);
        if !left.is_empty() {
            return Err(Refusal::Conflicts(left));
        }
    }
    let taken = conflicts.iter().chain(gone.iter().map(|(other, fields)| (other, fields)));
    for (other, fields) in taken {
        if let Some(manager) = managers.get_mut(other) {
            manager.fields = std::mem::take(&mut manager.fields).difference(fields);
        }
    }
    Ok(())
}

/// Comparison in the version of a manager.
struct Changes {
    /// Fields that were added or modified.
    set: Set,
    removed: Set,
}

impl Changes {
    fn new(comparison: Comparison) -> Changes {
        Changes { set: comparison.modified.union(comparison.added), removed: comparison.removed }
    }
}

/// Returns whether `managedFields` count as present for the reference, even if empty.
fn are_some(value: &Value) -> bool {
    let Some(of) = find("meta/v1.ManagedFieldsEntry") else { return false };
    let is_entry = |item: &Value| item.as_object().is_some() && unstructured::to_typed(of, item).is_ok();
    value.as_list().is_some_and(|items| items.iter().all(is_entry))
}

/// Returns the configuration's object reference for messages.
fn about(config: &Value) -> String {
    format!("{}/{}; {}", config.namespace(), config.name(), config.group_version_kind())
}
