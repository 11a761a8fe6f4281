//! Recording who manages the fields of an object that is about to be written.

use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_patch::fieldset::{Element, Filter, Matcher, Set};
use pintle_patch::managed::{self, Resets, Write};

use crate::Result;
use crate::served::Served;
use crate::strategy::ResetFields;

/// Who writes, through what.
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
        let write = Write {
            of: served.managed_type(),
            manager: &self.name,
            subresource: &self.subresource,
            api_version: &served.kind().api_version(),
            now: &now.truncated().to_string(),
            resets: &self.resets,
            converter: served.managed_versions(),
        };
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
