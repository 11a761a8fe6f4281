//! Data keys that a plugin has decrypted, by what they are encrypted as.
//!
//! A key that is found is always right: for the same encrypted key, the key is the same. Both limits only bound memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pintle_runtime::Clock;

/// Keys by the digest of their encrypted form. They are dropped some time after they were last added, or when others need
/// the room.
pub(crate) struct DataKeys<T> {
    keys: Mutex<HashMap<[u8; 32], Added<T>>>,
    clock: Clock,
    lifetime: Duration,
    most: usize,
}

/// A key, and when it was last added.
type Added<T> = (Arc<T>, Instant);

impl<T> DataKeys<T> {
    pub(crate) fn new(clock: Clock, lifetime: Duration, most: usize) -> DataKeys<T> {
        DataKeys { keys: Mutex::default(), clock, lifetime, most }
    }

    pub(crate) fn get(&self, digest: &[u8; 32]) -> Option<Arc<T>> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.get(digest).map(|(key, _)| key.clone())
    }

    /// Adds a key, or prolongs its life; returns how many there are.
    pub(crate) fn add(&self, digest: [u8; 32], key: Arc<T>) -> usize {
        let now = self.clock.instant();
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = keys.get_mut(&digest) {
            *known = (key, now);
            return keys.len();
        }
        if keys.len() >= self.most {
            keys.retain(|_, (_, added)| now.saturating_duration_since(*added) < self.lifetime);
        }
        if keys.len() >= self.most
            && let Some(oldest) = keys.iter().min_by_key(|(_, (_, added))| *added).map(|(digest, _)| *digest)
        {
            keys.remove(&oldest);
        }
        keys.insert(digest, (key, now));
        keys.len()
    }

    /// Drops keys that were not added again for long; returns how many are left.
    pub(crate) fn drop_old(&self) -> usize {
        let now = self.clock.instant();
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|_, (_, added)| now.saturating_duration_since(*added) < self.lifetime);
        keys.len()
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use pintle_runtime::ManualClock;

    use super::*;

    #[test]
    fn memory_is_bounded_by_number_and_age() {
        let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let keys = DataKeys::new(manual.clock(), Duration::from_secs(10), 2);
        assert_eq!(keys.add([1; 32], Arc::new(1)), 1);
        manual.advance(Duration::from_secs(6));
        assert_eq!(keys.add([2; 32], Arc::new(2)), 2);
        assert_eq!(keys.add([1; 32], Arc::new(1)), 2, "it lives longer from here");
        manual.advance(Duration::from_secs(1));
        assert_eq!(keys.add([3; 32], Arc::new(3)), 2);
        assert_eq!(keys.get(&[3; 32]).as_deref(), Some(&3));
        manual.advance(Duration::from_secs(10));
        assert_eq!(keys.drop_old(), 0);
    }
}
