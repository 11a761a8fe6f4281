//! Patches of owner references and finalizers: strategic merge patches where the resource takes them, and JSON merge patches of whole
//! lists with the resourceVersion elsewhere.

use pintle_codec::ownership::{Owner, Ownership};
use pintle_meta::Reason;
use pintle_registry::Result;
use serde_json::{Value as Json, json};

use super::GarbageCollector;
use super::live::Live;
use crate::api::{Location, PatchKind};

/// The removal of references to some owners.
pub(super) fn without_owners(live: &Live, uids: &[&str]) -> Result<(Json, Json)> {
    let metadata = live.metadata()?;
    let removed: Vec<Json> = uids.iter().map(|uid| json!({"$patch": "delete", "uid": uid})).collect();
    let strategic = json!({"metadata": {"uid": metadata.uid, "ownerReferences": removed}});
    let left = metadata.owners.iter().filter(|owner| !uids.contains(&&*owner.uid));
    Ok((strategic, owners_patch(live, left.map(reference).collect())))
}

/// References that do not block their owners any more.
pub(super) fn unblocking(live: &Live) -> Result<(Json, Json)> {
    let metadata = live.metadata()?;
    let unblocked = |owner: &Owner<'_>| {
        let mut reference = reference(owner);
        reference["blockOwnerDeletion"] = json!(false);
        reference
    };
    let blocking = metadata.owners.iter().filter(|owner| owner.is_blocking()).map(unblocked);
    let strategic =
        json!({"metadata": {"uid": metadata.uid, "ownerReferences": blocking.collect::<Vec<_>>()}});
    Ok((strategic, owners_patch(live, metadata.owners.iter().map(unblocked).collect())))
}

/// The removal of a finalizer; `None` if the object does not have it.
pub(super) fn without_finalizer(live: &Live, metadata: &Ownership<'_>, finalizer: &str) -> Option<Json> {
    let left: Vec<&str> =
        metadata.finalizers.iter().map(|found| &**found).filter(|found| *found != finalizer).collect();
    if left.len() == metadata.finalizers.len() {
        return None;
    }
    let left = if left.is_empty() { Json::Null } else { json!(left) };
    Some(json!({"metadata": {"resourceVersion": live.resource_version, "finalizers": left}}))
}

fn owners_patch(live: &Live, owners: Vec<Json>) -> Json {
    let owners = if owners.is_empty() { Json::Null } else { Json::Array(owners) };
    json!({"metadata": {"resourceVersion": live.resource_version, "ownerReferences": owners}})
}

fn reference(owner: &Owner<'_>) -> Json {
    let Owner { api_version, kind, name, uid, .. } = owner;
    let mut reference = json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid});
    for (field, flag) in
        [("controller", owner.controller), ("blockOwnerDeletion", owner.block_owner_deletion)]
    {
        if let Some(flag) = flag {
            reference[field] = json!(flag);
        }
    }
    reference
}

impl GarbageCollector {
    /// Sends a strategic merge patch, or else the merge patch that stands for it.
    pub(super) async fn patch(&self, object: &Location, (strategic, merge): (Json, Json)) -> Result<()> {
        let api = &self.config.api;
        match api.patch(object, PatchKind::Strategic, &strategic).await {
            Err(status) if status.reason == Reason::UnsupportedMediaType => {
                api.patch(object, PatchKind::Merge, &merge).await.map(drop)
            }
            patched => patched.map(drop),
        }
    }
}
