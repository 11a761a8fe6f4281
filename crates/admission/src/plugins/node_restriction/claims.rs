//! Persistent volume claims: a node reports the progress of an expansion in their status, and nothing else.

use pintle_features::{Feature, Features};
use pintle_meta::{Value, quote};
use pintle_schema::go;

use super::or_null;
use crate::Result;
use crate::attributes::{Attributes, Operation};

pub(super) fn status(node: &str, attributes: &Attributes<'_>, features: Features) -> Result<()> {
    if attributes.operation != Operation::Update {
        let operation = quote(attributes.operation.as_str());
        return Err(attributes.forbidden(&format!("unexpected operation {operation}")));
    }
    let rest = |object: Option<&Value>| without_expansion(or_null(object).clone(), features);
    let (old, new) = (rest(attributes.old_object()), rest(attributes.object()));
    if old == new {
        return Ok(());
    }
    let diff = go::diff("core.PersistentVolumeClaim", &old, &new);
    let why = format!(
        "node {} is not allowed to update fields other than status.quantity and status.conditions: {diff}",
        quote(node)
    );
    Err(attributes.forbidden(&why))
}

/// Returns the claim without the fields that a node may change, its managed fields and its resource version.
fn without_expansion(mut claim: Value, features: Features) -> Value {
    if let Some(metadata) = claim.metadata_mut() {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
    }
    if let Some(status) = claim.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("capacity");
        status.remove("conditions");
        if features.enabled(Feature::RecoverVolumeExpansionFailure) {
            status.remove("allocatedResources");
            status.remove("allocatedResourceStatuses");
        }
    }
    claim
}
