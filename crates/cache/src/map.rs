//! An ordered map with cheap snapshots: sorted chunks behind shared pointers.
//!
//! ```text
//! chunks: [ a b c d ] [ e f ] [ k l m ]        a snapshot shares the outer list
//! insert g:           [ e f g ]                and this chunk is copied once if it is shared, the others are not
//! ```
//!
//! A chunk holds pointers, so copying one is a few hundred reference counts; taking a snapshot is one.

use std::cmp::Ordering;
use std::sync::Arc;

/// Split when longer than this, in halves.
const CHUNK: usize = 128;

/// A value that is stored in a [`Map`] under its own key.
pub trait Keyed {
    fn key(&self) -> &str;
}

/// Shared values in an order that the caller keeps to. [`Map`] and indexes are made of it.
#[derive(Debug)]
pub(crate) struct Sorted<V> {
    chunks: Arc<Vec<Chunk<V>>>,
    len: usize,
}

type Chunk<V> = Arc<Vec<Arc<V>>>;

impl<V> Clone for Sorted<V> {
    fn clone(&self) -> Sorted<V> {
        Sorted { chunks: self.chunks.clone(), len: self.len }
    }
}

impl<V> Default for Sorted<V> {
    fn default() -> Sorted<V> {
        Sorted { chunks: Arc::default(), len: 0 }
    }
}

/// Where something is, or would be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    chunk: usize,
    place: usize,
    is_there: bool,
}

impl<V> Sorted<V> {
    /// Returns a list of values that are sorted already.
    pub(crate) fn of(values: &[Arc<V>]) -> Sorted<V> {
        let chunks = values.chunks(CHUNK * 3 / 4).map(|chunk| Arc::new(chunk.to_vec())).collect();
        Sorted { chunks: Arc::new(chunks), len: values.len() }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the place of a value, whether or not it is there. `compare` orders a value of the map relative to it.
    pub(crate) fn find(&self, compare: impl Fn(&V) -> Ordering) -> Spot {
        // The last chunk that begins at or before it; the first one takes what is before all.
        let after = self.chunks.partition_point(|chunk| compare(&chunk[0]).is_le());
        let chunk = after.saturating_sub(1);
        let found = self.chunks.get(chunk).map_or(Err(0), |all| all.binary_search_by(|value| compare(value)));
        Spot { chunk, place: found.unwrap_or_else(|place| place), is_there: found.is_ok() }
    }

    pub(crate) fn at(&self, spot: Spot) -> Option<&Arc<V>> {
        spot.is_there.then(|| &self.chunks[spot.chunk][spot.place])
    }

    /// Puts a value at the spot that was found for it. Returns what was there before.
    pub(crate) fn put(&mut self, spot: Spot, value: Arc<V>) -> Option<Arc<V>> {
        let chunks = Arc::make_mut(&mut self.chunks);
        if spot.is_there {
            return Some(std::mem::replace(&mut Arc::make_mut(&mut chunks[spot.chunk])[spot.place], value));
        }
        self.len += 1;
        if chunks.is_empty() {
            chunks.push(Arc::new(vec![value]));
            return None;
        }
        let values = Arc::make_mut(&mut chunks[spot.chunk]);
        values.insert(spot.place, value);
        if values.len() > CHUNK {
            let half = values.split_off(CHUNK / 2);
            chunks.insert(spot.chunk + 1, Arc::new(half));
        }
        None
    }

    /// Takes out what was found at a spot.
    pub(crate) fn take(&mut self, Spot { chunk, place, is_there }: Spot) -> Option<Arc<V>> {
        if !is_there {
            return None;
        }
        self.len -= 1;
        let chunks = Arc::make_mut(&mut self.chunks);
        let values = Arc::make_mut(&mut chunks[chunk]);
        let removed = values.remove(place);
        if values.is_empty() {
            chunks.remove(chunk);
        } else if chunk + 1 < chunks.len() && chunks[chunk].len() + chunks[chunk + 1].len() <= CHUNK / 2 {
            // Many deletions leave no trail of tiny chunks.
            let next = chunks.remove(chunk + 1);
            Arc::make_mut(&mut chunks[chunk]).extend(next.iter().cloned());
        }
        Some(removed)
    }

    /// Everything from a spot on.
    pub(crate) fn iter_at(&self, spot: Spot) -> impl Iterator<Item = &Arc<V>> + use<'_, V> {
        let chunks = self.chunks.get(spot.chunk..).unwrap_or_default();
        chunks.iter().flat_map(|chunk| chunk.iter()).skip(spot.place)
    }

