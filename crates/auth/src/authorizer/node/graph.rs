//! Which nodes have to do with which objects.
//!
//! A node may read what its pods use. All ways lead from an object to nodes:
//!
//! ```text
//! pod                                                -> node
//! configmap, serviceaccount, resourceclaim           -> pod -> node
//! secret, persistentvolumeclaim                      -> pod -> node
//! persistentvolume    -> persistentvolumeclaim       -> pod -> node
//! secret -> persistentvolume -> persistentvolumeclaim -> pod -> node
//! volumeattachment, resourceslice, podcertificaterequest -> node
//! ```
//!
//! So that a question costs the same however many pods use an object, nothing is walked when it is asked. Every vertex
//! counts, per node, the ways that lead there, and a change corrects the counts of what it concerns. A way through a claim
//! counts once per volume, not once per pod:
//!
//! ```text
//! pods a, b on n1 use claim c; volume v is bound to c and needs secret s
//!     c: n1 x2      v: n1 x1      s: n1 x1
//! b goes: c: n1 x1, v and s stay. a goes too: all three are forgotten.
//! ```

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use pintle_meta::Value;

use super::counts::Counts;
use super::references;

/// The object that a vertex stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    ConfigMap,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodCertificateRequest,
    ResourceClaim,
    ResourceSlice,
    Secret,
    ServiceAccount,
    VolumeAttachment,
}

impl Kind {
    /// The kinds of objects that the graph is made from.
    pub const SOURCES: [Kind; 5] = [
        Kind::Pod,
        Kind::PersistentVolume,
        Kind::VolumeAttachment,
        Kind::ResourceSlice,
        Kind::PodCertificateRequest,
    ];
}

/// A place among the slots.
type Id = u32;

#[derive(Clone, Debug)]
struct Vertex {
    key: Arc<str>,
    /// Ways to nodes.
    nodes: Counts,
    /// Of a pod or volume: what leads to it. Of a claim: the volumes that are bound to it.
    related: Vec<Id>,
    /// Number of others that have this one as related, or count it as their node.
    uses: u32,
    /// Whether the object itself is here; others are only spoken of.
    present: bool,
}

/// The graph. `Debug` shows what there is in a form that does not depend on how it came about.
#[derive(Clone, Default)]
pub struct Graph {
    /// From kind, namespace and name.
    index: HashMap<Arc<str>, Id>,
    slots: Vec<Option<Vertex>>,
    free: Vec<Id>,
}

/// The references of an object.
#[derive(Debug, Default)]
pub(super) struct References {
    /// Empty where there is none.
    pub(super) node: String,
    /// The claim of a volume.
    pub(super) claim: Option<(String, String)>,
    /// The objects that lead to it: kind, namespace, name.
    pub(super) sources: Vec<(Kind, String, String)>,
}

impl Graph {
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Takes in an object of one of [`Kind::SOURCES`], or what became of it.
    pub fn set(&mut self, kind: Kind, namespace: &str, name: &str, object: &Value) {
        let Some(references) = references::of(kind, object) else {
            return self.remove(kind, namespace, name);
        };
        let id = self.intern(kind, namespace, name);
        if self.is_unchanged(id, &references) {
            return;
        }
        let before = self.take(id);
        match kind {
            Kind::PersistentVolume => self.bind(id, &references),
            _ => self.run(id, &references),
        }
        self.vertex_mut(id).present = true;
        // Only now, so that what is still referred to keeps its place.
        for other in before {
            self.release(other);
        }
    }

    /// Forgets an object that is gone.
    pub fn remove(&mut self, kind: Kind, namespace: &str, name: &str) {
        let Some(id) = self.find(kind, namespace, name) else { return };
        for other in self.take(id) {
            self.release(other);
        }
        self.vertex_mut(id).present = false;
        self.forget_unused(id);
    }

    /// Forgets all objects of a kind.
    pub fn clear(&mut self, kind: Kind) {
        let of_kind = |vertex: &Vertex| vertex.present && vertex.key.as_bytes().first() == Some(&tag(kind));
        let all: Vec<Id> = (0..)
            .zip(&self.slots)
            .filter(|(_, slot)| slot.as_ref().is_some_and(of_kind))
            .map(|(id, _)| id)
            .collect();
        for id in all {
            for other in self.take(id) {
                self.release(other);
            }
            self.vertex_mut(id).present = false;
            self.forget_unused(id);
        }
    }

