//! The resources whose objects are in the graph, and the kinds that owner references name.
//!
//! A kind that no resource serves has an entry of its own, so that references to it are kept until a resource comes. The entry of a
//! resource that is not served any more stays as long as the graph has nodes of it: dependents of its objects are still to go.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use pintle_meta::gvk::{GroupVersion, GroupVersionKind, GroupVersionResource};
use pintle_storage::Backend;

use crate::catalog::{CatalogResource, ObjectKeys};

/// Number of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ResourceId(pub(super) u32);

/// A resource, or a kind without one.
#[derive(Clone)]
pub(super) struct Resource {
    /// With an empty resource for a kind without one.
    pub(super) resource: GroupVersionResource,
    pub(super) kind: String,
    pub(super) is_namespaced: bool,
    pub(super) stored: Option<ObjectKeys>,
}

impl Resource {
    fn of(found: &CatalogResource) -> Option<Resource> {
        // Without these verbs the reference does not look after a resource either.
        if !found.verbs.delete || !found.verbs.list {
            return None;
        }
        Some(Resource {
            resource: found.resource.clone(),
            kind: found.kind.clone(),
            is_namespaced: found.is_namespaced,
            stored: Some(found.stored.clone()?),
        })
    }

    pub(super) fn api_version(&self) -> String {
        GroupVersion::new(&*self.resource.group, &*self.resource.version).to_string()
    }

    /// Events have no owners, but may be owners.
    pub(super) fn has_dependents_only(&self) -> bool {
        self.resource.resource == "events" && ["", "events.k8s.io"].contains(&self.resource.group.as_str())
    }

    /// Returns the key of an object that a dependent refers to by a name.
    pub(super) fn owner_key(&self, dependent_namespace: &str, name: &str) -> String {
        if self.is_namespaced || self.stored.is_none() {
            format!("{dependent_namespace}/{name}")
        } else {
            name.to_owned()
        }
    }
}

/// Splits a key of a namespaced or cluster-scoped object.
pub(super) fn split(key: &str) -> (&str, &str) {
    key.split_once('/').unwrap_or(("", key))
}

struct Slot {
    resource: Arc<Resource>,
    is_served: bool,
    /// Changes up to this revision are in the graph; `None`: the objects are to be read.
    loaded: Option<u64>,
    nodes: usize,
}

/// All entries.
#[derive(Default)]
pub(super) struct Resources {
    slots: Vec<Option<Slot>>,
    by_prefix: BTreeMap<Bytes, ResourceId>,
    by_kind: HashMap<GroupVersionKind, ResourceId>,
}

impl Resources {
    fn slot(&self, id: ResourceId) -> Option<&Slot> {
        self.slots.get(id.0 as usize)?.as_ref()
    }

    fn slot_mut(&mut self, id: ResourceId) -> Option<&mut Slot> {
        self.slots.get_mut(id.0 as usize)?.as_mut()
    }

    fn add(&mut self, slot: Slot) -> ResourceId {
        let free = self.slots.iter().position(Option::is_none).unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[free] = Some(slot);
        ResourceId(u32::try_from(free).unwrap_or(u32::MAX))
    }

