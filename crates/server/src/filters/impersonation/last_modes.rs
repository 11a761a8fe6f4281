//! The mode that last allowed each user to impersonate. It only changes the order of asking, so forgetting costs little.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

/// Limit on the number of users; beyond it, all are forgotten.
const MOST: usize = 10_000;

/// Indexes of modes, by user.
#[derive(Default)]
pub(super) struct LastModes {
    /// Names may be long, and are not kept. Users with the same hash share an entry, which does no harm.
    hasher: RandomState,
    modes: Mutex<HashMap<u64, usize>>,
}

impl LastModes {
    pub(super) fn find(&self, user: &str) -> Option<usize> {
        let modes = self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        modes.get(&self.hasher.hash_one(user)).copied()
    }

    pub(super) fn set(&self, user: &str, mode: usize) {
        let mut modes = self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        if modes.len() >= MOST {
            modes.clear();
        }
        modes.insert(self.hasher.hash_one(user), mode);
    }
}