    /// Number of values from a spot on.
    fn count_at(&self, spot: Spot) -> usize {
        let chunks = self.chunks.get(spot.chunk..).unwrap_or_default();
        chunks.iter().map(|chunk| chunk.len()).sum::<usize>() - spot.place
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<V>> + use<'_, V> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }
}

/// A map from keys to shared values, which know their keys.
#[derive(Debug)]
pub struct Map<V>(Sorted<V>);

impl<V> Clone for Map<V> {
    fn clone(&self) -> Map<V> {
        Map(self.0.clone())
    }
}

impl<V> Default for Map<V> {
    fn default() -> Map<V> {
        Map(Sorted::default())
    }
}

impl<V: Keyed> Map<V> {
    /// Returns a map of values that are sorted and have no key twice, as a store's range returns them.
    pub fn from_sorted(values: &[Arc<V>]) -> Map<V> {
        debug_assert!(values.is_sorted_by(|a, b| a.key() < b.key()));
        Map(Sorted::of(values))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn find(&self, key: &str) -> Spot {
        self.0.find(|value| value.key().cmp(key))
    }

    pub fn get(&self, key: &str) -> Option<&Arc<V>> {
        self.0.at(self.find(key))
    }

    /// Returns what had the key before.
    pub fn insert(&mut self, value: Arc<V>) -> Option<Arc<V>> {
        self.0.put(self.find(value.key()), value)
    }

    pub fn remove(&mut self, key: &str) -> Option<Arc<V>> {
        self.0.take(self.find(key))
    }

    /// Everything from a key on, in order.
    pub fn iter_from<'a>(&'a self, key: &str) -> impl Iterator<Item = &'a Arc<V>> + use<'a, V> {
        self.0.iter_at(self.find(key))
    }

    /// Number of values that have this key or one after it. Costs as many steps as there are chunks.
    pub fn count_from(&self, key: &str) -> usize {
        self.0.count_at(self.find(key))
    }

    /// Everything whose key starts with `prefix`, in order.
    pub fn iter_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a Arc<V>> {
        self.iter_from(prefix).take_while(move |value| value.key().starts_with(prefix))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<V>> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Item(String, u32);

    impl Keyed for Item {
        fn key(&self) -> &str {
            &self.0
        }
    }

    fn check(map: &Map<Item>, model: &BTreeMap<String, u32>) {
        assert_eq!(map.len(), model.len());
        let pairs: Vec<_> = map.iter().map(|item| (&item.0, &item.1)).collect();
        assert_eq!(pairs, model.iter().collect::<Vec<_>>());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn it_does_what_a_btree_map_does(
            steps in prop::collection::vec((0u32..600, any::<bool>(), 0u32..20), 0..2000),
        ) {
            let (mut map, mut model) = (Map::default(), BTreeMap::new());
            let mut snapshots = Vec::new();
            for (step, (key, insert, snapshot)) in steps.into_iter().enumerate() {
                let key = format!("{key:03}");
                if insert {
                    let old = map.insert(Arc::new(Item(key.clone(), step as u32)));
                    prop_assert_eq!(old.map(|item| item.1), model.insert(key, step as u32));
                } else {
                    prop_assert_eq!(map.remove(&key).map(|item| item.1), model.remove(&key));
                }
                if snapshot == 0 && snapshots.len() < 8 {
                    snapshots.push((map.clone(), model.clone()));
                }
            }
            check(&map, &model);
            for (map, model) in &snapshots {
                check(map, model);
            }
            let sorted = Map::from_sorted(&map.iter().cloned().collect::<Vec<_>>());
            check(&sorted, &model);
            for from in ["", "000", "1", "25", "599", "6"] {
                let found: Vec<_> = map.iter_from(from).map(|item| item.0.as_str()).collect();
                let expect: Vec<_> = model.range(from.to_owned()..).map(|(key, _)| key.as_str()).collect();
                prop_assert_eq!(map.count_from(from), expect.len());
                prop_assert_eq!(found, expect);
                let found = sorted.iter_prefix(from).count();
                prop_assert_eq!(found, model.keys().filter(|key| key.starts_with(from)).count());
            }
        }
    }

    #[test]
    fn deleting_everything_leaves_nothing() {
        let mut map = Map::default();
        for key in 0..1000 {
            map.insert(Arc::new(Item(format!("{key:04}"), key)));
        }
        for key in (0..1000).rev() {
            assert!(map.remove(&format!("{key:04}")).is_some());
        }
        assert!(map.is_empty() && map.0.chunks.is_empty() && map.get("0001").is_none());
    }
}
