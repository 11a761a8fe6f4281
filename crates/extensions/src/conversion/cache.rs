//! A cache of converted values.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

/// Bytes of an entry beside its key and value.
const OVERHEAD: usize = 160;

/// Values by key and revision, which together say what is stored there. Bounded in bytes; the entry that was not used for the
/// longest goes first.
pub(super) struct ConversionCache {
    values: HashMap<(Bytes, u64), Entry>,
    /// By the turn in which they were last asked for.
    turns: BTreeMap<u64, (Bytes, u64)>,
    turn: u64,
    bytes: usize,
    most: usize,
}

struct Entry {
    value: Bytes,
    /// Whether the stored value is stale.
    outdated: bool,
    turn: u64,
}

impl ConversionCache {
    pub(super) fn new(most: usize) -> ConversionCache {
        ConversionCache { values: HashMap::new(), turns: BTreeMap::new(), turn: 0, bytes: 0, most }
    }

    pub(super) fn get(&mut self, key: &Bytes, revision: u64) -> Option<(Bytes, bool)> {
        let place = (key.clone(), revision);
        let entry = self.values.get_mut(&place)?;
        self.turn += 1;
        self.turns.remove(&entry.turn);
        entry.turn = self.turn;
        self.turns.insert(self.turn, place);
        Some((entry.value.clone(), entry.outdated))
    }

    pub(super) fn add(&mut self, key: &Bytes, revision: u64, value: Bytes, outdated: bool) {
        let size = size(key, &value);
        if size > self.most {
            return;
        }
        self.turn += 1;
        // A key may be a slice of something much larger.
        let place = (Bytes::copy_from_slice(key), revision);
        if let Some(old) = self.values.insert(place.clone(), Entry { value, outdated, turn: self.turn }) {
            self.turns.remove(&old.turn);
            self.bytes -= self::size(key, &old.value);
        }
        self.turns.insert(self.turn, place);
        self.bytes += size;
        while self.bytes > self.most {
            let Some((_, oldest)) = self.turns.pop_first() else { return };
            if let Some(entry) = self.values.remove(&oldest) {
                self.bytes -= self::size(&oldest.0, &entry.value);
            }
        }
    }
}

fn size(key: &Bytes, value: &Bytes) -> usize {
    key.len() + value.len() + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes_first() {
        let (a, b, c) = (Bytes::from("a"), Bytes::from("b"), Bytes::from("c"));
        let value = || Bytes::from(vec![0; 100]);
        let mut remembered = ConversionCache::new(2 * (101 + OVERHEAD));
        remembered.add(&a, 1, value(), false);
        remembered.add(&b, 1, value(), false);
        assert!(remembered.get(&a, 1).is_some());
        remembered.add(&c, 1, value(), false);
        assert!(remembered.get(&b, 1).is_none());
        assert!(remembered.get(&a, 1).is_some() && remembered.get(&c, 1).is_some());
        assert!(remembered.get(&a, 2).is_none());
        remembered.add(&a, 1, value(), false);
        assert_eq!(remembered.bytes, 2 * (101 + OVERHEAD));
        remembered.add(&b, 1, Bytes::from(vec![0; 10_000]), false);
        assert!(remembered.get(&b, 1).is_none() && remembered.get(&c, 1).is_some());
        assert_eq!(remembered.values.len(), remembered.turns.len());
    }
}
