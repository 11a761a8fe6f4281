//! The parts of metadata that the server sets.

use pintle_meta::names;
use pintle_meta::time::Time;
use pintle_meta::{Status, Value};
use pintle_runtime::Random;

use crate::Result;
use crate::strategy::Strategy;

/// Gives a new object its creation time, its identity and, if only the beginning of one was given, its name.
pub(crate) fn fill(object: &mut Value, now: Time, random: &Random, strategy: &dyn Strategy) -> Result<()> {
    let now = now.truncated().to_string();
    let uid = names::uuid((u128::from(random.number()) << 64) | u128::from(random.number()));
    let generated = (object.name().is_empty() && !object.generate_name().is_empty())
        .then(|| strategy.generate_name(object.generate_name(), &mut || random.number()));
    let metadata = object.metadata_mut().ok_or_else(no_metadata)?;
    metadata.insert("creationTimestamp", now);
    metadata.insert("uid", uid);
    if let Some(name) = generated {
        metadata.insert("name", name);
    }
    Ok(())
}

/// The object as the client sees it.
pub(crate) fn at_revision(mut object: Value, revision: u64) -> Value {
    if let Some(metadata) = object.metadata_mut() {
        metadata.insert("resourceVersion", revision.to_string());
    }
    object
}

/// The object as it is stored: which revision wrote it, the store knows.
pub(crate) fn without_revision(mut object: Value) -> Value {
    if object
        .metadata()
        .is_some_and(|metadata| metadata.contains("resourceVersion") || metadata.contains("selfLink"))
        && let Some(metadata) = object.metadata_mut()
    {
        metadata.remove("resourceVersion");
        metadata.remove("selfLink");
    }
    object
}

/// The object without its managers, if it has any.
pub(crate) fn without_managers(object: &Value) -> Option<Value> {
    object.metadata().filter(|metadata| metadata.contains("managedFields"))?;
    let mut object = object.clone();
    object.metadata_mut()?.remove("managedFields");
    Some(object)
}

/// The revision that an object names; 0 if it names none.
pub(crate) fn revision_of(object: &Value) -> Result<u64> {
    match object.resource_version() {
        "" => Ok(0),
        text => text.parse().map_err(|_| {
            let error = format!("strconv.ParseUint: parsing {}: invalid syntax", pintle_meta::quote(text));
            Box::new(Status::plain(error))
        }),
    }
}

pub(crate) fn no_metadata() -> Box<Status> {
    Box::new(Status::internal("object does not implement the Object interfaces"))
}

/// Puts what stood in the old metadata into the new, or takes it out.
pub(crate) fn keep(new: &mut Value, old: &Value, field: &str) {
    let before = old.metadata().and_then(|metadata| metadata.get(field)).cloned();
    if new.metadata().and_then(|metadata| metadata.get(field)) == before.as_ref() {
        return;
    }
    let Some(metadata) = new.metadata_mut() else { return };
    match before {
        Some(before) => drop(metadata.insert(field.to_owned(), before)),
        None => drop(metadata.remove(field)),
    }
}
