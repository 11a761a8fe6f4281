//! The owners of an object as they are now: solid, dangling, or waiting for their dependents.

use pintle_codec::ownership::{Owner, Ownership};
use pintle_meta::gvk::GroupVersionKind;
use pintle_registry::Result;

use super::GarbageCollector;
use super::graph::FOREGROUND;
use super::node::{Existence, Uid};
use super::resources::{Resource, ResourceId, split};

/// The owners of an object, by what is to become of its references to them.
#[derive(Debug, Default)]
pub(super) struct Classified<'o, 'm> {
    /// They exist and do not wait.
    pub(super) solid: Vec<&'o Owner<'m>>,
    /// They do not exist.
    pub(super) dangling: Vec<&'o Owner<'m>>,
    /// They are being deleted, after their dependents.
    pub(super) waiting: Vec<&'o Owner<'m>>,
}

/// Why nothing can be said about the owners of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Undecided {
    /// No resource serves a kind. The object is looked at again when one does.
    UnknownKind,
    /// A cluster-scoped object refers to a namespaced owner.
    NamespacedOwner,
}

/// The findings about an owner.
enum State {
    Solid,
    Dangling { is_elsewhere: bool },
    Waiting,
}

impl GarbageCollector {
    /// Looks for the owners of an object.
    pub(super) async fn classify<'o, 'm>(
        &self,
        resource: &Resource,
        key: &str,
        object: &'o Ownership<'m>,
    ) -> Result<std::result::Result<Classified<'o, 'm>, Undecided>> {
        let mut classified = Classified::default();
        for owner in &object.owners {
            let Some((id, found)) = self.resource_of(owner).await else {
                return Ok(Err(Undecided::UnknownKind));
            };
            if found.is_namespaced && !resource.is_namespaced {
                let owner_key = found.owner_key("", &owner.name);
                if self.is_elsewhere(&found, &owner_key, Uid::of(&owner.uid)).await {
                    self.report_elsewhere(resource, key, &object.uid, owner).await;
                }
                return Ok(Err(Undecided::NamespacedOwner));
            }
            match self.state(id, &found, split(key).0, owner).await? {
                State::Solid => classified.solid.push(owner),
                State::Waiting => classified.waiting.push(owner),
                State::Dangling { is_elsewhere } => {
                    if is_elsewhere {
                        self.report_elsewhere(resource, key, &object.uid, owner).await;
                    }
                    classified.dangling.push(owner);
                }
            }
        }
        Ok(Ok(classified))
    }

    /// Returns the resource of an owner's kind.
    async fn resource_of(&self, owner: &Owner<'_>) -> Option<(ResourceId, std::sync::Arc<Resource>)> {
        let kind = GroupVersionKind::from_api_version(&owner.api_version, &owner.kind);
        let known = self.graph().resources.of_kind(&kind);
        let id = match known {
            Some(id) => id,
            None => {
                let (resource, _) = self.config.catalog.resource_of(&kind).await?;
                self.graph().resources.of_resource(&resource)?
            }
        };
        let found = self.graph().resources.get(id).cloned()?;
        found.stored.is_some().then_some((id, found))
    }

    async fn state(
        &self,
        id: ResourceId,
        resource: &Resource,
        dependent_namespace: &str,
        owner: &Owner<'_>,
    ) -> Result<State> {
        let (key, uid) = (resource.owner_key(dependent_namespace, &owner.name), Uid::of(&owner.uid));
        let node = {
            let graph = self.graph();
            graph.find_id(id, &key, uid).and_then(|node| Some((node, graph.view(node)?)))
        };
        // Its end was seen, so the store need not be asked for each of its dependents.
        if let Some((_, view)) = &node
            && view.existence == Existence::Absent
        {
            return Ok(State::Dangling { is_elsewhere: view.flags.is_elsewhere });
        }
        if let Some(live) = self.read_same(resource, &key, uid).await? {
            let metadata = live.metadata()?;
            let is_waiting = metadata.is_being_deleted && metadata.has_finalizer(FOREGROUND);
            return Ok(if is_waiting { State::Waiting } else { State::Solid });
        }
        let is_elsewhere = self.is_elsewhere(resource, &key, uid).await;
        if let Some((node, _)) = node {
            self.change(|graph| graph.verified_absent(node, is_elsewhere));
        }
        Ok(State::Dangling { is_elsewhere })
    }
}
