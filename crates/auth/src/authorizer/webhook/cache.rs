//! A cache of answers with a time to live, which drops the least recently used.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pintle_runtime::Clock;

type Key = [u8; 32];

pub(super) struct Cache<V> {
    most: usize,
    clock: Clock,
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
    pub(super) fn new(most: usize, clock: Clock) -> Cache<V> {
        let state = State { entries: HashMap::new(), order: BTreeMap::new(), next: 0 };
        Cache { most, clock, state: Mutex::new(state) }
    }

    pub(super) fn get(&self, key: &Key) -> Option<V> {
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        let entry = state.entries.get_mut(key)?;
        state.order.remove(&entry.used);
        if entry.until <= self.clock.instant() {
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
        let entry = Entry { value, until: self.clock.instant() + life, used: state.next };
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
    use pintle_runtime::ManualClock;

    use super::*;

    fn key(number: u8) -> Key {
        [number; 32]
    }

    #[test]
    fn an_answer_lives_as_long_as_it_may() {
        let manual = ManualClock::starting_at(std::time::SystemTime::UNIX_EPOCH);
        let cache = Cache::new(8, manual.clock());
        cache.keep(key(1), "a", Duration::from_secs(10));
        cache.keep(key(2), "b", Duration::ZERO);
        assert_eq!((cache.get(&key(1)), cache.get(&key(2))), (Some("a"), None));
        manual.advance(Duration::from_secs(9));
        assert_eq!(cache.get(&key(1)), Some("a"));
        manual.advance(Duration::from_secs(1));
        assert_eq!(cache.get(&key(1)), None);
    }

    #[test]
    fn the_least_recently_used_makes_room() {
        let cache = Cache::new(2, Clock::system());
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
