//! A map that drops the least recently used entries.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A map of at most `most` entries.
#[derive(Debug)]
pub(crate) struct Lru<V> {
    most: usize,
    entries: HashMap<Arc<str>, Entry<V>>,
    /// Keys by when they were last used.
    order: BTreeMap<u64, Arc<str>>,
    next: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    used: u64,
}

impl<V> Lru<V> {
    /// `most` is at least one.
    pub(crate) fn new(most: usize) -> Lru<V> {
        Lru { most: most.max(1), entries: HashMap::new(), order: BTreeMap::new(), next: 0 }
    }

    /// Returns the value of a key, which counts as a use.
    pub(crate) fn get(&mut self, key: &str) -> Option<&mut V> {
        let entry = self.entries.get_mut(key)?;
        let key = self.order.remove(&entry.used)?;
        self.next += 1;
        entry.used = self.next;
        self.order.insert(self.next, key);
        Some(&mut entry.value)
    }

    /// Returns the value of a key, made if there is none.
    pub(crate) fn get_or_insert_with(&mut self, key: &str, make: impl FnOnce() -> V) -> Option<&mut V> {
        if !self.entries.contains_key(key) {
            self.insert(key, make());
        }
        self.get(key)
    }

    pub(crate) fn insert(&mut self, key: &str, value: V) {
        self.remove(key);
        if self.entries.len() == self.most
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.entries.remove(&oldest);
        }
        self.next += 1;
        let key: Arc<str> = key.into();
        self.order.insert(self.next, key.clone());
        self.entries.insert(key, Entry { value, used: self.next });
    }

    pub(crate) fn remove(&mut self, key: &str) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_is_dropped() {
        let mut lru = Lru::new(2);
        lru.insert("a", 1);
        lru.insert("b", 2);
        assert_eq!(lru.get("a"), Some(&mut 1));
        assert_eq!(lru.get_or_insert_with("c", || 3), Some(&mut 3));
        assert_eq!((lru.get("b").copied(), lru.entries.len(), lru.order.len()), (None, 2, 2));
        lru.insert("a", 4);
        assert_eq!((lru.get("a").copied(), lru.get("c").copied(), lru.order.len()), (Some(4), Some(3), 2));
        lru.remove("a");
        assert_eq!((lru.get("a").copied(), lru.entries.len(), lru.order.len()), (None, 1, 1));
    }
}
