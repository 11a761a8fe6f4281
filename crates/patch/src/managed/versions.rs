//! Objects of a write in the versions of their managers, each converted once.

use std::collections::BTreeMap;

use pintle_codec::unstructured;
use pintle_meta::Value;
use pintle_meta::value::Key;

use super::entries::{Managed, Manager};
use super::update::Write;
use crate::typed::{self, Comparison, TypeRef};

/// Object before and after a write.
pub(super) struct Versions<'a> {
    write: &'a Write<'a>,
    live: &'a Value,
    /// In the write's version, possibly not in normal form...
    new: &'a Value,
    /// ...and in normal form, for conversions.
    normal: Result<&'a Value, &'a str>,
    others: BTreeMap<Key, Other<'a>>,
}

struct Other<'a> {
    of: TypeRef<'a>,
    live: Value,
    comparison: Option<Comparison>,
}

impl<'a> Versions<'a> {
    pub(super) fn new(
        write: &'a Write<'a>,
        live: &'a Value,
        new: &'a Value,
        normal: Result<&'a Value, &'a str>,
    ) -> Versions<'a> {
        Versions { write, live, new, normal, others: BTreeMap::new() }
    }

    /// Replaces the object after the write.
    pub(super) fn after<'b>(self, new: &'b Value, normal: Result<&'b Value, &'b str>) -> Versions<'b>
    where
        'a: 'b,
    {
        Versions { write: self.write, live: self.live, new, normal, others: self.others }
    }

    /// Returns the managers of existing versions, reconciled with their current schemas. Removed versions take their
    /// managers with them.
    pub(super) fn reconciled(&mut self, managed: Managed) -> Result<Managed, String> {
        let mut managers = BTreeMap::new();
        for (id, manager) in managed.managers {
            if let Some(of) = self.type_in(&manager.api_version)? {
                managers.insert(id, Manager { fields: typed::reconcile(of, manager.fields), ..manager });
            }
        }
        Ok(Managed { managers })
    }

    /// Returns the object's type in a version; `None` if there is no such version.
    fn type_in(&mut self, api_version: &Key) -> Result<Option<TypeRef<'a>>, String> {
        if *api_version == self.write.api_version {
            return Ok(Some(self.write.of));
        }
        if let Some(known) = self.others.get(api_version) {
            return Ok(Some(known.of));
        }
        let Some((of, live)) = converted(self.write, self.write.of, self.live, api_version)? else {
            return Ok(None);
        };
        self.others.insert(api_version.clone(), Other { of, live, comparison: None });
        Ok(Some(of))
    }

    /// Compares in the version of the write.
    pub(super) fn own(&self) -> Result<Comparison, String> {
        compare(self.write, self.write.api_version, self.write.of, self.live, self.new)
    }

    /// Compares in another version than the write's; `None` if the new object cannot be converted to it.
    pub(super) fn compare(&mut self, api_version: &Key) -> Result<Option<&Comparison>, String> {
        if self.others.get(api_version).is_some_and(|other| other.comparison.is_none()) {
            let failed = |reason: &str| format!("failed to convert new object: {reason}");
            let normal = self.normal.map_err(failed)?;
            let write = self.write;
            let new = converted(write, write.of, normal, api_version).map_err(|reason| failed(&reason))?;
            if let Some((_, new)) = new
                && let Some(other) = self.others.get_mut(api_version)
            {
                other.comparison = Some(compare(write, api_version, other.of, &other.live, &new)?);
            }
        }
        Ok(self.others.get(api_version).and_then(|other| other.comparison.as_ref()))
    }
}

/// Converts an object to another version, if it exists, for a comparison.
pub(super) fn converted<'a>(
    write: &Write<'a>,
    of: TypeRef<'_>,
    object: &Value,
    api_version: &str,
) -> Result<Option<(TypeRef<'a>, Value)>, String> {
    let Some((of, object)) = write.converter.convert(of, object, api_version)? else { return Ok(None) };
    match typed::validate(of, &object, false) {
        Ok(()) => Ok(Some((of, object))),
        Err(found) => Err(typed::describe(&found)),
    }
}

/// Normalizes a merged object.
pub(super) fn normal(of: TypeRef<'_>, object: &Value, before: &Value) -> Result<Value, String> {
    match of.named() {
        Some(of) => {
            let read = unstructured::to_typed_since(of, object, before);
            read.map(|decoded| decoded.value).map_err(|error| error.to_string())
        }
        None => Ok(object.clone()),
    }
}

fn compare(
    write: &Write<'_>,
    api_version: &str,
    of: TypeRef<'_>,
    live: &Value,
    new: &Value,
) -> Result<Comparison, String> {
    let found =
        typed::compare(of, live, new).map_err(|error| format!("failed to compare objects: {error}"))?;
    Ok(found.filtered(write.resets.at(api_version)))
}
