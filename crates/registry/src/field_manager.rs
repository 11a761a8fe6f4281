//! Managed fields of an object that is about to be written.

use pintle_meta::gvk::GroupVersion;
use pintle_meta::time::Time;
use pintle_meta::{Status, Value};
use pintle_patch::fieldset::{Element, Filter, Matcher, Set};
use pintle_patch::managed::{self, Resets, Write};

use crate::Result;
use crate::served::Served;
use crate::strategy::ResetFields;

/// A field manager of a resource or subresource.
#[derive(Clone, Debug)]
pub struct FieldManager {
    name: String,
    subresource: String,
    resets: Resets,
}

impl FieldManager {
    /// `name` is as [`managed::manager_name`] finds it; `subresource` is empty for the resource itself.
    pub fn new(name: impl Into<String>, subresource: impl Into<String>, resets: ResetFields) -> FieldManager {
        FieldManager { name: name.into(), subresource: subresource.into(), resets: resets_of(resets) }
    }

    /// For a custom resource: strategies of its versions know of their own only, so that managers of other versions lose a
    /// field to a write that does not reach it.
    #[must_use]
    pub fn of_version(self, api_version: impl Into<String>) -> FieldManager {
        FieldManager { resets: self.resets.only_in(api_version), ..self }
    }

    /// Gives a new object its managers, in terms of the served version. Both objects are of the stored version; `live` is
    /// nothing for one that is being created.
    pub fn record(
        &self,
        served: &dyn Served,
        live: Option<&Value>,
        new: &mut Value,
        now: &Time,
    ) -> Result<()> {
        let live = live.cloned().map(|live| served.to_served(live)).transpose()?;
        let mut seen = served.to_served(new.clone())?;
        let (api_version, now) = (served.kind().api_version(), now.truncated().to_string());
        let write = self.write(served, &api_version, &now);
        if let Err(reason) = managed::update(&write, live.as_ref(), &mut seen) {
            // Nothing that a client is told: the write goes on.
            tracing::warn!(reason, name = new.name(), "cannot tell who manages the fields of an object");
        }
        let entries = seen.metadata().and_then(|metadata| metadata.get("managedFields")).cloned();
        let Some(metadata) = new.metadata_mut() else { return Ok(()) };
        match entries {
            Some(entries) => drop(metadata.insert("managedFields", entries)),
            None => drop(metadata.remove("managedFields")),
        }
        Ok(())
    }
}

impl FieldManager {
    /// Merges an applied configuration into an object. `config` is what the request's text says; `live` is of the stored version.
    /// What nothing changes comes out as it went in.
    pub fn apply(
        &self,
        served: &dyn Served,
        live: Option<&Value>,
        config: &Value,
        force: bool,
        now: &Time,
    ) -> Result<Applied> {
        let kind = served.kind();
        // A configuration without a valid apiVersion is of no kind.
        let version = GroupVersion::parse(config.api_version());
        let found = version.map(|version| version.with_kind(config.kind())).unwrap_or_default();
        if found != *kind {
            return Err(Box::new(Status::bad_request(format!("invalid object type: {found}"))));
        }
        let seen = match live {
            Some(live) => served.to_served(live.clone())?,
            None => served.zero(),
        };
        let (api_version, now) = (kind.api_version(), now.truncated().to_string());
        let write = self.write(served, &api_version, &now);
        let applied = managed::apply(&write, &seen, config, force)
            .map_err(|refusal| Box::new(Status::from(refusal)))?;
        let stored = |object| served.to_stored(object).map_err(|error| Box::new(Status::internal(error)));
        let mut new = match (applied.object, live) {
            (Some(object), _) => stored(object)?,
            (None, Some(live)) => live.clone(),
            (None, None) => stored(seen)?,
        };
        managed::keep_last_applied(&mut new, &self.name, config);
        applied.managed.set(&mut new);
        Ok(Applied { object: new, merged: applied.merged })
    }

    fn write<'a>(&'a self, served: &'a dyn Served, api_version: &'a str, now: &'a str) -> Write<'a> {
        Write {
            of: served.managed_type(),
            manager: &self.name,
            subresource: &self.subresource,
            api_version,
            now,
            resets: &self.resets,
            converter: served.managed_versions(),
        }
    }
}

/// The outcome of an apply.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The new object in the stored version, with its defaults and managers.
    pub object: Value,
    /// The merged object in the served version, before it was read; `None` if nothing changed.
    pub merged: Option<Value>,
}

fn resets_of(fields: ResetFields) -> Resets {
    match fields {
        ResetFields::These([]) => Resets::none(),
        ResetFields::These(paths) => Resets::everywhere(Filter::Exclude(Set::of_fields(paths))),
        ResetFields::AllBut(paths) => {
            let element = |name: &&str| (*name != "*").then(|| Element::field(*name));
            let matcher = |path: &&[&str]| Matcher::prefix(path.iter().map(element).collect::<Vec<_>>());
            match paths.iter().map(matcher).reduce(Matcher::or) {
                Some(matcher) => Resets::everywhere(Filter::Include(matcher)),
                None => Resets::none(),
            }
        }
    }
}
