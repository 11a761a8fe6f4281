//! The mode that last allowed each user to impersonate. It only changes the order of asking, so forgetting costs little.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

/// So many users are remembered; then it begins anew.
const MOST: usize = 10_000;

#[derive(Default)]
pub(super) struct Remembered {
    /// Names may be long, and are not kept. Two of one hash share their memory, which does no harm.
    hasher: RandomState,
    places: Mutex<HashMap<u64, usize>>,
}

impl Remembered {
    pub(super) fn of(&self, user: &str) -> Option<usize> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.get(&self.hasher.hash_one(user)).copied()
    }

    pub(super) fn set(&self, user: &str, place: usize) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= MOST {
            places.clear();
        }
        places.insert(self.hasher.hash_one(user), place);
    }
}
