//! The graph of owners and dependents.
//!
//! A node stands for an object of a resource, key and uid, and holds neither the object nor the text of its references. There is one for each
//! object that has owners, for each that a reference names, and for each that waits for its dependents; other objects have none.
//!
//! ```text
//! Deployment web          ReplicaSet web-1              Pod web-1-a
//! present                 present                       present
//! dependents {web-1}  <-- owners [web, blocking]
//!   blocking 1            dependents {web-1-a}      <-- owners [web-1, blocking]
//! ```
//!
//! References that name an object differently (another kind, name or namespace with the same uid) lead to different nodes, of which at
//! most one is ever present. How many dependents block an owner is counted, so that an owner is looked at once when the
//! last of them has gone, and not at every one.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use pintle_codec::ownership::Ownership;
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};

use super::node::{Edge, Existence, Flags, Node, NodeId, Uid};
use super::places::Places;
use super::resources::{Resource, ResourceId, Resources, split};

pub(super) const FOREGROUND: &str = "foregroundDeletion";
pub(super) const ORPHAN: &str = "orphan";

const NONE: u32 = u32::MAX;

/// The effects of a change: nodes that may have to be deleted or verified, and nodes whose dependents are to be orphaned.
#[derive(Debug, Default)]
pub(super) struct Effects {
    pub(super) delete: Vec<NodeId>,
    pub(super) orphan: Vec<NodeId>,
}

/// The resources of kinds that the graph did not know.
pub(super) type Answers = HashMap<GroupVersionKind, Option<GroupVersionResource>>;

/// A node as it is at a moment.
pub(super) struct NodeView {
    pub(super) resource: Arc<Resource>,
    pub(super) is_served: bool,
    pub(super) key: String,
    pub(super) uid: Uid,
    pub(super) existence: Existence,
    pub(super) flags: Flags,
    pub(super) blocking: u32,
    pub(super) has_dependents: bool,
}

#[derive(Default)]
pub(super) struct Graph {
    pub(super) resources: Resources,
    nodes: Places,
    /// The first node of each hash of resource and key.
    index: HashMap<u64, u32>,
    hasher: RandomState,
    next_serial: u32,
    /// Stores whose objects are being read. Until they are, nothing is asked for, and nothing is done that was.
    pub(super) loading: usize,
    effects: Effects,
}

