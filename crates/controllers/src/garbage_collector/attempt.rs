//! Attempts to delete an object: only if none of its owners is left, or its owners wait for it.

use std::time::Duration;

use pintle_codec::ownership::Ownership;
use pintle_meta::{Reason, Status};
use pintle_registry::Result;
use serde_json::json;

use super::GarbageCollector;
use super::graph::{FOREGROUND, NodeView, ORPHAN};
use super::live::Live;
use super::node::{Existence, NodeId};
use super::patches;
use super::resources::{Resource, split};
use crate::api::{Location, found};

/// How often the removal of a finalizer is tried when other writes come first, and the first delay, which is multiplied each time.
const TRIES: u32 = 4;
const FIRST_DELAY: Duration = Duration::from_millis(10);
const FACTOR: u32 = 5;

pub(super) fn location(resource: &Resource, key: &str) -> Location {
    let (namespace, name) = split(key);
    Location::object(resource.resource.clone(), namespace, name)
}

impl GarbageCollector {
    /// Looks at a node: verifies whether its object exists, lets it go if it waited for its dependents and they are gone, or deletes
    /// it if its owners want that.
    pub(super) async fn attempt_to_delete(&self, id: NodeId) -> Result<()> {
        let Some(node) = self.view(id) else { return Ok(()) };
        match node.existence {
            Existence::Absent => return Ok(()),
            Existence::Unknown => return self.verify(id, &node).await,
            Existence::Present => {}
        }
        // Its dependents are looked at when it is gone.
        if node.flags.is_being_deleted && !node.flags.is_foreground {
            return Ok(());
        }
        if !node.is_served {
            return Ok(());
        }
        let Some(live) = self.read_same(&node.resource, &node.key, node.uid).await? else { return Ok(()) };
        if node.flags.is_foreground {
            return match node.blocking {
                0 => self.remove_finalizer(&node, FOREGROUND).await,
                _ => Ok(()),
            };
        }
        let metadata = live.metadata()?;
        let classified = match self.classify(&node.resource, &node.key, &metadata).await? {
            Ok(classified) => classified,
            Err(undecided) => {
                tracing::debug!(?undecided, key = node.key, "the owners of an object are not known");
                return Ok(());
            }
        };
        let (solid, dangling, waiting) = (classified.solid, classified.dangling, classified.waiting);
        let location = location(&node.resource, &node.key);
        if !solid.is_empty() {
            // A reference to a waiting owner would hold it for good.
            let uids: Vec<&str> = dangling.iter().chain(&waiting).map(|owner| &*owner.uid).collect();
            if uids.is_empty() {
                return Ok(());
            }
            let patch = patches::without_owners(&live, &uids)?;
            return found(self.patch(&location, patch).await).map(drop);
        }
        if dangling.is_empty() && waiting.is_empty() {
            return Ok(());
        }
        if !waiting.is_empty() && node.has_dependents {
            return self.delete_in_foreground(id, &node, &location, &live).await;
        }
        // The policy that the object itself asks for goes before the default.
        let policy = if metadata.has_finalizer(ORPHAN) {
            "Orphan"
        } else if metadata.has_finalizer(FOREGROUND) {
            "Foreground"
        } else {
            "Background"
        };
        self.delete(&node, &location, &live, &metadata, policy).await
    }

    /// Deletes an object with dependents, for an owner that waits for all of them.
    async fn delete_in_foreground(
        &self,
        id: NodeId,
        node: &NodeView,
        location: &Location,
        live: &Live,
    ) -> Result<()> {
        let is_circle = self.graph().has_waiting_dependent(id);
        if !is_circle {
            return self.delete(node, location, live, &live.metadata()?, "Foreground").await;
        }
        // In a circle each would wait for the next.
        if found(self.patch(location, patches::unblocking(live)?).await)?.is_none() {
            return Ok(());
        }
        match self.read_same(&node.resource, &node.key, node.uid).await? {
            Some(live) => self.delete(node, location, &live, &live.metadata()?, "Foreground").await,
            None => Ok(()),
        }
    }

    /// Deletes an object as it was read, or with changes that do not concern its owners.
    async fn delete(
        &self,
        node: &NodeView,
        location: &Location,
        live: &Live,
        metadata: &Ownership<'_>,
        policy: &str,
    ) -> Result<()> {
        let api = &self.config.api;
        let preconditions = json!({"uid": metadata.uid, "resourceVersion": live.resource_version});
        let options = json!({"preconditions": preconditions, "propagationPolicy": policy});
        let deleted = found(api.delete(location, options).await);
        let Err(conflict) = deleted else { return Ok(()) };
        if conflict.reason != Reason::Conflict {
            return Err(conflict);
        }
        let Some(now) = self.read_same(&node.resource, &node.key, node.uid).await? else { return Ok(()) };
        if now.resource_version == live.resource_version || now.metadata()?.owners != metadata.owners {
            return Err(conflict);
        }
        let options = json!({"preconditions": {"uid": metadata.uid}, "propagationPolicy": policy});
        found(api.delete(location, options).await).map(drop)
    }

    /// Finds out whether an object exists that references name.
    async fn verify(&self, id: NodeId, node: &NodeView) -> Result<()> {
        if node.resource.stored.is_none() {
            return Ok(());
        }
        // A cluster-scoped object may not have a namespaced owner: there is no key at which that could be.
        if node.resource.is_namespaced && node.key.starts_with('/') {
            return Ok(());
        }
        self.graph().begin_verification(id);
        if self.read_same(&node.resource, &node.key, node.uid).await?.is_some() {
            self.graph().verified(id);
            return Ok(());
        }
        let is_elsewhere = self.is_elsewhere(&node.resource, &node.key, node.uid).await;
        self.change(|graph| graph.verified_absent(id, is_elsewhere));
        Ok(())
    }

    /// Removes a finalizer of garbage collection from an object that is being deleted.
    pub(super) async fn remove_finalizer(&self, node: &NodeView, finalizer: &str) -> Result<()> {
        let mut delay = FIRST_DELAY;
        for _ in 0..TRIES {
            let Some(live) = self.read_same(&node.resource, &node.key, node.uid).await? else {
                return Ok(());
            };
            let Some(patch) = patches::without_finalizer(&live, &live.metadata()?, finalizer) else {
                return Ok(());
            };
            let object = location(&node.resource, &node.key);
            match found(self.config.api.patch(&object, crate::api::PatchKind::Merge, &patch).await) {
                Err(status) if status.reason == Reason::Conflict => {}
                patched => return patched.map(drop),
            }
            self.config.clock.sleep(delay).await;
            delay *= FACTOR;
        }
        let owner = format!("{} {}", node.resource.kind, node.key);
        Err(Box::new(Status::plain(format!(
            "updateMaxRetries({TRIES}) has reached. The garbage collector will retry later for owner {owner}"
        ))))
    }
}
