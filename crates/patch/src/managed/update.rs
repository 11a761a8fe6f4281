//! Managers of a write other than an apply.

use std::sync::LazyLock;

use pintle_meta::Value;
use pintle_meta::value::Key;
use pintle_schema::normal::zero_struct;

use super::cap::cap;
use super::entries::{Id, Managed, Manager, Operation};
use super::versions::Versions;
use crate::fieldset::{Filter, Set};
use crate::typed::TypeRef;

/// Write, as field management sees it.
#[derive(Clone, Copy)]
pub struct Write<'a> {
    /// Type of the objects, in the request's version.
    pub of: TypeRef<'a>,
    /// See [`super::manager_name`]; an empty name becomes `unknown`.
    pub manager: &'a str,
    /// Empty for the main resource.
    pub subresource: &'a str,
    pub api_version: &'a str,
    /// RFC 3339, in UTC, to the second.
    pub now: &'a str,
    /// Fields that the resource or subresource resets.
    pub resets: &'a Resets,
    pub converter: &'a dyn Converter,
}

/// Conversion of objects to the versions of managers.
pub trait Converter {
    /// Converts an object to a version and returns its type there; `None` if the kind has no such version (any more).
    fn convert(
        &self,
        of: TypeRef<'_>,
        object: &Value,
        api_version: &str,
    ) -> Result<Option<(TypeRef<'_>, Value)>, String>;
}

/// Converter for kinds that are identical in several versions.
#[derive(Clone, Copy, Debug)]
pub struct SameShape<'a> {
    pub of: TypeRef<'a>,
    /// The known versions, such as `apps/v1`.
    pub api_versions: &'a [&'a str],
}

impl Converter for SameShape<'_> {
    fn convert(
        &self,
        _: TypeRef<'_>,
        object: &Value,
        api_version: &str,
    ) -> Result<Option<(TypeRef<'_>, Value)>, String> {
        Ok(self.api_versions.contains(&api_version).then(|| (self.of, object.clone())))
    }
}

/// Fields that a strategy resets, by version.
#[derive(Clone, Debug, Default)]
pub struct Resets {
    by_version: Vec<(String, Filter)>,
    everywhere: Option<Filter>,
}

impl Resets {
    /// Resets nothing.
    pub const fn none() -> Resets {
        Resets { by_version: Vec::new(), everywhere: None }
    }

    /// Resets the same fields in every version.
    pub fn everywhere(filter: Filter) -> Resets {
        Resets { by_version: Vec::new(), everywhere: Some(filter) }
    }

    /// Resets fields in these versions only.
    pub fn by_version(filters: impl IntoIterator<Item = (String, Filter)>) -> Resets {
        Resets { by_version: filters.into_iter().collect(), everywhere: None }
    }

    /// Restricts a filter of every version to one.
    #[must_use]
    pub fn only_in(self, api_version: impl Into<String>) -> Resets {
        match self.everywhere {
            Some(filter) => Resets::by_version([(api_version.into(), filter)]),
            None => self,
        }
    }

    pub(super) fn at(&self, api_version: &str) -> Option<&Filter> {
        let found = self.by_version.iter().find(|(known, _)| known == api_version);
        found.map(|(_, filter)| filter).or(self.everywhere.as_ref())
    }
}

/// Sets the `managedFields` of the new object. `live` is the previous object; `None` on create.
///
/// On error the new object has none; clients do not see the error, and the write continues.
pub fn update(write: &Write<'_>, live: Option<&Value>, new: &mut Value) -> Result<(), String> {
    if new.metadata().is_none() {
        return Ok(());
    }
    let managed = take(write, live, new);
    if let Some(metadata) = new.metadata_mut().filter(|metadata| metadata.contains("managedFields")) {
        metadata.remove("managedFields");
    }
    let is_new = live.is_none_or(|live| live.uid().is_empty());
    if managed.is_empty() && !is_new {
        return Ok(());
    }
    let live = live.map(without_managed_fields).unwrap_or_else(|| zero(write.of));
    advance(write, managed, &live, new)?.set(new);
    Ok(())
}

/// Returns the zero value that a new object is compared with.
pub(super) fn zero(of: TypeRef<'_>) -> Value {
    match of {
        TypeRef::Builtin { shape, .. } => shape.structure().map_or(Value::NULL, zero_struct),
        _ => Value::NULL,
    }
}

/// Returns the managers before the write.
fn take(write: &Write<'_>, live: Option<&Value>, new: &Value) -> Managed {
    let before = || live.and_then(|live| Managed::of(live).ok()).unwrap_or_default();
    if !write.subresource.is_empty() {
        return before();
    }
    if is_reset(new) {
        return Managed::default();
    }
    // Clients that drop managedFields must not lose them.
    Managed::of(new).ok().filter(|managed| !managed.is_empty()).unwrap_or_else(before)
}

/// Returns whether the request clears all managers: an empty list, or one empty entry.
fn is_reset(new: &Value) -> bool {
    match new.at(&["metadata", "managedFields"]).and_then(Value::as_list) {
        None => false,
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(|entry| {
            let is_zero = |value: &Value| value.is_null() || value.as_str() == Some("");
            entry.iter().all(|(_, value)| is_zero(value))
        }),
        Some(_) => false,
    }
}

fn without_managed_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if object.at(&["metadata", "managedFields"]).is_some()
        && let Some(metadata) = object.metadata_mut()
    {
        metadata.remove("managedFields");
    }
    object
}

/// Fields that the server itself sets.
pub(super) static STRIPPED: LazyLock<Set> = LazyLock::new(|| {
    Set::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// Returns the managers after a write of everything by which `new` differs from `live`.
pub(super) fn advance(
    write: &Write<'_>,
    managed: Managed,
    live: &Value,
    new: &Value,
) -> Result<Managed, String> {
    let mut versions = Versions::new(write, live, new, Ok(new));
    let mut managers = versions.reconciled(managed)?.managers;
    let own = versions.own()?;
    for manager in managers.values_mut() {
        let changes = if manager.api_version == write.api_version {
            Some(&own)
        } else {
            versions.compare(&manager.api_version)?
        };
        let fields = std::mem::take(&mut manager.fields);
        // An object that is not convertible to a version any more has no managers there.
        let Some(changes) = changes else { continue };
        manager.fields =
            fields.difference(&changes.modified).difference(&changes.added).difference(&changes.removed);
    }
    managers.retain(|_, manager| !manager.fields.is_empty());

    let mut managed = Managed { managers };
    let mut fields = own.modified.union(own.added);
    fields = fields.difference(&STRIPPED);
    if !fields.is_empty() {
        let name = if write.manager.is_empty() { "unknown" } else { write.manager };
        let id = Id::new(name, Operation::Update, write.api_version, write.subresource);
        let before = managed.managers.remove(&id).map(|before| before.fields).unwrap_or_default();
        let api_version = Key::new(write.api_version);
        let time = Some(Key::new(write.now));
        managed.managers.insert(id, Manager { api_version, fields: fields.union(before), time });
    }
    cap(&mut managed);
    Ok(managed)
}
