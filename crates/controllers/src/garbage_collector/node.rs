//! Nodes of the graph: objects that have owners, or that others name as their owner.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::resources::ResourceId;
use crate::runtime::Key;

/// A node as queues name it. Places are used again, serial numbers are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct NodeId {
    pub(super) place: u32,
    pub(super) serial: u32,
}

impl NodeId {
    pub(super) fn key(self) -> Key {
        format!("{}.{}", self.place, self.serial).into()
    }

    pub(super) fn parse(key: &str) -> Option<NodeId> {
        let (place, serial) = key.split_once('.')?;
        Some(NodeId { place: place.parse().ok()?, serial: serial.parse().ok()? })
    }
}

/// A uid in 16 bytes: a canonical UUID as it is, as every server makes them, and a hash of any other text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Uid([u64; 2]);

impl Uid {
    pub(super) fn of(text: &str) -> Uid {
        uuid(text).unwrap_or_else(|| {
            Uid([0, 1].map(|half: u8| {
                let mut hasher = DefaultHasher::new();
                (half, text).hash(&mut hasher);
                hasher.finish()
            }))
        })
    }
}

fn uuid(text: &str) -> Option<Uid> {
    let bytes: &[u8; 36] = text.as_bytes().try_into().ok()?;
    let mut number = 0u128;
    for (index, byte) in bytes.iter().enumerate() {
        let digit = match (index, byte) {
            (8 | 13 | 18 | 23, b'-') => continue,
            (8 | 13 | 18 | 23, _) => return None,
            (_, b'0'..=b'9') => byte - b'0',
            (_, b'a'..=b'f') => byte - b'a' + 10,
            _ => return None,
        };
        number = number << 4 | u128::from(digit);
    }
    Some(Uid([(number >> 64) as u64, number as u64]))
}

/// Whether the object of a node exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existence {
    /// A reference names it, and the store has not been asked yet.
    Unknown,
    Present,
    /// It was deleted, or never existed. That is final: an object that comes under its name has another uid.
    Absent,
}

/// The end of an edge at the dependent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) owner: u32,
    /// Whether a deletion of the owner in the foreground waits for the dependent.
    pub(super) is_blocking: bool,
}

/// The other ends of edges.
#[derive(Debug, Default)]
pub(super) struct Dependents {
    pub(super) places: BTreeSet<u32>,
    /// How many of them block the owner.
    pub(super) blocking: u32,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) serial: u32,
    pub(super) resource: ResourceId,
    pub(super) key: Box<str>,
    pub(super) uid: Uid,
    /// The next node with the same hash of resource and key.
    pub(super) next: u32,
    pub(super) existence: Existence,
    pub(super) flags: Flags,
    /// Sorted by owner, each once.
    pub(super) owners: Box<[Edge]>,
    pub(super) dependents: Option<Box<Dependents>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) is_being_deleted: bool,
    /// The object is being deleted and waits for its dependents.
    pub(super) is_foreground: bool,
    /// The object is being deleted and its dependents are to be orphaned.
    pub(super) is_orphaning: bool,
    /// Seen since its resource began to be loaded.
    pub(super) is_seen: bool,
    /// Something happened at its key while it was unknown: an answer of the store from before does not count.
    pub(super) is_touched: bool,
    /// It is absent where references look for it, but there is an object with its uid in another namespace.
    pub(super) is_elsewhere: bool,
}

impl Node {
    /// Whether there is a reason to keep it.
    pub(super) fn is_needed(&self) -> bool {
        let waits = self.flags.is_foreground || self.flags.is_orphaning;
        !self.owners.is_empty() || self.dependents.is_some() || waits
    }

    pub(super) fn dependents(&self) -> impl Iterator<Item = u32> + '_ {
        self.dependents.iter().flat_map(|dependents| dependents.places.iter().copied())
    }

    pub(super) fn blocking(&self) -> u32 {
        self.dependents.as_ref().map_or(0, |dependents| dependents.blocking)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_told_apart_from_other_texts() {
        let text = "0123abcd-4567-89ef-0123-456789abcdef";
        assert_eq!(Uid::of(text), Uid([0x0123_abcd_4567_89ef, 0x0123_4567_89ab_cdef]));
        for other in ["", "0123ABCD-4567-89ef-0123-456789abcdef", "0123abcd04567-89ef-0123-456789abcdef", "x"]
        {
            assert_eq!(uuid(other), None);
            assert_eq!(Uid::of(other), Uid::of(other));
            assert_ne!(Uid::of(other), Uid::of(text));
        }
    }

    #[test]
    fn queues_name_nodes() {
        let id = NodeId { place: 7, serial: 9 };
        assert_eq!(NodeId::parse(&id.key()), Some(id));
        assert_eq!(NodeId::parse("7"), None);
    }
}