    /// Whether a way leads from an object to a node.
    pub fn has_path(&self, kind: Kind, namespace: &str, name: &str, node: &str) -> bool {
        let Some(node) = self.find(Kind::Node, "", node) else { return false };
        let Some(from) = self.find(kind, namespace, name) else { return false };
        self.vertex(from).nodes.contains(node)
    }

    /// Number of vertices.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Whether an object says what it said before, as with most changes of pods.
    fn is_unchanged(&self, id: Id, references: &References) -> bool {
        let vertex = self.vertex(id);
        let found = |(kind, namespace, name): &(Kind, String, String)| self.find(*kind, namespace, name);
        let Some(mut related) = references.sources.iter().map(found).collect::<Option<Vec<Id>>>() else {
            return false;
        };
        related.sort_unstable();
        related.dedup();
        let same_end = match &references.claim {
            Some((namespace, name)) => {
                let claim = self.find(Kind::PersistentVolumeClaim, namespace, name);
                related.extend(claim);
                claim.is_some()
            }
            None => {
                self.find(Kind::Node, "", &references.node).is_some_and(|node| vertex.nodes.contains(node))
            }
        };
        vertex.present && same_end && vertex.related == related
    }

    /// A pod, or something else that is of a node itself.
    fn run(&mut self, id: Id, references: &References) {
        if references.node.is_empty() {
            return;
        }
        let node = self.intern(Kind::Node, "", &references.node);
        self.count(id, node);
        let mut sources: Vec<Id> = references
            .sources
            .iter()
            .map(|(kind, namespace, name)| self.intern(*kind, namespace, name))
            .collect();
        sources.sort_unstable();
        sources.dedup();
        for source in &sources {
            self.vertex_mut(*source).uses += 1;
            self.count(*source, node);
        }
        self.vertex_mut(id).related = exact(sources);
    }

    /// A volume with its claim.
    fn bind(&mut self, id: Id, references: &References) {
        let Some((namespace, name)) = &references.claim else { return };
        let claim = self.intern(Kind::PersistentVolumeClaim, namespace, name);
        let mut related: Vec<Id> = references
            .sources
            .iter()
            .map(|(kind, namespace, name)| self.intern(*kind, namespace, name))
            .collect();
        related.sort_unstable();
        related.dedup();
        // The claim comes last: the one that is no source.
        related.push(claim);
        for other in &related {
            self.vertex_mut(*other).uses += 1;
        }
        self.vertex_mut(id).related = exact(related);
        self.vertex_mut(id).uses += 1;
        self.vertex_mut(claim).related.push(id);
        for node in self.vertex(claim).nodes.places() {
            self.pass_on(id, node);
        }
    }

    /// Takes a vertex out of the graph, but leaves it in its place. Returns what may not be needed any more.
    fn take(&mut self, id: Id) -> Vec<Id> {
        let related = std::mem::take(&mut self.vertex_mut(id).related);
        let nodes = self.vertex(id).nodes.places();
        match kind_of(&self.vertex(id).key) {
            Some(Kind::PersistentVolume) => {
                for node in nodes {
                    self.uncount(id, node);
                    for source in related.split_last().map_or(&[][..], |(_, sources)| sources) {
                        self.uncount(*source, node);
                    }
                }
                if let Some(claim) = related.last() {
                    self.vertex_mut(*claim).related.retain(|volume| *volume != id);
                    self.vertex_mut(id).uses -= 1;
                }
            }
            _ => {
                for node in nodes {
                    self.uncount(id, node);
                    for source in &related {
                        self.uncount(*source, node);
                    }
                }
            }
        }
        related
    }

    /// One more way to a node; if it is the first, all that leads here leads there too.
    fn count(&mut self, id: Id, node: Id) {
        let first = self.vertex_mut(id).nodes.add(node);
        if !first {
            return;
        }
        self.vertex_mut(node).uses += 1;
        if is_claim(&self.vertex(id).key) {
            for at in 0..self.vertex(id).related.len() {
                self.pass_on(self.vertex(id).related[at], node);
            }
        }
    }