    fn ids(&self) -> impl Iterator<Item = (ResourceId, &Slot)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(index, slot)| Some((ResourceId(u32::try_from(index).ok()?), slot.as_ref()?)))
    }

    pub(super) fn get(&self, id: ResourceId) -> Option<&Arc<Resource>> {
        self.slot(id).map(|slot| &slot.resource)
    }

    pub(super) fn is_served(&self, id: ResourceId) -> bool {
        self.slot(id).is_some_and(|slot| slot.is_served)
    }

    /// Returns the resource of a key in a store and the rest of the key, if changes after a revision are to be taken in.
    pub(super) fn of_key<'k>(
        &self,
        backend: &Arc<dyn Backend>,
        key: &'k [u8],
        revision: u64,
    ) -> Option<(ResourceId, &'k str)> {
        let before = (Bound::Unbounded, Bound::Included(key));
        let (prefix, id) = self.by_prefix.range::<[u8], _>(before).next_back()?;
        let rest = std::str::from_utf8(key.strip_prefix(&**prefix)?).ok()?;
        let slot = self.slot(*id)?;
        let is_new = slot.loaded.is_some_and(|loaded| revision > loaded);
        (is_new && is_in(slot, backend)).then_some((*id, rest))
    }

    /// Returns the entry of a kind, if it has one.
    pub(super) fn of_kind(&self, kind: &GroupVersionKind) -> Option<ResourceId> {
        self.by_kind.get(kind).copied()
    }

    /// Returns the entry of a resource in whatever version.
    pub(super) fn of_resource(&self, resource: &GroupVersionResource) -> Option<ResourceId> {
        let is_it = |slot: &Slot| {
            slot.resource.resource.group == resource.group
                && slot.resource.resource.resource == resource.resource
        };
        self.ids().find(|(_, slot)| slot.is_served && is_it(slot)).map(|(id, _)| id)
    }

    /// Remembers the resource of a kind; adds an entry for a kind without one.
    pub(super) fn learn(
        &mut self,
        kind: &GroupVersionKind,
        resource: Option<&GroupVersionResource>,
    ) -> ResourceId {
        if let Some(known) = self.of_kind(kind) {
            return known;
        }
        let found = resource.and_then(|resource| self.of_resource(resource));
        let id = found.unwrap_or_else(|| {
            let resource = Resource {
                resource: GroupVersionResource::new(&*kind.group, &*kind.version, ""),
                kind: kind.kind.clone(),
                is_namespaced: false,
                stored: None,
            };
            self.add(Slot { resource: Arc::new(resource), is_served: false, loaded: Some(0), nodes: 0 })
        });
        self.by_kind.insert(kind.clone(), id);
        id
    }

    /// Remembers that a kind without a resource got one.
    pub(super) fn relearn(&mut self, kind: &GroupVersionKind, id: ResourceId) {
        self.by_kind.insert(kind.clone(), id);
    }

    /// Returns the kinds without a resource.
    pub(super) fn unknown_kinds(&self) -> Vec<(ResourceId, GroupVersionKind)> {
        let unknown = self.ids().filter(|(_, slot)| slot.resource.stored.is_none());
        unknown.map(|(id, slot)| (id, kind_of(&slot.resource))).collect()
    }

    pub(super) fn count_node(&mut self, id: ResourceId) {
        if let Some(slot) = self.slot_mut(id) {
            slot.nodes += 1;
        }
    }

    /// Forgets a kind without a resource with its last node: users may name any number of kinds.
    pub(super) fn uncount_node(&mut self, id: ResourceId) {
        let Some(slot) = self.slot_mut(id) else { return };
        slot.nodes -= 1;
        if slot.nodes == 0 && slot.resource.stored.is_none() {
            let kind = kind_of(&slot.resource);
            if self.by_kind.get(&kind) == Some(&id) {
                self.by_kind.remove(&kind);
            }
            self.slots[id.0 as usize] = None;
        }
    }

    /// Takes in the resources that are served now. Those that are new have to be [loaded](Resources::unloaded).
    pub(super) fn update(&mut self, served: &[CatalogResource]) {
        let before: Vec<ResourceId> = self.by_prefix.values().copied().collect();
        let mut kept = Vec::new();
        for resource in served.iter().filter_map(Resource::of) {
            let Some(prefix) = resource.stored.as_ref().map(|keys| keys.prefix.clone()) else { continue };
            let known = self.by_prefix.get(&prefix).copied();
            if let Some(id) = known
                && let Some(slot) = self.slot_mut(id)
                && slot.resource.is_namespaced == resource.is_namespaced
            {
                if !slot.is_served {
                    (slot.is_served, slot.loaded) = (true, None);
                }
                if slot.resource.resource != resource.resource || slot.resource.kind != resource.kind {
                    slot.resource = Arc::new(resource);
                }
                kept.push(id);
                continue;
            }
            let slot = Slot { resource: Arc::new(resource), is_served: true, loaded: None, nodes: 0 };
            let id = self.add(slot);
            self.by_prefix.insert(prefix, id);
            kept.push(id);
        }
        for id in before.into_iter().filter(|id| !kept.contains(id)) {
            if let Some(slot) = self.slot_mut(id) {
                slot.is_served = false;
            }
        }
        self.forget_unused();
        // A kind may have another resource now. Those of resources that are gone stay with their nodes.
        let slots = &self.slots;
        let is_kept = |id: ResourceId| {
            let slot = slots.get(id.0 as usize).and_then(Option::as_ref);
            slot.is_some_and(|slot| !slot.is_served)
        };
        self.by_kind.retain(|_, id| is_kept(*id));
    }

    fn forget_unused(&mut self) {
        for slot in &mut self.slots {
            if slot
                .as_ref()
                .is_some_and(|slot| !slot.is_served && slot.nodes == 0 && slot.resource.stored.is_some())
            {
                *slot = None;
            }
        }
        let slots = &self.slots;
        self.by_prefix.retain(|_, id| slots.get(id.0 as usize).is_some_and(Option::is_some));
    }

    /// Returns the resources in a store whose objects are to be read.
    pub(super) fn unloaded(&self, backend: &Arc<dyn Backend>) -> Vec<ResourceId> {
        let unloaded = self.ids().filter(|(_, slot)| slot.loaded.is_none() && is_in(slot, backend));
        unloaded.map(|(id, _)| id).collect()
    }

    pub(super) fn set_loaded(&mut self, id: ResourceId, revision: u64) {
        if let Some(slot) = self.slot_mut(id) {
            slot.loaded = Some(revision);
        }
    }

    /// Lets all objects in a store be read again.
    pub(super) fn unload(&mut self, backend: &Arc<dyn Backend>) {
        for slot in self.slots.iter_mut().flatten().filter(|slot| is_in(slot, backend)) {
            slot.loaded = None;
        }
    }
}

fn is_in(slot: &Slot, backend: &Arc<dyn Backend>) -> bool {
    let address = |backend: &Arc<dyn Backend>| Arc::as_ptr(backend).cast::<()>();
    slot.resource.stored.as_ref().is_some_and(|keys| address(&keys.backend) == address(backend))
}

fn kind_of(resource: &Resource) -> GroupVersionKind {
    GroupVersionKind::new(&*resource.resource.group, &*resource.resource.version, &*resource.kind)
}
