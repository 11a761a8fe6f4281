//! The objects of a resource at a revision, found by key and by the values of hot fields.
//!
//! An index holds the same entries as the map, ordered by value and then key, so that it costs a pointer per object and its
//! snapshots are as cheap. The objects of a node are a run in it:
//!
//! ```text
//! by key:             a/x(n2)  a/y(n1)  b/z(n2)
//! by spec.nodeName:   a/y(n1)  a/x(n2)  b/z(n2)
//! ```

use std::cmp::Ordering;
use std::sync::Arc;

use crate::entry::Entry;
use crate::map::{Map, Sorted, Spot};

/// The objects, and an index for each field that the kind names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    map: Map<Entry>,
    indexes: Box<[Index]>,
}

#[derive(Clone, Debug)]
struct Index {
    field: usize,
    sorted: Sorted<Entry>,
}

impl Index {
    /// Returns the place of an entry. Entries that cannot be read have no value and sort before all others.
    fn find(&self, value: Option<&str>, key: &str) -> Spot {
        let order = |entry: &Entry| entry.field(self.field).cmp(&value).then_with(|| entry.key().cmp(key));
        self.sorted.find(order)
    }

    fn put(&mut self, entry: Arc<Entry>) {
        self.sorted.put(self.find(entry.field(self.field), entry.key()), entry);
    }

    fn take(&mut self, entry: &Entry) {
        self.sorted.take(self.find(entry.field(self.field), entry.key()));
    }
}

impl Objects {
    /// Returns the objects of entries in the order of their keys.
    pub(crate) fn new(mut entries: Vec<Arc<Entry>>, fields: &[usize]) -> Objects {
        let map = Map::from_sorted(&entries);
        let index = |field: &usize| {
            let order = |a: &Arc<Entry>, b: &Arc<Entry>| -> Ordering {
                a.field(*field).cmp(&b.field(*field)).then_with(|| a.key().cmp(b.key()))
            };
            entries.sort_unstable_by(order);
            Index { field: *field, sorted: Sorted::of(&entries) }
        };
        Objects { map, indexes: fields.iter().map(index).collect() }
    }

    pub(crate) fn map(&self) -> &Map<Entry> {
        &self.map
    }

    /// Returns what had the key before.
    pub(crate) fn insert(&mut self, entry: Arc<Entry>) -> Option<Arc<Entry>> {
        let previous = self.map.insert(entry.clone());
        for index in &mut self.indexes {
            if let Some(moved) =
                previous.as_ref().filter(|old| old.field(index.field) != entry.field(index.field))
            {
                index.take(moved);
            }
            index.put(entry.clone());
        }
        previous
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Arc<Entry>> {
        let removed = self.map.remove(key)?;
        self.indexes.iter_mut().for_each(|index| index.take(&removed));
        Some(removed)
    }
}

/// The objects at a revision.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub objects: Map<Entry>,
    pub revision: u64,
    indexes: Box<[Index]>,
}

impl Snapshot {
    pub(crate) fn new(objects: Objects, revision: u64) -> Snapshot {
        Snapshot { objects: objects.map, revision, indexes: objects.indexes }
    }

    /// The objects from a key on whose field has a value, in the order of their keys; `None` if there is no index of the
    /// field. What cannot be read may have any value, and comes first, whatever its key.
    pub fn by_field<'a>(
        &'a self,
        field: usize,
        value: &'a str,
        from: &str,
    ) -> Option<impl Iterator<Item = &'a Arc<Entry>> + use<'a>> {
        let index = self.indexes.iter().find(|index| index.field == field)?;
        let unreadable = index.sorted.iter().take_while(move |entry| entry.field(field).is_none());
        let found = index.sorted.iter_at(index.find(Some(value), from));
        Some(unreadable.chain(found.take_while(move |entry| entry.field(field) == Some(value))))
    }
}
