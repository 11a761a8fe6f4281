//! Rules about the metadata that a client sends.

use pintle_meta::{Status, Value};

use crate::Result;

/// Removes the fields that only the server sets from a new object, so that its client does not come to manage them.
pub(super) fn wipe_system_fields(object: &mut Value) {
    const SYSTEM: [&str; 5] =
        ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];
    let Some(metadata) = object.metadata() else { return };
    if SYSTEM.iter().any(|field| metadata.contains(field))
        && let Some(metadata) = object.metadata_mut()
    {
        for field in SYSTEM {
            metadata.remove(field);
        }
    }
}

/// Puts an object that names no namespace into that of its request, which is empty for a cluster-scoped resource.
///
/// Errors: `BadRequest` for an object of another namespace.
pub(crate) fn enforce_namespace(object: &mut Value, namespace: &str) -> Result<()> {
    let own = object.namespace();
    if own == namespace {
        return Ok(());
    }
    if !own.is_empty() && !namespace.is_empty() {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Box::new(Status::bad_request(why)));
    }
    let Some(metadata) = object.metadata_mut() else { return Ok(()) };
    if namespace.is_empty() {
        metadata.remove("namespace");
    } else {
        metadata.insert("namespace", namespace);
    }
    Ok(())
}

/// Checks that an object, which is of the request's namespace, is the one that the request's path names.
pub(super) fn check_name(object: &Value, name: &str) -> Result<()> {
    let why = match object.name() {
        own if own == name => return Ok(()),
        "" => {
            format!("the name of the object ({name} based on URL) was undeterminable: name must be provided")
        }
        own => format!("the name of the object ({own}) does not match the name on the URL ({name})"),
    };
    Err(Box::new(Status::bad_request(why)))
}