    fn uncount(&mut self, id: Id, node: Id) {
        let last = self.vertex_mut(id).nodes.remove(node);
        if !last {
            return;
        }
        if is_claim(&self.vertex(id).key) {
            for at in 0..self.vertex(id).related.len() {
                let volume = self.vertex(id).related[at];
                self.uncount(volume, node);
                for at in 0..self.sources(volume) {
                    self.uncount(self.vertex(volume).related[at], node);
                }
            }
        }
        self.release(node);
    }

    /// From a claim to its volume, and to the secrets of that.
    fn pass_on(&mut self, volume: Id, node: Id) {
        self.count(volume, node);
        for at in 0..self.sources(volume) {
            self.count(self.vertex(volume).related[at], node);
        }
    }

    /// How many of a volume's related are sources: all but its claim.
    fn sources(&self, volume: Id) -> usize {
        self.vertex(volume).related.len().saturating_sub(1)
    }

    fn release(&mut self, id: Id) {
        self.vertex_mut(id).uses -= 1;
        self.forget_unused(id);
    }

    fn forget_unused(&mut self, id: Id) {
        if let Some(vertex) = self.slots[id as usize].take_if(|vertex| vertex.uses == 0 && !vertex.present) {
            self.index.remove(&vertex.key);
            self.free.push(id);
        }
    }

    fn find(&self, kind: Kind, namespace: &str, name: &str) -> Option<Id> {
        with_key(kind, namespace, name, |key| self.index.get(key).copied())
    }

    fn intern(&mut self, kind: Kind, namespace: &str, name: &str) -> Id {
        if let Some(id) = self.find(kind, namespace, name) {
            return id;
        }
        let key: Arc<str> = with_key(kind, namespace, name, |key| key.into());
        let vertex = Vertex {
            key: key.clone(),
            nodes: Counts::default(),
            related: Vec::new(),
            uses: 0,
            present: false,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = Some(vertex);
                id
            }
            None => {
                self.slots.push(Some(vertex));
                Id::try_from(self.slots.len() - 1).expect("fewer than four billion objects")
            }
        };
        self.index.insert(key, id);
        id
    }

    fn vertex(&self, id: Id) -> &Vertex {
        self.slots[id as usize].as_ref().expect("ids are of vertices that are used")
    }

    fn vertex_mut(&mut self, id: Id) -> &mut Vertex {
        self.slots[id as usize].as_mut().expect("ids are of vertices that are used")
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = |id: Id| self.vertex(id).key.replace('\0', "/");
        let mut all: Vec<_> = self.slots.iter().flatten().collect();
        all.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let shown = all.into_iter().map(|vertex| {
            let mut nodes: Vec<_> = vertex.nodes.iter().map(|(node, count)| (key(node), count)).collect();
            let mut related: Vec<_> = vertex.related.iter().map(|id| key(*id)).collect();
            nodes.sort_unstable();
            related.sort_unstable();
            (vertex.key.replace('\0', "/"), (vertex.present, vertex.uses, nodes, related))
        });
        f.debug_map().entries(shown).finish()
    }
}

/// Vectors that will not grow should not have room to.
fn exact(mut ids: Vec<Id>) -> Vec<Id> {
    ids.shrink_to_fit();
    ids
}

fn tag(kind: Kind) -> u8 {
    b'a' + kind as u8
}

fn kind_of(key: &str) -> Option<Kind> {
    let first = *key.as_bytes().first()?;
    [Kind::PersistentVolume, Kind::PersistentVolumeClaim].into_iter().find(|kind| tag(*kind) == first)
}

fn is_claim(key: &str) -> bool {
    kind_of(key) == Some(Kind::PersistentVolumeClaim)
}

/// A key without an allocation, if it is not unusually long. Names have no NUL, so that no two objects share one; a request's
/// name may have one, but then it is in a place where no object's key has it, or names what is there.
fn with_key<R>(kind: Kind, namespace: &str, name: &str, read: impl FnOnce(&str) -> R) -> R {
    let mut short = [0; 384];
    let length = namespace.len() + name.len() + 2;
    if length <= short.len() {
        short[0] = tag(kind);
        short[1..=namespace.len()].copy_from_slice(namespace.as_bytes());
        short[namespace.len() + 2..length].copy_from_slice(name.as_bytes());
        if let Ok(key) = std::str::from_utf8(&short[..length]) {
            return read(key);
        }
    }
    read(&format!("{}{namespace}\0{name}", char::from(tag(kind))))
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
