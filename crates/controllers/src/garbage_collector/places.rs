//! The places of the graph's nodes.

use super::node::Node;

/// Nodes of a block.
const BLOCK: usize = 256;

/// Nodes by their places, which are used again.
///
/// They are in blocks, since a graph that grows would otherwise move its nodes: for that moment they take their memory twice, and
/// afterwards room for as many again is left over.
#[derive(Default)]
pub(super) struct Places {
    blocks: Vec<Box<[Option<Node>]>>,
    /// Places below `end` without a node.
    free: Vec<u32>,
    end: u32,
}

impl Places {
    /// Returns the number of nodes.
    pub(super) fn len(&self) -> usize {
        self.end as usize - self.free.len()
    }

    /// Returns the end of all places, with and without nodes.
    pub(super) fn end(&self) -> u32 {
        self.end
    }

    pub(super) fn get(&self, place: u32) -> Option<&Node> {
        let (block, index) = split(place);
        self.blocks.get(block)?.get(index)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, place: u32) -> Option<&mut Node> {
        let (block, index) = split(place);
        self.blocks.get_mut(block)?.get_mut(index)?.as_mut()
    }

    /// Returns the place of a node that was added.
    pub(super) fn insert(&mut self, node: Node) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.end += 1;
            self.end - 1
        });
        let (block, index) = split(place);
        if block == self.blocks.len() {
            self.blocks.push(std::iter::repeat_with(|| None).take(BLOCK).collect());
        }
        self.blocks[block][index] = Some(node);
        place
    }

    /// Removes a node. The last one leaves no memory behind but a block.
    pub(super) fn remove(&mut self, place: u32) {
        let (block, index) = split(place);
        let slot = self.blocks.get_mut(block).and_then(|block| block.get_mut(index));
        if slot.and_then(Option::take).is_none() {
            return;
        }
        self.free.push(place);
        if self.len() == 0 {
            (self.free, self.end) = (Vec::new(), 0);
            self.blocks.truncate(1);
            self.blocks.shrink_to_fit();
        }
    }

    /// Returns all nodes.
    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, &Node)> {
        (0..self.end).filter_map(|place| Some((place, self.get(place)?)))
    }

    /// Returns all nodes, to be changed.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.blocks.iter_mut().flatten().flatten()
    }

    /// Returns the bytes of all places.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.blocks.len() * BLOCK * size_of::<Option<Node>>() + self.free.capacity() * size_of::<u32>()
    }
}

fn split(place: u32) -> (usize, usize) {
    (place as usize / BLOCK, place as usize % BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garbage_collector::node::{Existence, Flags, Uid};
    use crate::garbage_collector::resources::ResourceId;

    fn node(serial: u32) -> Node {
        Node {
            serial,
            resource: ResourceId(0),
            key: "a".into(),
            uid: Uid::of(""),
            next: u32::MAX,
            existence: Existence::Present,
            flags: Flags::default(),
            owners: Box::default(),
            dependents: None,
        }
    }

    #[test]
    fn a_place_is_used_again() {
        let mut places = Places::default();
        let all: Vec<u32> = (0..1000).map(|serial| places.insert(node(serial))).collect();
        assert!(all.iter().all(|place| places.get(*place).expect("a node").serial == *place));
        places.remove(300);
        assert_eq!((places.len(), places.get(300).is_none()), (999, true));
        places.remove(300);
        assert_eq!(places.len(), 999, "once");
        assert_eq!(places.insert(node(7)), 300);
        assert_eq!((places.len(), places.end(), places.all().count()), (1000, 1000, 1000));
    }

    #[test]
    fn a_graph_takes_no_more_than_its_nodes_and_gives_it_back() {
        let mut places = Places::default();
        for serial in 0..100_000 {
            places.insert(node(serial));
        }
        let needed = 100_000 * size_of::<Option<Node>>();
        assert!(places.memory() <= needed + BLOCK * size_of::<Option<Node>>(), "{}", places.memory());
        (0..100_000).for_each(|place| places.remove(place));
        assert_eq!((places.len(), places.end()), (0, 0));
        assert!(places.memory() <= BLOCK * size_of::<Option<Node>>(), "{}", places.memory());
        assert_eq!(places.insert(node(1)), 0);
    }
}
