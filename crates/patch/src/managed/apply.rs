//! What an apply makes of an object and of its managers.
//!
//! ```text
//! begin      what has no managers gets "before-first-apply" for all that it has
//! merge      the configuration on top of the live object
//! prune      without what was applied before and is not any more, unless somebody else has it
//! conflicts  what changes by that and is somebody's else: refused, or taken from them by force
//! own        all that the configuration has; what others have too is shared
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

/// Who has the fields of an object that nobody was noted for.
const BEFORE: &str = "before-first-apply";

/// Why an apply comes to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The client's mistake.
    #[error("{0}")]
    BadRequest(String),
    #[error("{}", .0.told().0)]
    Conflicts(Conflicts),
    /// The configuration does not fit; the reference does not tell that from a failure of its own.
    #[error("{0}")]
    Failed(String),
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Status {
        match refusal {
            Refusal::BadRequest(message) => Status::bad_request(message),
            Refusal::Failed(message) => Status::plain(message),
            Refusal::Conflicts(conflicts) => {
                let (message, causes) = conflicts.told();
                Status::apply_conflict(causes, message)
            }
        }
    }
}

/// The outcome of an apply.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The object in normal form, without the defaults of what is new in it, and with the managers that it had; `None` if
    /// it stays as it is.
    pub object: Option<Value>,
    pub managed: Managed,
}

/// Applies a configuration, which is as its text says it, to an object of the same version.
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
    let settled = if is_same { Ok(live.clone()) } else { normal(write.of, &new, live) };
    if !is_same {
        let versions = versions.after(&new, settled.as_ref().map_err(String::as_str));
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
    let object = match is_same {
        true => None,
        false => Some(settled.map_err(|reason| {
            let (what, kind) = (about(config), config.group_version_kind());
            failed(format!(
                "failed to convert new object ({what}) to proper version: unable to convert unstructured object to \
                 {kind}: {reason}"
            ))
        })?),
    };
    Ok(Applied { object, managed: Managed { managers } })
}

/// Takes what changed from its managers, if that may be.
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
            // It cannot be seen in their version any more.
            _ => gone.push((other.clone(), manager.fields.clone())),
        }
    }
    let conflicts = Conflicts::new(conflicts);
    if !force && !conflicts.is_empty() {
        let allowed = match write.manager == last_applied::MANAGER {
            true => still_applied(write, live).unwrap_or_default(),
            false => Set::new(),
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

/// A comparison as others see it.
struct Changes {
    /// What is there now, and was not or was something else.
    set: Set,
    removed: Set,
}

impl Changes {
    fn new(comparison: Comparison) -> Changes {
        Changes { set: comparison.modified.union(comparison.added), removed: comparison.removed }
    }
}

/// Whether an object's `managedFields` are what the reference takes for some, even if there are none in it.
fn are_some(value: &Value) -> bool {
    let Some(of) = find("meta/v1.ManagedFieldsEntry") else { return false };
    let is_entry = |item: &Value| item.as_object().is_some() && unstructured::to_typed(of, item).is_ok();
    value.as_list().is_some_and(|items| items.iter().all(is_entry))
}

/// What a configuration is about, as messages say it.
fn about(config: &Value) -> String {
    format!("{}/{}; {}", config.namespace(), config.name(), config.group_version_kind())
}
