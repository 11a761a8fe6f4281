//! Answers that are kept for a while; the least recently used make room.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

type Key = [u8; 32];

pub(super) struct Cache<V> {
    most: usize,
    state: Mutex<State<V>>,
}

struct State<V> {
    entries: HashMap<Key, Entry<V>>,
    /// By when they were last used.
    order: BTreeMap<u64, Key>,
    next: u64,
}

struct Entry<V> {
    value: V,
    until: Instant,
    used: u64,
}

impl<V: Clone> Cache<V> {
    pub(super) fn new(most: usize) -> Cache<V> {
        Cache { most, state: Mutex::new(State { entries: HashMap::new(), order: BTreeMap::new(), next: 0 }) }
    }

    pub(super) fn get(&self, key: &Key) -> Option<V> {
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        let entry = state.entries.get_mut(key)?;
        state.order.remove(&entry.used);
        if entry.until <= Instant::now() {
            state.entries.remove(key);
            return None;
        }
        state.next += 1;
        entry.used = state.next;
        state.order.insert(entry.used, *key);
        Some(entry.value.clone())
    }

    pub(super) fn keep(&self, key: Key, value: V, life: Duration) {
        if life.is_zero() {
            return;
        }
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        state.next += 1;
        let entry = Entry { value, until: Instant::now() + life, used: state.next };
        state.order.insert(entry.used, key);
        if let Some(old) = state.entries.insert(key, entry) {
            state.order.remove(&old.used);
        }
        while state.entries.len() > self.most
            && let Some((_, oldest)) = state.order.pop_first()
        {
            state.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> Key {
        [number; 32]
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_lives_as_long_as_it_may() {
        let cache = Cache::new(8);
        cache.keep(key(1), "a", Duration::from_secs(10));
        cache.keep(key(2), "b", Duration::ZERO);
        assert_eq!((cache.get(&key(1)), cache.get(&key(2))), (Some("a"), None));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(cache.get(&key(1)), Some("a"));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(cache.get(&key(1)), None);
    }

    #[test]
    fn the_least_recently_used_makes_room() {
        let cache = Cache::new(2);
        let long = Duration::from_secs(60);
        cache.keep(key(1), 1, long);
        cache.keep(key(2), 2, long);
        assert_eq!(cache.get(&key(1)), Some(1));
        cache.keep(key(3), 3, long);
        assert_eq!((cache.get(&key(1)), cache.get(&key(2)), cache.get(&key(3))), (Some(1), None, Some(3)));
        cache.keep(key(3), 4, long);
        assert_eq!((cache.get(&key(1)), cache.get(&key(3))), (Some(1), Some(4)));
        let state = cache.state.lock().unwrap();
        assert_eq!((state.entries.len(), state.order.len()), (2, 2));
    }
}