impl Graph {
    /// Takes what changes since the last call ask for.
    pub(super) fn take_effects(&mut self) -> Effects {
        std::mem::take(&mut self.effects)
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    fn ask_delete(&mut self, place: u32) {
        if self.loading == 0
            && let Some(id) = self.id(place)
        {
            self.effects.delete.push(id);
        }
    }

    fn ask_orphan(&mut self, place: u32) {
        if self.loading == 0
            && let Some(id) = self.id(place)
        {
            self.effects.orphan.push(id);
        }
    }

    fn ask_delete_dependents(&mut self, place: u32) {
        let dependents: Vec<u32> = self.node(place).into_iter().flat_map(Node::dependents).collect();
        dependents.into_iter().for_each(|dependent| self.ask_delete(dependent));
    }

    fn node(&self, place: u32) -> Option<&Node> {
        self.nodes.get(place)
    }

    fn node_mut(&mut self, place: u32) -> Option<&mut Node> {
        self.nodes.get_mut(place)
    }

    fn id(&self, place: u32) -> Option<NodeId> {
        Some(NodeId { place, serial: self.node(place)?.serial })
    }

    fn live(&self, id: NodeId) -> Option<&Node> {
        self.node(id.place).filter(|node| node.serial == id.serial)
    }

    fn hash(&self, resource: ResourceId, key: &str) -> u64 {
        self.hasher.hash_one((resource, key))
    }

    /// Returns the nodes at a key.
    fn at<'g>(&'g self, resource: ResourceId, key: &'g str) -> impl Iterator<Item = u32> + 'g {
        let first = self.index.get(&self.hash(resource, key)).copied();
        let next = |place: &u32| self.node(*place).map(|node| node.next).filter(|next| *next != NONE);
        let is_at = move |place: &u32| {
            self.node(*place).is_some_and(|node| node.resource == resource && *node.key == *key)
        };
        std::iter::successors(first, next).filter(is_at)
    }

    /// Returns whether there is a node at a key.
    pub(super) fn knows(&self, resource: ResourceId, key: &str) -> bool {
        self.at(resource, key).next().is_some()
    }

    fn find(&self, resource: ResourceId, key: &str, uid: Uid) -> Option<u32> {
        self.at(resource, key).find(|place| self.node(*place).is_some_and(|node| node.uid == uid))
    }

    /// Returns the node of an object.
    pub(super) fn find_id(&self, resource: ResourceId, key: &str, uid: Uid) -> Option<NodeId> {
        self.id(self.find(resource, key, uid)?)
    }

    fn insert(&mut self, resource: ResourceId, key: &str, uid: Uid, existence: Existence) -> u32 {
        let serial = self.next_serial;
        self.next_serial = self.next_serial.wrapping_add(1);
        let place = self.nodes.insert(Node {
            serial,
            resource,
            key: key.into(),
            uid,
            next: NONE,
            existence,
            flags: Flags::default(),
            owners: Box::default(),
            dependents: None,
        });
        let next = self.index.insert(self.hash(resource, key), place);
        if let (Some(next), Some(node)) = (next, self.nodes.get_mut(place)) {
            node.next = next;
        }
        self.resources.count_node(resource);
        place
    }

    /// Removes a node that nothing needs any more.
    fn prune(&mut self, place: u32) {
        let Some(node) = self.node(place).filter(|node| !node.is_needed()) else { return };
        let (resource, next, hash) = (node.resource, node.next, self.hash(node.resource, &node.key));
        if self.index.get(&hash) == Some(&place) {
            match next {
                NONE => self.index.remove(&hash),
                next => self.index.insert(hash, next),
            };
        } else {
            let mut before = self.index.get(&hash).copied().unwrap_or(NONE);
            while let Some(node) = self.node_mut(before) {
                if node.next == place {
                    node.next = next;
                    break;
                }
                before = node.next;
            }
        }
        self.nodes.remove(place);
        if self.nodes.len() == 0 {
            // It may have been large.
            self.index = HashMap::new();
        }
        self.resources.uncount_node(resource);
    }

    /// Returns the node that a reference names. A new one is to be verified.
    fn owner(&mut self, resource: ResourceId, key: &str, uid: Uid) -> u32 {
        self.find(resource, key, uid).unwrap_or_else(|| {
            let place = self.insert(resource, key, uid, Existence::Unknown);
            self.ask_delete(place);
            place
        })
    }

    /// Takes in an object as it was written. Errors: kinds of owners that have to be looked up first.
    pub(super) fn put(
        &mut self,
        resource: ResourceId,
        key: &str,
        object: &Ownership<'_>,
        answers: &Answers,
    ) -> Result<(), Vec<GroupVersionKind>> {
        let Some(own) = self.resources.get(resource).cloned() else { return Ok(()) };
        let owners = if own.has_dependents_only() { &[][..] } else { &object.owners[..] };
        let kinds =
            owners.iter().map(|owner| GroupVersionKind::from_api_version(&owner.api_version, &owner.kind));
        let kinds: Vec<GroupVersionKind> = kinds.collect();
        let is_unknown =
            |kind: &&GroupVersionKind| self.resources.of_kind(kind).is_none() && !answers.contains_key(kind);
        let unknown: Vec<_> = kinds.iter().filter(is_unknown).cloned().collect();
        if !unknown.is_empty() {
            return Err(unknown);
        }
        let uid = Uid::of(&object.uid);
        let others: Vec<u32> = self
            .at(resource, key)
            .filter(|place| self.node(*place).is_some_and(|node| node.uid != uid))
            .collect();
        others.into_iter().for_each(|place| self.gone(place));

        let waits = |finalizer: &str| object.is_being_deleted && object.has_finalizer(finalizer);
        let (is_foreground, is_orphaning) = (waits(FOREGROUND), waits(ORPHAN));
        let place = match self.find(resource, key, uid) {
            Some(place) => place,
            None if owners.is_empty() && !is_foreground && !is_orphaning => return Ok(()),
            None => self.insert(resource, key, uid, Existence::Present),
        };
        let mut before = Flags::default();
        if let Some(node) = self.node_mut(place) {
            before = node.flags;
            node.existence = Existence::Present;
            node.flags = Flags {
                is_being_deleted: object.is_being_deleted,
                is_foreground,
                is_orphaning,
                is_seen: true,
                ..Flags::default()
            };
        }
        let mut edges = Vec::with_capacity(owners.len());
        for (owner, kind) in owners.iter().zip(&kinds) {
            let resource = self.resources.learn(kind, answers.get(kind).and_then(Option::as_ref));
            let Some(found) = self.resources.get(resource) else { continue };
            let key = found.owner_key(split(key).0, &owner.name);
            let owner_place = self.owner(resource, &key, Uid::of(&owner.uid));
            edges.push(Edge { owner: owner_place, is_blocking: owner.is_blocking() });
        }
        self.set_owners(place, edges);
        if is_orphaning && !before.is_orphaning {
            self.ask_orphan(place);
        } else if is_foreground && !before.is_foreground {
            self.ask_delete_dependents(place);
            self.ask_delete(place);
        }
        self.prune(place);
        Ok(())
    }

    /// Takes in that there is no object at a key.
    pub(super) fn delete(&mut self, resource: ResourceId, key: &str) {
        let places: Vec<u32> = self.at(resource, key).collect();
        places.into_iter().for_each(|place| self.gone(place));
    }

    /// The object of a node is gone, or may be where it was not known whether it is there.
    fn gone(&mut self, place: u32) {
        let Some(node) = self.node_mut(place) else { return };
        match node.existence {
            Existence::Absent => return,
            Existence::Unknown => {
                node.flags.is_touched = true;
                return self.ask_delete(place);
            }
            Existence::Present => {}
        }
        self.set_absent(place, false);
    }

    fn set_absent(&mut self, place: u32, is_elsewhere: bool) {
        let Some(node) = self.node_mut(place) else { return };
        node.existence = Existence::Absent;
        node.flags = Flags { is_elsewhere, ..Flags::default() };
        self.set_owners(place, Vec::new());
        self.ask_delete_dependents(place);
        self.prune(place);
    }

    /// Replaces the owners of a node.
    fn set_owners(&mut self, place: u32, mut edges: Vec<Edge>) {
        // Of several references to an owner, one that blocks counts.
        edges.sort_unstable_by_key(|edge| (edge.owner, !edge.is_blocking));
        edges.dedup_by_key(|edge| edge.owner);
        let Some(node) = self.node_mut(place) else { return };
        let old = std::mem::replace(&mut node.owners, edges.clone().into());
        let find = |edges: &[Edge], owner: u32| {
            edges.binary_search_by_key(&owner, |edge| edge.owner).ok().map(|index| edges[index])
        };
        for edge in &edges {
            match find(&old, edge.owner) {
                None => self.attach(place, *edge),
                Some(before) if before != *edge => self.change_blocking(*edge),
                Some(_) => {}
            }
        }
        for edge in old.iter().filter(|edge| find(&edges, edge.owner).is_none()) {
            self.detach(place, *edge);
        }
    }

    fn attach(&mut self, dependent: u32, edge: Edge) {
        let Some(owner) = self.node_mut(edge.owner) else { return };
        let dependents = owner.dependents.get_or_insert_default();
        dependents.places.insert(dependent);
        dependents.blocking += u32::from(edge.is_blocking);
        // The others were asked for when the owner began to be deleted.
        let is_ending = owner.existence == Existence::Absent || owner.flags.is_foreground;
        // A reference of a cluster-scoped object to a namespaced one is to be reported.
        if is_ending || owner.key.starts_with('/') {
            self.ask_delete(dependent);
        }
    }

    fn change_blocking(&mut self, edge: Edge) {
        if let Some(dependents) = self.node_mut(edge.owner).and_then(|owner| owner.dependents.as_mut()) {
            match edge.is_blocking {
                true => dependents.blocking += 1,
                false => dependents.blocking -= 1,
            }
            self.ask_if_unblocked(edge.owner);
        }
    }

    fn detach(&mut self, dependent: u32, edge: Edge) {
        let Some(owner) = self.node_mut(edge.owner) else { return };
        let Some(dependents) = &mut owner.dependents else { return };
        if dependents.places.remove(&dependent) {
            dependents.blocking -= u32::from(edge.is_blocking);
        }
        if dependents.places.is_empty() {
            owner.dependents = None;
        }
        if edge.is_blocking {
            self.ask_if_unblocked(edge.owner);
        }
        self.prune(edge.owner);
    }

    /// An owner that waits for its dependents is looked at once no dependent blocks it any more.
    fn ask_if_unblocked(&mut self, owner: u32) {
        if self.node(owner).is_some_and(|owner| owner.flags.is_foreground && owner.blocking() == 0) {
            self.ask_delete(owner);
        }
    }

    pub(super) fn view(&self, id: NodeId) -> Option<NodeView> {
        let node = self.live(id)?;
        Some(NodeView {
            resource: self.resources.get(node.resource)?.clone(),
            is_served: self.resources.is_served(node.resource),
            key: node.key.to_string(),
            uid: node.uid,
            existence: node.existence,
            flags: node.flags,
            blocking: node.blocking(),
            has_dependents: node.dependents.is_some(),
        })
    }

    pub(super) fn dependents(&self, id: NodeId) -> Vec<NodeId> {
        self.live(id).into_iter().flat_map(Node::dependents).filter_map(|place| self.id(place)).collect()
    }

    /// Returns whether a dependent waits for its own dependents, which may be in a circle with this node.
    pub(super) fn has_waiting_dependent(&self, id: NodeId) -> bool {
        let is_waiting = |place| self.node(place).is_some_and(|node| node.flags.is_foreground);
        self.live(id).is_some_and(|node| node.dependents().any(is_waiting))
    }

    /// To be called before the store is asked about an unknown node.
    pub(super) fn begin_verification(&mut self, id: NodeId) {
        if let Some(node) = self.node_mut(id.place).filter(|node| node.serial == id.serial) {
            node.flags.is_touched = false;
        }
    }

    /// Takes in that the store has the object of an unknown node, unless something happened at its key since.
    pub(super) fn verified(&mut self, id: NodeId) {
        if let Some(node) = self.node_mut(id.place).filter(|node| node.serial == id.serial)
            && node.existence == Existence::Unknown
            && !node.flags.is_touched
        {
            node.existence = Existence::Present;
        }
    }

    /// Takes in that the store does not have the object of a node.
    pub(super) fn verified_absent(&mut self, id: NodeId, is_elsewhere: bool) {
        if self.live(id).is_some_and(|node| node.existence != Existence::Absent) {
            self.set_absent(id.place, is_elsewhere);
        }
    }

    /// Lets the references to a kind that had no resource lead to one that it has now.
    pub(super) fn move_references(&mut self, from: ResourceId, to: ResourceId) {
        let Some(resource) = self.resources.get(to).cloned() else { return };
        for place in 0..self.nodes.end() {
            let Some(node) = self.node(place).filter(|node| node.resource == from) else { continue };
            let (namespace, name) = split(&node.key);
            let (key, uid) = (resource.owner_key(namespace, name), node.uid);
            let dependents: Vec<u32> = node.dependents().collect();
            for dependent in dependents {
                let new = self.owner(to, &key, uid);
                let Some(node) = self.node(dependent) else { continue };
                let moved =
                    |edge: &Edge| if edge.owner == place { Edge { owner: new, ..*edge } } else { *edge };
                let edges = node.owners.iter().map(moved).collect();
                self.set_owners(dependent, edges);
                self.ask_delete(dependent);
            }
        }
    }

    /// Prepares for all objects of some resources to be [put](Graph::put) again.
    pub(super) fn begin_load(&mut self, resources: &[ResourceId]) {
        for node in self.nodes.iter_mut().filter(|node| resources.contains(&node.resource)) {
            node.flags.is_seen = false;
            node.flags.is_touched = true;
        }
    }

    /// Takes in that all objects of some resources were put. Whether others are gone is for the store to say: one that a reference named
    /// after its resource was read, and that was [verified](Graph::verified) meanwhile, is there.
    pub(super) fn end_load(&mut self, resources: &[ResourceId], revision: u64) {
        let is_in_doubt = |node: &Node| {
            let is_unseen = node.existence == Existence::Present && !node.flags.is_seen;
            is_unseen && resources.contains(&node.resource)
        };
        for place in 0..self.nodes.end() {
            if let Some(node) = self.node_mut(place).filter(|node| is_in_doubt(node)) {
                node.existence = Existence::Unknown;
                self.gone(place);
            }
        }
        resources.iter().for_each(|id| self.resources.set_loaded(*id, revision));
    }

    /// Asks for everything that is left to do: of all nodes, or of those of some resources.
    pub(super) fn ask_all(&mut self, resources: Option<&[ResourceId]>) {
        for place in 0..self.nodes.end() {
            let Some(node) = self.node(place) else { continue };
            if resources.is_some_and(|resources| !resources.contains(&node.resource)) {
                continue;
            }
            let is_dead = |edge: &Edge| {
                let owner = self.node(edge.owner);
                owner.is_some_and(|owner| owner.existence == Existence::Absent || owner.flags.is_foreground)
            };
            if node.flags.is_orphaning {
                self.ask_orphan(place);
            } else if node.flags.is_foreground
                || node.existence == Existence::Unknown
                || node.owners.iter().any(is_dead)
            {
                self.ask_delete(place);
            }
        }
    }

    /// Returns the bytes that the graph takes, with an estimate of the overhead of maps.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        let index = self.index.capacity() * 8 / 7 * (size_of::<(u64, u32)>() + 1);
        let node = |node: &Node| {
            // A leaf of a BTree has room for 11, and is two thirds full.
            let dependents = |dependents: &super::node::Dependents| {
                size_of_val(dependents) + dependents.places.len() * 8 + 64
            };
            node.key.len().next_multiple_of(16)
                + size_of_val(&*node.owners)
                + node.dependents.as_deref().map_or(0, dependents)
        };
        self.nodes.memory() + index + self.nodes.all().map(|(_, found)| node(found)).sum::<usize>()
    }
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
